#pragma once

#include "kernels/table.h"

namespace glassformer {

// cos[p, i] = scaling cos(p inverse[i]), sin likewise: [positions, pairs]; inverse [pairs],
// float32.
inline constexpr Kernel<void(const Tensor& cos, const Tensor& sin, const Tensor& inverse,
                             double scaling)>
    kRotaryTable{"rotary_table"};

struct RotaryStep {
  bool interleaved;  // pair i is elements 2i, 2i + 1; otherwise i, i + pairs
  bool backward;     // turn by the negative angle: the gradient
  int64_t offset;    // position of the first token where no positions are given
};

// x, y [B, H, T, D], last axis of stride 1, the others of any; cos, sin [P, pairs] contiguous,
// float32 (float64 where x is), 2 pairs <= D; positions [B, T] int64 contiguous, or absent.
//   (y_a, y_b) = (x_a cos - x_b sin, x_b cos + x_a sin), the rest copied.
// Throws IndexError for a position outside [0, P).
inline constexpr Kernel<void(const Tensor& x, const Tensor& cos, const Tensor& sin,
                             const Tensor& positions, const Tensor& y, const RotaryStep& step)>
    kRotary{"apply_rotary"};

}  // namespace glassformer
