#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "glassformer/tensor/dtype.h"

namespace glassformer {

struct SafetensorsType {
  std::string_view name;
  int bits;  // an element
  std::optional<DType> dtype;
};

// In the order of the Python library, narrow to wide: it writes the last of these first.
inline constexpr std::array<SafetensorsType, 22> kSafetensorsTypes{{
    {"BOOL", 8, DType::kBool},
    {"F4", 4, {}},
    {"F6_E2M3", 6, {}},
    {"F6_E3M2", 6, {}},
    {"U8", 8, {}},
    {"I8", 8, DType::kInt8},
    {"F8_E5M2", 8, {}},
    {"F8_E4M3", 8, {}},
    {"F8_E8M0", 8, {}},
    {"F8_E4M3FNUZ", 8, {}},
    {"F8_E5M2FNUZ", 8, {}},
    {"I16", 16, {}},
    {"U16", 16, {}},
    {"F16", 16, DType::kFloat16},
    {"BF16", 16, DType::kBFloat16},
    {"I32", 32, DType::kInt32},
    {"U32", 32, {}},
    {"F32", 32, DType::kFloat32},
    {"C64", 64, {}},
    {"F64", 64, DType::kFloat64},
    {"I64", 64, DType::kInt64},
    {"U64", 64, {}},
}};

inline constexpr std::string_view kSafetensorsMetadata = "__metadata__";
inline constexpr size_t kSafetensorsMaxHeader = 100'000'000;

}  // namespace glassformer
