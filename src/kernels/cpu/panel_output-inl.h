// Bias, activation and residual for a panel's columns of a quantised product.
// Included once per Highway target, so the guard flips with it.

#if defined(GLASSFORMER_KERNELS_CPU_PANEL_OUTPUT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GLASSFORMER_KERNELS_CPU_PANEL_OUTPUT_INL_H_
#undef GLASSFORMER_KERNELS_CPU_PANEL_OUTPUT_INL_H_
#else
#define GLASSFORMER_KERNELS_CPU_PANEL_OUTPUT_INL_H_
#endif

#include <algorithm>

#include <hwy/highway.h>

#include "kernels/cpu/epilogue-inl.h"
#include "kernels/cpu/quantised.h"

HWY_BEFORE_NAMESPACE();
namespace glassformer::cpu {
namespace HWY_NAMESPACE {

// Finishes `sums` [rows][32] of rows from `row` and columns from `j` of C, which has n columns.
template <class T>
void FinishPanel(const GemmOutput& out, size_t n, size_t row, size_t rows, size_t j,
                 const float* sums) {
  const size_t columns = std::min(kCodeColumns, n - j);
  HWY_ALIGN float bias[kCodeColumns];
  for (size_t c = 0; out.bias != nullptr && c < columns; ++c)
    bias[c] = out.bias_type == Type::kF32
                  ? static_cast<const float*>(out.bias)[j + c]
                  : tile::Widen(static_cast<const uint16_t*>(out.bias)[j + c]);
  const auto ldc = static_cast<size_t>(out.ldc), ld = static_cast<size_t>(out.ld_residual);
  T* pre = static_cast<T*>(out.pre_activation);
  const T* residual = static_cast<const T*>(out.residual);
  const TileOutput<T> to{.sums = sums,
                         .ld_sums = kCodeColumns,
                         .bias = out.bias != nullptr ? bias : nullptr,
                         .c = static_cast<T*>(out.c) + row * ldc + j,
                         .add_c = out.accumulate,
                         .pre_activation = pre != nullptr ? pre + row * ldc + j : nullptr,
                         .ldc = ldc,
                         .residual = residual != nullptr ? residual + row * ld + j : nullptr,
                         .ld_residual = ld};
  Finish(out.activation, rows, columns, to);
}

}  // namespace HWY_NAMESPACE
}  // namespace glassformer::cpu
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
