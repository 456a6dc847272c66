#pragma once

#include <array>

#include "glassformer/tensor/update.h"
#include "kernels/table.h"

namespace glassformer {

// What an update reads and writes: contiguous tensors of one size. The op has checked them.
struct UpdateOperands {
  UpdateTensors of;
  std::array<const Tensor*, 5> tensors() const {
    return {&of.parameter, &of.gradient, &of.master, &of.first, &of.second};
  }
};

// ops/update.h has the rules. The first tensor is the parameter.
inline constexpr Kernel<void(const Tensor& parameter, const UpdateOperands& operands,
                             const SgdUpdate& update)>
    kSgdUpdate{"sgd_update"};
inline constexpr Kernel<void(const Tensor& parameter, const UpdateOperands& operands,
                             const AdamUpdate& update)>
    kAdamUpdate{"adam_update"};
inline constexpr Kernel<void(const Tensor& parameter, const UpdateOperands& operands,
                             const LionUpdate& update)>
    kLionUpdate{"lion_update"};

// sum = Σ x², x contiguous; sum: [], float64.
inline constexpr Kernel<void(const Tensor& x, const Tensor& sum)> kSumOfSquares{"sum_of_squares"};

}  // namespace glassformer
