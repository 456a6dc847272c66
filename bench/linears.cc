// Linear layers at the sizes of a decode step: weight bytes read a second at few rows, beside what
// the machine reads at most (glassformer_ceilings), and operations a second at many. A line of JSON
// each.
//
//   glassformer_linears [THREADS] [MEGABYTES] [KIND]
//
// Weights of several layers are used in turn, MEGABYTES in all, so that they come from memory and
// not from a cache.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "glassformer/glassformer.h"

namespace {

using namespace glassformer;
using Clock = std::chrono::steady_clock;

struct Kind {
  const char* name;
  DType dtype;
  std::optional<QuantScheme> scheme;
  bool int8_activations;
};

constexpr Kind kKinds[] = {
    {"float32", DType::kFloat32, {}, false},
    {"bfloat16", DType::kBFloat16, {}, false},
    {"int8", DType::kFloat32, QuantScheme::kInt8, true},
    {"int4", DType::kFloat32, QuantScheme::kInt4, true},
    {"int8, float32 rows", DType::kFloat32, QuantScheme::kInt8, false},
    {"int4, float32 rows", DType::kFloat32, QuantScheme::kInt4, false},
    {"int8, bfloat16 rows", DType::kBFloat16, QuantScheme::kInt8, false},
    {"int4, bfloat16 rows", DType::kBFloat16, QuantScheme::kInt4, false},
};

// A layer's weight, to be packed as often as copies are wanted, and its bytes.
struct Source {
  Tensor tensor;
  QuantisedTensor quantised;
  double bytes;
};

Source make_source(const Kind& kind, int64_t in, int64_t out) {
  const Tensor weight = random_normal({out, in}, {1, 2}, 0, 0.02);
  if (!kind.scheme) {
    const Tensor tensor = cast(weight, kind.dtype);
    return {
        tensor, {}, static_cast<double>(tensor.count()) * static_cast<double>(size_of(kind.dtype))};
  }
  const QuantisedTensor quantised = quantise(weight, *kind.scheme);
  return {{}, quantised, static_cast<double>(quantised.bytes())};
}

PackedWeight pack(const Kind& kind, const Source& source) {
  if (!kind.scheme) return PackedWeight(source.tensor);
  return {source.quantised, kind.dtype, kind.int8_activations};
}

// The best of some rounds over all layers, in seconds a layer.
double time_of(std::span<const PackedWeight> layers, const Tensor& x) {
  double best = 1e9;
  for (int round = 0; round < 6; ++round) {
    const auto start = Clock::now();
    for (const PackedWeight& layer : layers) linear(x, layer);
    const std::chrono::duration<double> taken = Clock::now() - start;
    best = std::min(best, taken.count() / static_cast<double>(layers.size()));
  }
  return best;
}

void measure(const Kind& kind, int64_t in, int64_t out, int64_t megabytes) {
  const Source source = make_source(kind, in, out);
  std::vector<PackedWeight> layers;
  do layers.push_back(pack(kind, source));
  while (static_cast<double>(layers.size()) * source.bytes < static_cast<double>(megabytes) * 1e6);
  fmt::print("{{\"kind\": \"{}\", \"in\": {}, \"out\": {}", kind.name, in, out);
  for (const int64_t rows : {1, 2, 4, 8, 16}) {
    const Tensor x = cast(random_normal({rows, in}, {3, 4}), kind.dtype);
    fmt::print(", \"GB/s at {}\": {:.1f}", rows, source.bytes / time_of(layers, x) / 1e9);
  }
  const Tensor x = cast(random_normal({512, in}, {3, 4}), kind.dtype);
  const std::span<const PackedWeight> few(layers.data(), std::min<size_t>(2, layers.size()));
  const double flops = 2.0 * 512 * static_cast<double>(in) * static_cast<double>(out);
  fmt::print(", \"GFLOP/s at 512\": {:.0f}}}\n", flops / time_of(few, x) / 1e9);
}

}  // namespace

int main(int count, char** arguments) {
  const NoGrad no_grad;
  if (count > 1) set_num_threads(std::atoi(arguments[1]));
  const int64_t megabytes = count > 2 ? std::atoll(arguments[2]) : 600;
  const std::string only = count > 3 ? arguments[3] : "";
  for (const Kind& kind : kKinds) {
    if (!only.empty() && only != kind.name) continue;
    measure(kind, 768, 3072, megabytes);
    measure(kind, 2048, 5632, megabytes);
  }
}
