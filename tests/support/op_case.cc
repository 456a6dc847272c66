#include "support/op_case.h"

namespace glassformer::testing {
namespace {

Tensor make_input(const Input& input, RandomKey key, DType dtype) {
  const int64_t count = count_of(input.shape);
  const auto uniform = random_uniform({count}, key, 0, 1).to_vector<double>();
  switch (input.values) {
    case Values::kIds: {
      std::vector<int64_t> ids;
      for (double u : uniform)
        ids.push_back(static_cast<int64_t>(u * static_cast<double>(input.limit)));
      return from_vector(ids, input.shape);
    }
    case Values::kBools: {
      std::vector<bool> bools;
      for (double u : uniform) bools.push_back(u < 2.0 / 3);
      return from_vector(bools, input.shape);
    }
    case Values::kPositive: return cast(random_uniform(input.shape, key, 0.5, 1.5), dtype);
    case Values::kDistinct: {
      // A multiplicative walk visits every residue once where the step has no factor in common.
      std::vector<double> values;
      for (int64_t i = 0; i < count; ++i)
        values.push_back(static_cast<double>(i * 7919 % count) / static_cast<double>(count));
      return cast(from_vector(values, input.shape), dtype);
    }
    case Values::kSmall: return cast(random_normal(input.shape, key, 0, 0.125), dtype);
    case Values::kNormal: break;
  }
  return cast(random_normal(input.shape, key), dtype);
}

}  // namespace

std::vector<Tensor> make_inputs(const std::vector<Input>& inputs, uint64_t seed, DType dtype,
                                Device device) {
  std::vector<Tensor> tensors;
  Generator generator(seed);
  for (const Input& input : inputs) {
    // float32 first: what a half type holds is then a rounding of what the others hold.
    const Tensor values = make_input(input, generator.next(), DType::kFloat32);
    Tensor x = is_floating(values.dtype()) ? cast(values, dtype) : values;
    x = to(x, device);
    if (is_floating(x.dtype()) && input.differentiable) x.set_requires_grad();
    tensors.push_back(x);
  }
  return tensors;
}

}  // namespace glassformer::testing
