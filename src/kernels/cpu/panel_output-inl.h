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

constexpr size_t kPanelsOfARow = 8;  // that are finished together

// Finishes `sums` [rows][ld_sums] of rows from `row` and columns [j, j + columns) of C.
template <class T>
void FinishSums(const GemmOutput& out, size_t row, size_t rows, size_t j, size_t columns,
                const float* sums, size_t ld_sums) {
  HWY_ALIGN float wide[kPanelsOfARow * kCodeColumns];
  const float* bias = nullptr;
  if (out.bias != nullptr && out.bias_type == Type::kF32) {
    bias = static_cast<const float*>(out.bias) + j;
  } else if (out.bias != nullptr) {
    for (size_t c = 0; c < columns; ++c)
      wide[c] = tile::Widen(static_cast<const uint16_t*>(out.bias)[j + c]);
    bias = wide;
  }
  const auto ldc = static_cast<size_t>(out.ldc), ld = static_cast<size_t>(out.ld_residual);
  T* pre = static_cast<T*>(out.pre_activation);
  const T* residual = static_cast<const T*>(out.residual);
  const TileOutput<T> to{.sums = sums,
                         .ld_sums = ld_sums,
                         .bias = bias,
                         .c = static_cast<T*>(out.c) + row * ldc + j,
                         .add_c = out.accumulate,
                         .pre_activation = pre != nullptr ? pre + row * ldc + j : nullptr,
                         .ldc = ldc,
                         .residual = residual != nullptr ? residual + row * ld + j : nullptr,
                         .ld_residual = ld};
  Finish(out.activation, rows, columns, to);
}

// Finishes `sums` [rows][32] of rows from `row` and columns from `j` of C, which has n columns.
template <class T>
void FinishPanel(const GemmOutput& out, size_t n, size_t row, size_t rows, size_t j,
                 const float* sums) {
  FinishSums<T>(out, row, rows, j, std::min(kCodeColumns, n - j), sums, kCodeColumns);
}

// Asks for what FinishSums will read of row 0 from column j on, beside the sums: biases are as far
// away as weights are, and the residual is where another core may have written it.
template <class T>
HWY_INLINE void AskForOperands(const GemmOutput& out, size_t j, size_t columns) {
  const auto ask = [&](const void* row, size_t element) HWY_ATTR {
    constexpr size_t kLine = 64;
    const auto* first = static_cast<const uint8_t*>(row) + j * element;
    for (size_t at = 0; at < columns * element; at += kLine) __builtin_prefetch(first + at);
  };
  if (out.bias != nullptr)
    ask(out.bias, out.bias_type == Type::kF32 ? sizeof(float) : sizeof(uint16_t));
  if (out.residual != nullptr) ask(out.residual, sizeof(T));
}

// One row of C: product(panel, sums) of panels [begin, end). What follows a product costs little
// more for several panels than for one, of which a core reads three a microsecond.
template <class T, class F>
HWY_INLINE void RunOneRow(const CodePanels& weight, size_t begin, size_t end, const GemmOutput& out,
                          F&& product) {
  HWY_ALIGN float sums[kPanelsOfARow * kCodeColumns];
  for (size_t p = begin; p < end; p += kPanelsOfARow) {
    const size_t panels = std::min(kPanelsOfARow, end - p), j = p * kCodeColumns;
    const size_t columns = std::min(panels * kCodeColumns, weight.n - j);
    for (size_t i = 0; i < panels; ++i) {
      if (i + 1 == panels) AskForOperands<T>(out, j, columns);
      product(weight.panel(p + i), sums + i * kCodeColumns);
    }
    FinishSums<T>(out, 0, 1, j, columns, sums, 0);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace glassformer::cpu
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
