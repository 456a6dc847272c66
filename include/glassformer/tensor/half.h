#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace glassformer {

// bfloat16: the upper half of a float32. Conversion rounds to nearest, ties to even.
struct BFloat16 {
  uint16_t bits = 0;
  BFloat16() = default;
  explicit BFloat16(float value) {
    const uint32_t word = std::bit_cast<uint32_t>(value);
    if (std::isnan(value)) {
      bits = static_cast<uint16_t>((word >> 16) | 0x0040U);  // stays a NaN when its tail is cut off
    } else {
      bits = static_cast<uint16_t>((word + 0x7FFFU + ((word >> 16) & 1U)) >> 16);
    }
  }
  explicit operator float() const {
    return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
  }
};

// IEEE 754 binary16. Conversion rounds to nearest, ties to even; overflow gives infinity.
struct Float16 {
  uint16_t bits = 0;
  Float16() = default;
  explicit Float16(float value) {
    const uint32_t word = std::bit_cast<uint32_t>(value);
    const auto sign = static_cast<uint16_t>((word >> 16) & 0x8000U);
    const uint32_t magnitude = word & 0x7FFFFFFFU;
    if (magnitude >= 0x7F800000U) {
      bits = static_cast<uint16_t>(sign | (magnitude > 0x7F800000U ? 0x7E00U : 0x7C00U));
    } else if (magnitude >= 0x477FF000U) {  // rounds to 2^16 or more
      bits = static_cast<uint16_t>(sign | 0x7C00U);
    } else if (magnitude < 0x38800000U) {  // subnormal: let float addition do the rounding
      const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
      bits = static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3F000000U));
    } else {
      const uint32_t rounded = magnitude + 0xC8000FFFU + ((magnitude >> 13) & 1U);
      bits = static_cast<uint16_t>(sign | (rounded >> 13));
    }
  }
  explicit operator float() const {
    const uint32_t sign = static_cast<uint32_t>(bits & 0x8000U) << 16;
    const uint32_t exponent = (bits >> 10) & 0x1FU, mantissa = bits & 0x3FFU;
    if (exponent == 0) {
      const float magnitude = static_cast<float>(mantissa) * 0x1p-24F;
      return sign != 0 ? -magnitude : magnitude;
    }
    const uint32_t wide = exponent == 31 ? 0x7F800000U : (exponent + 112) << 23;
    return std::bit_cast<float>(sign | wide | (mantissa << 13));
  }
};

}  // namespace glassformer
