#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "glassformer/glassformer.h"

namespace glassformer::testing {

// What an input holds. All of it is drawn from the case's own seed.
enum class Values {
  kNormal,    // N(0, 1)
  kPositive,  // uniform in [0.5, 1.5): for divisors, variances, weights
  kSmall,     // N(0, 1) / 8: for weights of wide sums
  kIds,       // int64, uniform in [0, limit)
  kBools,     // true two times out of three
  kDistinct,  // no two closer than finite differences can see: for max
};

struct Input {
  Shape shape;
  Values values = Values::kNormal;
  int64_t limit = 0;           // for kIds
  bool differentiable = true;  // of the floating ones
};

// One line here yields, for the op: parity of cpu with ref forward and backward, in float32 and
// (with `half`) bfloat16 and float16; a finite-difference check of the gradients in float64; the
// same again with strided and misaligned inputs; bit-equality over thread counts; and a benchmark.
struct OpCase {
  std::string op = {};
  std::string name = {};
  std::vector<Input> inputs = {};
  std::function<std::vector<Tensor>(const std::vector<Tensor>&)> run = {};
  bool half = true;      // has bfloat16 and float16 kernels too
  bool gradient = true;  // of every differentiable input
  // Too large for finite differences, which run the case hundreds of times; its gradients are still
  // compared with ref's, whose own are checked on the small cases.
  bool large = false;
  // The error that is allowed, as a multiple of what the naive float32 kernel makes against
  // float64.
  double factor = 4;
  // A larger instance for the benchmark, and the bytes it must move at least; none where empty.
  std::vector<Input> bench_inputs = {};
};

// How a failed test names its case.
inline void PrintTo(const OpCase& one, std::ostream* out) { *out << one.op << "/" << one.name; }

// The tables, one file of tests/cases/ an op, put together by the build.
std::vector<OpCase> all_op_cases();

// The inputs of a case, the same numbers for every device and dtype.
std::vector<Tensor> make_inputs(const std::vector<Input>& inputs, uint64_t seed, DType dtype,
                                Device device);

}  // namespace glassformer::testing
