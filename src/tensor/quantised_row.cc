#include "tensor/quantised_row.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

static_assert(std::endian::native == std::endian::little, "GGUF's blocks are little-endian");

namespace glassformer {
namespace {

constexpr int64_t kSuper = 256;  // weights of a block of the K types

float half_at(const uint8_t* at) {
  Float16 value;
  std::memcpy(&value.bits, at, sizeof value.bits);
  return static_cast<float>(value);
}

// 16 bytes, whose low halves are the first 16 codes and high halves the rest.
void split_halves(const uint8_t* bytes, uint8_t* codes) {
  for (int i = 0; i < 16; ++i) {
    codes[i] = bytes[i] & 15;
    codes[16 + i] = bytes[i] >> 4;
  }
}

// d, then 32 signed bytes q:  w = d q
void read_q8_0(const uint8_t* block, size_t index, QuantisedRow& out) {
  out.units[index] = half_at(block);
  for (size_t i = 0; i < 32; ++i) out.codes[index * 32 + i] = block[2 + i] ^ 0x80;
}

// d, then 16 bytes:  w = d (q − 8)
void read_q4_0(const uint8_t* block, size_t index, QuantisedRow& out) {
  out.units[index] = half_at(block);
  split_halves(block + 2, out.codes.data() + index * 32);
}

// d, m, then eight scales and minima of 6 bits in 12 bytes, then 128 bytes in four runs of 32,
// whose low halves are q of 32 weights and high halves of the next:  w = (d scale) q − (m minimum)
void read_q4_k(const uint8_t* block, size_t index, QuantisedRow& out) {
  out.units[index] = half_at(block);
  out.base_units[index] = half_at(block + 2);
  const uint8_t* packed = block + 4;
  for (size_t group = 0; group < 8; ++group) {
    // Of the first four groups the low six bits of a byte each; of the others four bits in the last
    // four bytes, and the two bits that the first ones left free.
    int scale = packed[group] & 63, minimum = packed[group + 4] & 63;
    if (group >= 4) {
      scale = (packed[group + 4] & 15) | ((packed[group - 4] >> 6) << 4);
      minimum = (packed[group + 4] >> 4) | ((packed[group] >> 6) << 4);
    }
    out.steps[index * 8 + group] = static_cast<int8_t>(scale);
    out.bases[index * 8 + group] = static_cast<int8_t>(minimum);
    const uint8_t* quants = block + 16 + group / 2 * 32;
    for (size_t i = 0; i < 32; ++i)
      out.codes[index * kSuper + group * 32 + i] = (quants[i] >> (group % 2 * 4)) & 15;
  }
}

// 128 bytes of low four bits, 64 of high two, 16 signed scales, d:  w = (d scale) (q − 32)
void read_q6_k(const uint8_t* block, size_t index, QuantisedRow& out) {
  out.units[index] = half_at(block + 208);
  std::memcpy(out.steps.data() + index * 16, block + 192, 16);
  for (size_t i = 0; i < kSuper; ++i) {
    // Each half of the block has 64 bytes of low and 32 of high bits; a quarter of it is 32
    // weights.
    const size_t half = i / 128, quarter = i % 128 / 32, at = i % 32;
    const int low = block[half * 64 + quarter % 2 * 32 + at] >> (quarter / 2 * 4);
    const int high = block[128 + half * 32 + at] >> (quarter * 2);
    out.codes[index * kSuper + i] = static_cast<uint8_t>((low & 15) | ((high & 3) << 4));
  }
}

struct Blocks {
  int offset;
  int64_t step_columns, unit_columns, bytes;
  bool has_bases;
  void (*read)(const uint8_t* block, size_t index, QuantisedRow& out);
};
Blocks blocks_of(QuantScheme scheme) {
  switch (scheme) {
    case QuantScheme::kQ8_0: return {128, 32, 32, 34, false, read_q8_0};
    case QuantScheme::kQ4_0: return {8, 32, 32, 18, false, read_q4_0};
    case QuantScheme::kQ4_K: return {0, 32, kSuper, 144, true, read_q4_k};
    default: return {32, 16, kSuper, 210, false, read_q6_k};
  }
}

const uint8_t* row_at(const QuantisedTensor& x, int64_t row) {
  return reinterpret_cast<const uint8_t*>(x.codes.storage()->data()) + x.codes.offset() +
         row * x.codes.size(1);
}

void read_int8(const QuantisedTensor& x, int64_t row, QuantisedRow& out) {
  const auto columns = static_cast<size_t>(x.columns);
  out.offset = 128;
  out.unit_columns = static_cast<int64_t>(out.codes.size());
  out.units.assign(
      1, reinterpret_cast<const float*>(x.scales.storage()->data())[x.scales.offset() + row]);
  const uint8_t* codes = row_at(x, row);
  for (size_t i = 0; i < columns; ++i) out.codes[i] = codes[i] ^ 0x80;
  for (size_t i = columns; i < out.codes.size(); ++i) out.codes[i] = 128;
}

void read_int4(const QuantisedTensor& x, int64_t row, QuantisedRow& out) {
  out.offset = 8;
  out.unit_columns = x.group;
  const int64_t groups = x.scales.size(1);
  const uint8_t* scales = reinterpret_cast<const uint8_t*>(x.scales.storage()->data()) +
                          2 * (x.scales.offset() + row * groups);
  for (int64_t g = 0; g < groups; ++g) out.units.push_back(half_at(scales + 2 * g));
  const uint8_t* codes = row_at(x, row);
  for (size_t g = 0; g < out.codes.size() / 32; ++g)
    split_halves(codes + 16 * g, out.codes.data() + 32 * g);
}

float largest(const float* from, int64_t count) {
  float most = 0;
  for (int64_t i = 0; i < count; ++i) most = std::max(most, std::abs(from[i]));
  return most;
}

void write_int8(const float* from, int64_t row, const QuantisedTensor& out) {
  const float scale = largest(from, out.columns) / 127;
  const float inverse = scale > 0 ? 1 / scale : 0;
  reinterpret_cast<float*>(out.scales.storage()->data())[out.scales.offset() + row] = scale;
  auto* codes = reinterpret_cast<int8_t*>(const_cast<uint8_t*>(row_at(out, row)));
  for (int64_t i = 0; i < out.columns; ++i)
    codes[i] = static_cast<int8_t>(std::clamp(std::nearbyint(from[i] * inverse), -127.0F, 127.0F));
}

// The code of x at a scale, from 0 to 15: without a call, for the search below tries many.
int int4_code(float x, float inverse) {
  return static_cast<int>(std::clamp(x * inverse + 8.5F, 0.0F, 15.9F));
}

// The float16 scale with the least squared error. Codes reach from −8 to 7, so a negative scale is
// as good, and for a group whose largest number is positive better.
Float16 int4_scale(const float* from, int64_t count) {
  const float most = largest(from, count);
  Float16 best;
  float best_error = std::numeric_limits<float>::infinity();
  for (int i = -10; i <= 10; ++i) {
    const float levels = 8 + 0.2F * static_cast<float>(std::abs(i) - 6);
    const Float16 candidate((i < 0 ? -most : most) / levels);
    const auto scale = static_cast<float>(candidate);
    const float inverse = scale != 0 ? 1 / scale : 0;
    float error = 0;
    for (int64_t k = 0; k < count; ++k) {
      const float off = from[k] - scale * static_cast<float>(int4_code(from[k], inverse) - 8);
      error += off * off;
    }
    if (error < best_error) best = candidate, best_error = error;
  }
  return best;
}

void write_int4(const float* from, int64_t row, const QuantisedTensor& out) {
  uint8_t* codes = const_cast<uint8_t*>(row_at(out, row));
  const int64_t groups = out.scales.size(1);
  uint8_t* scales = reinterpret_cast<uint8_t*>(out.scales.storage()->data()) +
                    2 * (out.scales.offset() + row * groups);
  for (int64_t g = 0; g < groups; ++g) {
    const int64_t first = g * out.group, count = std::min(out.group, out.columns - first);
    const Float16 half = int4_scale(from + first, count);
    std::memcpy(scales + 2 * g, &half.bits, sizeof half.bits);
    const auto scale = static_cast<float>(half);
    const float inverse = scale != 0 ? 1 / scale : 0;
    const auto code = [&](int64_t i) {
      return i < count ? int4_code(from[first + i], inverse) : 8;
    };
    for (int64_t block = 0; block < count; block += 32)
      for (int64_t i = 0; i < 16; ++i)
        codes[(first + block) / 2 + i] =
            static_cast<uint8_t>(code(block + i) | (code(block + 16 + i) << 4));
  }
}

}  // namespace

float QuantisedRow::step(int64_t group) const {
  const auto unit = static_cast<size_t>(group * step_columns / unit_columns);
  return units[unit] * static_cast<float>(steps[static_cast<size_t>(group)]);
}

float QuantisedRow::base(int64_t group) const {
  if (bases.empty()) return 0;
  const auto unit = static_cast<size_t>(group * step_columns / unit_columns);
  return base_units[unit] * static_cast<float>(bases[static_cast<size_t>(group)]);
}

void read_row(const QuantisedTensor& x, int64_t row, QuantisedRow& out) {
  const auto padded = static_cast<size_t>((x.columns + 31) / 32 * 32);
  out.codes.resize(padded);
  out.step_columns = 32;
  out.units.clear();
  out.bases.clear();
  if (x.scheme == QuantScheme::kInt8 || x.scheme == QuantScheme::kInt4) {
    out.steps.assign(padded / 32, 1);
    return x.scheme == QuantScheme::kInt8 ? read_int8(x, row, out) : read_int4(x, row, out);
  }
  const Blocks blocks = blocks_of(x.scheme);
  out.offset = blocks.offset;
  out.step_columns = blocks.step_columns;
  out.unit_columns = blocks.unit_columns;
  const auto count = static_cast<size_t>(x.columns / blocks.unit_columns);
  out.steps.assign(padded / static_cast<size_t>(blocks.step_columns), 1);
  out.units.resize(count);
  if (blocks.has_bases) out.bases.resize(out.steps.size());
  out.base_units.resize(blocks.has_bases ? count : 0);
  const uint8_t* bytes = row_at(x, row);
  for (size_t i = 0; i < count; ++i)
    blocks.read(bytes + i * static_cast<size_t>(blocks.bytes), i, out);
}

void expand_row(const QuantisedTensor& x, int64_t row, QuantisedRow& scratch, float* out) {
  read_row(x, row, scratch);
  for (int64_t first = 0, group = 0; first < x.columns; first += scratch.step_columns, ++group) {
    const float step = scratch.step(group), base = scratch.base(group);
    const int64_t end = std::min(x.columns, first + scratch.step_columns);
    for (int64_t i = first; i < end; ++i) {
      const int code = scratch.codes[static_cast<size_t>(i)] - scratch.offset;
      out[i] = step * static_cast<float>(code) - base;
    }
  }
}

void write_row(const float* from, int64_t row, const QuantisedTensor& out) {
  if (out.scheme == QuantScheme::kInt8)
    write_int8(from, row, out);
  else
    write_int4(from, row, out);
}

}  // namespace glassformer
