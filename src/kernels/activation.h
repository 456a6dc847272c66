#pragma once

#include "glassformer/tensor/activation.h"
#include "kernels/table.h"

namespace glassformer {

// y = f(x); both contiguous, y may be x's own memory.
inline constexpr Kernel<void(const Tensor& x, const Tensor& y, Activation f)> kActivate{"activate"};
// dx = dy f'(x); dx may be dy's own memory.
inline constexpr Kernel<void(const Tensor& x, const Tensor& dy, const Tensor& dx, Activation f)>
    kActivateBackward{"activate_backward"};

// Rows [rows, width] with neighbouring elements in a row and any distance between rows, so that
// both halves of a packed tensor serve as they lie. y = f(gate) up
inline constexpr Kernel<void(const Tensor& gate, const Tensor& up, const Tensor& y, Activation f)>
    kGated{"gated"};
// dgate = dy up f'(gate), dup = dy f(gate); one that is not needed is undefined.
inline constexpr Kernel<void(const Tensor& gate, const Tensor& up, const Tensor& dy,
                             const Tensor& dgate, const Tensor& dup, Activation f)>
    kGatedBackward{"gated_backward"};

}  // namespace glassformer
