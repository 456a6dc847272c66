#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "glassformer/tensor/quantised.h"

namespace glassformer {

// A row of a quantised matrix, taken apart. For column i, in group g = i / step_columns and unit
// u = i / unit_columns:
//
//   w[i] = units[u] · steps[g] · (codes[i] − offset) − base_units[u] · bases[g]
//
// Whole blocks: codes are padded to a multiple of 32 with `offset`.
struct QuantisedRow {
  int offset = 0;
  int64_t step_columns = 32, unit_columns = 32;
  std::vector<uint8_t> codes;
  std::vector<float> units, base_units;  // exact in float16 but for kInt8
  std::vector<int8_t> steps, bases;      // no bases: they are zero

  float step(int64_t group) const;
  float base(int64_t group) const;
};

// Reads row `row` of host memory into `out`, whose memory is used again.
void read_row(const QuantisedTensor& x, int64_t row, QuantisedRow& out);

// The same row as `columns` numbers.
void expand_row(const QuantisedTensor& x, int64_t row, QuantisedRow& scratch, float* out);

// Writes row `row` of `out` (kInt8, kInt4), in host memory, from `columns` numbers.
void write_row(const float* from, int64_t row, const QuantisedTensor& out);

}  // namespace glassformer
