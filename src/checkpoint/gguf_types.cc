#include "checkpoint/gguf_types.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

static_assert(std::endian::native == std::endian::little, "GGUF files are little-endian");

namespace glassformer {
namespace {

float half_at(const std::byte* at) {
  Float16 value;
  std::memcpy(&value.bits, at, sizeof value.bits);
  return static_cast<float>(value);
}

int byte_at(const std::byte* at) { return std::to_integer<int>(*at); }

// d, then 32 signed bytes q:  y = d q
void expand_q8_0(const std::byte* block, float* out) {
  const float scale = half_at(block);
  for (int i = 0; i < 32; ++i)
    out[i] = scale * static_cast<float>(static_cast<int8_t>(block[2 + i]));
}

// d, then 16 bytes, whose low halves are q of the first 16 elements and high halves of the rest:
// y = d (q - 8)
void expand_q4_0(const std::byte* block, float* out) {
  const float scale = half_at(block);
  for (int i = 0; i < 16; ++i) {
    const int pair = byte_at(block + 2 + i);
    out[i] = scale * static_cast<float>((pair & 15) - 8);
    out[16 + i] = scale * static_cast<float>((pair >> 4) - 8);
  }
}

// d, m, then eight scales and minima of 6 bits in 12 bytes, then 128 bytes in four runs of 32,
// whose low halves are q of 32 elements and high halves of the next:  y = (d scale) q - (m minimum)
void expand_q4_k(const std::byte* block, float* out) {
  const float d = half_at(block), m = half_at(block + 2);
  const std::byte* packed = block + 4;
  const std::byte* quants = block + 16;
  for (int group = 0; group < 8; ++group) {
    // Of the first four groups the low six bits of a byte each; of the others four bits in the last
    // four bytes, and the two bits that the first ones left free.
    int scale = 0, minimum = 0;
    if (group < 4) {
      scale = byte_at(packed + group) & 63;
      minimum = byte_at(packed + group + 4) & 63;
    } else {
      const int low = byte_at(packed + group + 4);
      scale = (low & 15) | ((byte_at(packed + group - 4) >> 6) << 4);
      minimum = (low >> 4) | ((byte_at(packed + group) >> 6) << 4);
    }
    const float step = d * static_cast<float>(scale), base = m * static_cast<float>(minimum);
    const int shift = group % 2 * 4;
    for (int i = 0; i < 32; ++i) {
      const int q = (byte_at(quants + group / 2 * 32 + i) >> shift) & 15;
      out[group * 32 + i] = step * static_cast<float>(q) - base;
    }
  }
}

// 128 bytes of low four bits, 64 of high two, 16 signed scales, d:  y = (d scale) (q - 32)
void expand_q6_k(const std::byte* block, float* out) {
  const float d = half_at(block + 208);
  for (int i = 0; i < 256; ++i) {
    // Each half of the block has 64 bytes of low and 32 of high bits; a quarter of it is 32
    // elements.
    const int half = i / 128, quarter = i % 128 / 32, at = i % 32;
    const int low = byte_at(block + half * 64 + quarter % 2 * 32 + at) >> (quarter / 2 * 4);
    const int high = byte_at(block + 128 + half * 32 + at) >> (quarter * 2);
    const int q = ((low & 15) | ((high & 3) << 4)) - 32;
    const auto scale = static_cast<int8_t>(block[192 + i / 16]);
    out[i] = d * static_cast<float>(scale) * static_cast<float>(q);
  }
}

constexpr std::array<GgufType, 21> kTypes{{
    {0, "F32", 1, 4, DType::kFloat32, nullptr},
    {1, "F16", 1, 2, DType::kFloat16, nullptr},
    {2, "Q4_0", 32, 18, {}, expand_q4_0},
    {3, "Q4_1", 32, 20, {}, nullptr},
    {6, "Q5_0", 32, 22, {}, nullptr},
    {7, "Q5_1", 32, 24, {}, nullptr},
    {8, "Q8_0", 32, 34, {}, expand_q8_0},
    {10, "Q2_K", 256, 84, {}, nullptr},
    {11, "Q3_K", 256, 110, {}, nullptr},
    {12, "Q4_K", 256, 144, {}, expand_q4_k},
    {13, "Q5_K", 256, 176, {}, nullptr},
    {14, "Q6_K", 256, 210, {}, expand_q6_k},
    {15, "Q8_K", 256, 292, {}, nullptr},
    {20, "IQ4_NL", 32, 18, {}, nullptr},
    {23, "IQ4_XS", 256, 136, {}, nullptr},
    {24, "I8", 1, 1, DType::kInt8, nullptr},
    {25, "I16", 1, 2, {}, nullptr},
    {26, "I32", 1, 4, DType::kInt32, nullptr},
    {27, "I64", 1, 8, DType::kInt64, nullptr},
    {28, "F64", 1, 8, DType::kFloat64, nullptr},
    {30, "BF16", 1, 2, DType::kBFloat16, nullptr},
}};

}  // namespace

const GgufType* find_gguf_type(uint32_t id) {
  const auto found = std::find_if(kTypes.begin(), kTypes.end(),
                                  [&](const GgufType& type) { return type.id == id; });
  return found == kTypes.end() ? nullptr : &*found;
}

}  // namespace glassformer
