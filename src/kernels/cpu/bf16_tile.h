#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "kernels/cpu/amx.h"
#include "kernels/cpu/bf16_strip.h"

// bfloat16 × bfloat16 → f32 on the tile unit (AMX), else on vectors that multiply pairs
// (AVX512-BF16). bfloat16 travels as its raw bits.
//
// Call nothing here unless bf16_products_usable() (base/cpu_info.h). On other systems than x86-64
// Linux the functions exist and throw InternalError.
//
// Reproducibility: an element of C is one chain of products over k in ascending order, started from
// the old C when accumulating. On one processor its bits depend on its row of A and its column of
// B, never on m, n or where a tile begins. Both round to nearest even and read subnormals as zero.

namespace glassformer::cpu {

constexpr size_t bf16_padded_k(size_t k) { return (k + kBf16Depth - 1) / kBf16Depth * kBf16Depth; }

// bfloat16 values that bf16_pack_panels writes for a K×N matrix.
constexpr size_t bf16_packed_size(size_t k, size_t n) {
  return (n + kBf16Cols - 1) / kBf16Cols * kBf16Cols * bf16_padded_k(k);
}

// Needed around products by the thread that asks for them. Nests.
class Bf16Scope {
 public:
  Bf16Scope();

 private:
  std::optional<AmxScope> unit_;
};

// Packs B, K×N with element (p, j) at src[p·row_stride + j·col_stride], into panels of 32 columns
// with pairs of k side by side: dst[panel][padded k / 2][32][2], zeros in the padding of k and n.
// f32 is rounded to nearest even. Fast where either stride is 1. dst wants 64-byte alignment.
void bf16_pack_panels(const uint16_t* src, int64_t row_stride, int64_t col_stride, size_t k,
                      size_t n, uint16_t* dst);
void bf16_pack_panels(const float* src, int64_t row_stride, int64_t col_stride, size_t k, size_t n,
                      uint16_t* dst);

// Packs A, M×K with element (i, p) at src[i·row_stride + p·col_stride], into strips of 32 rows for
// bf16_strip_product, bf16_packed_strips_size(m, k) values. Fast where either stride is 1. The form
// follows from row_stride: rows, dst[strip][padded k / 32][32 rows][32], which is what tiles load;
// or, where rows lie side by side and vectors multiply, pairs of k as in a panel of B,
// dst[strip][padded k / 2][32 rows][2], which spares a transposition.
enum class Bf16Form { kRows, kPairs };
Bf16Form bf16_strip_form(int64_t row_stride);
constexpr size_t bf16_packed_strips_size(size_t m, size_t k) {
  return (m + kBf16Rows - 1) / kBf16Rows * kBf16Rows * bf16_padded_k(k);
}
void bf16_pack_strips(const uint16_t* src, int64_t row_stride, int64_t col_stride, size_t m,
                      size_t k, uint16_t* dst);

// C (+)= A · B for one strip of at most 32 rows and one panel of at most 32 columns, both packed:
// the fastest form, for 32 rows with a pitch come from L2 at three quarters of the speed.
// `meanwhile` is for one of many products of a matrix, which share the panel with the next strips.
void bf16_strip_product(size_t rows, size_t columns, size_t k, const uint16_t* a_strip,
                        Bf16Form form, const uint16_t* b_panel, float* c, size_t ldc,
                        bool accumulate, const Bf16Meanwhile* meanwhile = nullptr);

// C (+)= A · B for C[m × n] f32 with pitch ldc, A[m × k] with pitch lda, and B as bf16_pack_panels
// leaves it. k needs no padding in A: its ragged end goes through a small buffer. Writes nothing
// outside [m) × [n). k = 0 gives zeros (or leaves C when accumulating).
void bf16_tile_product(size_t m, size_t n, size_t k, const uint16_t* a, size_t lda,
                       const uint16_t* b_panels, float* c, size_t ldc, bool accumulate);

}  // namespace glassformer::cpu
