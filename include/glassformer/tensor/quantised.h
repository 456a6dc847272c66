#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "glassformer/tensor/tensor.h"

namespace glassformer {

// How the numbers of a quantised matrix are written, row by row. A row is one output of a layer.
//   kInt8  one signed byte a weight, one float32 scale a row:       w = scale · q
//   kInt4  two weights a byte, one float16 scale a group of a row:  w = scale · (q − 8)
//   kQ8_0, kQ4_0, kQ4_K, kQ6_K  the blocks of GGUF, as they lie in the file
enum class QuantScheme : uint8_t { kInt8, kInt4, kQ8_0, kQ4_0, kQ4_K, kQ6_K };
inline constexpr int kQuantSchemeCount = 6;

std::string_view name_of(QuantScheme scheme);                              // "int8", "Q4_K", ...
std::optional<QuantScheme> quant_scheme_from_name(std::string_view name);  // none if unknown

// A matrix [rows, columns] of quantised weights: a form in which numbers are stored. Cheap to copy:
// the tensors are shared.
struct QuantisedTensor {
  QuantScheme scheme = QuantScheme::kInt8;
  int64_t rows = 0, columns = 0;
  int64_t group = 0;  // kInt4: columns that share a scale, a multiple of 32; 0 for the others
  Tensor codes;       // int8 [rows, bytes of a row], contiguous
  Tensor scales;      // kInt8: float32 [rows]; kInt4: float16 [rows, groups]; GGUF's are in codes

  bool defined() const { return codes.defined(); }
  Shape shape() const { return {rows, columns}; }
  Device device() const { return codes.device(); }
  int64_t bytes() const;
  std::array<const Tensor*, 2> tensors() const { return {&codes, &scales}; }
};

// Bytes of a row of `columns` weights: int4 is padded to whole groups of 32.
// Throws ValueError where a GGUF row is not made of whole blocks.
int64_t row_bytes(QuantScheme scheme, int64_t columns);

// Throws ShapeError, DTypeError or ValueError where the parts do not fit together.
void check_quantised(const QuantisedTensor& x, std::string_view what);

// Some consecutive rows: a view.
QuantisedTensor rows_of(const QuantisedTensor& x, int64_t first, int64_t count);

}  // namespace glassformer
