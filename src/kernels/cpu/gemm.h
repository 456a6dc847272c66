#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/parallel.h"
#include "glassformer/tensor/activation.h"

// C = A · B on the CPU, with what usually follows it done while the result is still in cache.
//
// f32 runs on the vector tile of tile-inl.h, bfloat16 × bfloat16 on what multiplies it as it is
// (bf16_tile.h): exact products, f32 sums, subnormals read as zero. Mixed operands, and bfloat16 on
// other processors, are widened to f32.
//
// Reproducibility: k is cut into blocks that depend on k alone; an element is the sum of its blocks
// in order. On one processor its bits depend on its row of A and its column of B, never on m, n,
// the layout of either operand, packing, batching or the number of threads.
//
// Sizes and strides are the caller's to check. Threads keep their scratch memory, so that a steady
// state allocates nothing; MemoryError where there is none.

namespace glassformer::cpu {

enum class Type : uint8_t { kF32, kBf16 };  // bfloat16 as uint16_t bits

// Element (r, c) is data[r · row_stride + c · col_stride]; strides in elements, any of them.
struct MatrixRef {
  const void* data = nullptr;
  Type type = Type::kF32;
  int64_t row_stride = 0;
  int64_t col_stride = 1;
};

// z = (accumulate ? C : 0) + A·B + bias;  pre_activation = z;  C = activation(z) + residual.
struct GemmOutput {
  void* c = nullptr;  // [m × n], pitch ldc, columns contiguous
  Type type = Type::kF32;
  int64_t ldc = 0;
  bool accumulate = false;     // f32 only
  const void* bias = nullptr;  // [n], or none
  Type bias_type = Type::kF32;
  Activation activation = Activation::kNone;
  void* pre_activation = nullptr;  // [m × n] or none; type and pitch of c
  const void* residual = nullptr;  // [m × n] or none; type of c; may be c itself
  int64_t ld_residual = 0;

  // The same from column j on.
  GemmOutput from_column(int64_t j) const;
};

// B [k × n] rearranged for the kernels of this processor. Where bfloat16 is not multiplied as it
// is, it becomes f32, twice its size. Cheap to copy: the storage is shared.
class PackedB {
 public:
  PackedB() = default;
  Type type() const { return type_; }
  int64_t k() const { return k_; }
  int64_t n() const { return n_; }
  size_t bytes() const { return bytes_; }
  explicit operator bool() const { return storage_ != nullptr; }

 private:
  friend PackedB pack_b(int64_t k, int64_t n, const MatrixRef& b, Type type,
                        FunctionRef<void(int64_t, int64_t)> done);
  friend void gemm(int64_t m, int64_t n, int64_t k, const MatrixRef& a, const PackedB& b,
                   const GemmOutput& out);
  std::shared_ptr<const void> storage_;
  size_t bytes_ = 0;
  int64_t k_ = 0, n_ = 0;
  Type type_ = Type::kF32;
  bool bf16_ = false;       // panels of bfloat16, else of f32
  size_t width_ = 0;        // columns of a panel
  size_t block_bytes_ = 0;  // of all panels' first blocks of k
};

// For an A of `type`: that of B, or f32, to which a bfloat16 B is widened.
// A part at a time: done(begin, end) once the columns from begin to end of B are not read any more.
PackedB pack_b(int64_t k, int64_t n, const MatrixRef& b, Type type,
               FunctionRef<void(int64_t, int64_t)> done);
inline PackedB pack_b(int64_t k, int64_t n, const MatrixRef& b) {
  return pack_b(k, n, b, b.type, [](int64_t, int64_t) {});
}

// A is [m × k], B [k × n]. With a packed B the type of A must be that of B.
void gemm(int64_t m, int64_t n, int64_t k, const MatrixRef& a, const MatrixRef& b,
          const GemmOutput& out);
void gemm(int64_t m, int64_t n, int64_t k, const MatrixRef& a, const PackedB& b,
          const GemmOutput& out);

// `count` products, operands and results `strides` apart (in elements; 0 shares an operand; the
// pre-activation moves as C). Parallel over the products when there are enough of them, else
// inside.
struct BatchStrides {
  int64_t a = 0, b = 0, c = 0, bias = 0, residual = 0;
};
void batched_gemm(int64_t count, int64_t m, int64_t n, int64_t k, const MatrixRef& a,
                  const MatrixRef& b, const GemmOutput& out, const BatchStrides& strides);

}  // namespace glassformer::cpu
