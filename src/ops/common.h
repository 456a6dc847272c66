#pragma once

#include <initializer_list>
#include <utility>

#include "autograd/tape.h"
#include "base/check.h"
#include "glassformer/ops/copy.h"
#include "glassformer/tensor/tensor.h"

namespace glassformer {

// The checks that ops share. Every message names the op, the argument, what was expected and what
// was found. Arguments that are not defined are skipped by the checks that take several.
using NamedTensors = std::initializer_list<std::pair<const char*, const Tensor&>>;

void check_defined(const char* op, const char* argument, const Tensor& x);
void check_floating(const char* op, const char* argument, const Tensor& x);
void check_index_type(const char* op, const char* argument, const Tensor& x);  // int32 or int64
void check_rank(const char* op, const char* argument, const Tensor& x, int rank);
void check_min_rank(const char* op, const char* argument, const Tensor& x, int rank);
void check_shape(const char* op, const char* argument, const Tensor& x, const Shape& expected);
void check_dtype(const char* op, const char* argument, const Tensor& x, DType expected);

// The first decides; it must be defined.
void check_same_device(const char* op, NamedTensors tensors);
void check_same_dtype(const char* op, NamedTensors tensors);

// For ops that write into an argument: it can be written, and is not on the tape being recorded.
void check_in_place(const char* op, const Tensor& into);

// The result of a gradient rule, or no tensor where it is not wanted.
inline Tensor empty_if(bool wanted, const Tensor& like) {
  return wanted ? empty_like(like) : Tensor();
}

// What sums and statistics over elements of `dtype` are kept in: float32, or float64 for float64.
inline DType accumulation_dtype(DType dtype) {
  return dtype == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32;
}

}  // namespace glassformer
