#include "glassformer/ops/positions.h"

#include "glassformer/ops/view.h"
#include "kernels/positions.h"
#include "ops/common.h"

namespace glassformer {

Tensor sinusoidal_positions(int64_t length, int64_t dim, const SinusoidalOptions& options) {
  constexpr const char* kOp = "sinusoidal_positions";
  require<ValueError>(length >= 0 && dim >= 0 && options.offset >= 0,
                      "{}: expected length, dim and offset of at least 0, found {}, {} and {}", kOp,
                      length, dim, options.offset);
  require<DTypeError>(is_floating(options.tensor.dtype),
                      "{}: expected a floating-point dtype, found {}", kOp,
                      name_of(options.tensor.dtype));
  const DType dtype = accumulation_dtype(options.tensor.dtype);
  Tensor y = empty({length, dim}, {dtype, options.tensor.device});
  call(kSinusoidalPositions, y, options.offset,
       options.layout == SinusoidalOptions::Layout::kHalfSplit);
  return cast(y, options.tensor.dtype);
}

Tensor learned_positions(const Tensor& table, int64_t length, int64_t offset) {
  constexpr const char* kOp = "learned_positions";
  check_rank(kOp, "table", table, 2);
  require<IndexError>(
      length >= 0 && offset >= 0 && length <= table.size(0) && offset <= table.size(0) - length,
      "{}: expected positions from 0 to {}, found {} of them from {} on", kOp, table.size(0) - 1,
      length, offset);
  return slice(table, 0, offset, offset + length);
}

}  // namespace glassformer
