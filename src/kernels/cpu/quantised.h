#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "glassformer/tensor/quantised.h"
#include "kernels/cpu/gemm.h"

// C = A · Wᵀ for a quantised W, with the epilogue of gemm.h.
//
// The codes lie in panels of 32 rows of W (columns of C), groups of 32 of k after each other, with
// their scales: a product with few rows of A reads one stream, at the speed of memory, and the
// bytes are about those of the file. Within a group four of k are side by side, [8][32 columns][4
// of k], which is what the dot-product instructions and the tile unit both want.
//
// With int8 activations and steps of whole columns, channel_gemm.h multiplies. Otherwise a row of A
// is quantised in groups of 32,
//   s_g = max|a| / 127,  q = round(a / s_g),
// and   c[j] = Σ_g s_g · step_gj · Σ_i q_i · (code_ij − offset)  −  s_g · base_gj · Σ_i q_i.
// The inner sums are integers, exact in any order, and the outer one runs in the order of k: the
// bits of an element depend on its row of A and its row of W alone, on any unit of the processor.
// Without, codes are expanded to the type of A, panel by panel, for the product of gemm.h.

namespace glassformer::cpu {

enum class CodeFormat : uint8_t {
  kChannel8,  // 8 bits, one float32 step a column
  kGroup8,    // 8 bits, a float16 step a group
  kGroup4,    // 4 bits, a float16 step a group
  kSuper4,    // 4 bits, steps and bases of 8 bits a group, their units in float16 for 8 groups
  kSuper6     // 6 bits, steps of 8 bits for 16 of k, their unit in float16 for 8 groups
};

constexpr size_t kCodeColumns = 32;  // of a panel
constexpr size_t kCodeDepth = 32;    // of a group
constexpr size_t kSuperGroups = 8;   // groups that share a unit

// W in panels. Cheap to copy: the storage is shared.
struct CodePanels {
  CodeFormat format = CodeFormat::kChannel8;
  size_t n = 0, k = 0;
  size_t panel_bytes = 0;
  std::shared_ptr<Storage> storage;

  size_t panels() const { return (n + kCodeColumns - 1) / kCodeColumns; }
  size_t groups() const { return (k + kCodeDepth - 1) / kCodeDepth; }
  const uint8_t* panel(size_t index) const {
    return reinterpret_cast<const uint8_t*>(storage->data()) + index * panel_bytes;
  }
};

CodePanels pack_codes(const QuantisedTensor& weight);

// A group of some rows of A.
template <size_t kRowsOfStrip>
struct alignas(16) ActivationRows {
  static constexpr size_t kRows = kRowsOfStrip;
  int8_t codes[kRows][kCodeDepth];
  int32_t sums[2][kRows];  // of the first and the last 16 codes
  float scales[kRows];
  float total[kRows];  // scale · sum of all 32 codes
};
// Rows that do not exist are zeros. A row alone has groups of its own, which leave the L1 cache to
// the weights.
using ActivationGroup = ActivationRows<16>;
using ActivationRow = ActivationRows<1>;

// A is [m × k], rows contiguous. The results of `parts`, none of them kChannel8, stand next to each
// other in C.
void quantised_gemm(int64_t m, const MatrixRef& a, std::span<const CodePanels* const> parts,
                    const GemmOutput& out);

// The same with A as it is, and parts of any format.
void expanded_gemm(int64_t m, const MatrixRef& a, std::span<const CodePanels* const> parts,
                   const GemmOutput& out);

}  // namespace glassformer::cpu
