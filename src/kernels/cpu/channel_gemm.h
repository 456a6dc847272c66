#pragma once

#include "kernels/cpu/quantised.h"

// C = A · Wᵀ for a W of 8 bits with one step a column (kChannel8), with int8 activations.
//
// A row of A has one scale,  s = max|a| / 127,  q = round(a / s),  so that nothing but integers is
// summed over the whole of k:
//   c[j] = s · step_j · (Σ_i q_i · code_ij − 128 · Σ_i q_i).
// Sums of integers are exact in any order: the bits of an element depend on its row of A and its
// row of W alone, on any unit of the processor.

namespace glassformer::cpu {

constexpr size_t kStripRows = 16;   // rows of A that lie together
constexpr size_t kBlockDepth = 64;  // of k: what a tile takes

// 16 rows of A, in memory that is not theirs: codes [blocks of k][16][64], zeros where there is no
// row or no k.
struct ActivationStrip {
  int8_t* codes;
  int32_t* sums;  // [16], of a row's codes
  float* scales;  // [16]

  static size_t blocks(size_t k) { return (k + kBlockDepth - 1) / kBlockDepth; }
  static size_t bytes(size_t k) {
    return blocks(k) * kStripRows * kBlockDepth + 2 * kStripRows * sizeof(float);
  }
  // Strip number `index` of several.
  static ActivationStrip at(int8_t* memory, size_t index, size_t k) {
    int8_t* codes = memory + index * bytes(k);
    auto* sums = reinterpret_cast<int32_t*>(codes + blocks(k) * kStripRows * kBlockDepth);
    return {codes, sums, reinterpret_cast<float*>(sums + kStripRows)};
  }
};

// A is [m × k], rows contiguous. The results of `parts`, all kChannel8, stand next to each other.
void channel_gemm(int64_t m, const MatrixRef& a, std::span<const CodePanels* const> parts,
                  const GemmOutput& out);

}  // namespace glassformer::cpu
