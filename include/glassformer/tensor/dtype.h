#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "glassformer/tensor/half.h"

namespace glassformer {

enum class DType : uint8_t {
  kFloat32,
  kFloat64,
  kBFloat16,
  kFloat16,
  kInt8,
  kInt32,
  kInt64,
  kBool,
};
inline constexpr int kDTypeCount = 8;

struct DTypeInfo {
  std::string_view name;  // "float32", "bfloat16", ...
  size_t size;
  bool floating;
};
inline constexpr std::array<DTypeInfo, kDTypeCount> kDTypeInfo{{{"float32", 4, true},
                                                                {"float64", 8, true},
                                                                {"bfloat16", 2, true},
                                                                {"float16", 2, true},
                                                                {"int8", 1, false},
                                                                {"int32", 4, false},
                                                                {"int64", 8, false},
                                                                {"bool", 1, false}}};
constexpr const DTypeInfo& info_of(DType dtype) { return kDTypeInfo[static_cast<size_t>(dtype)]; }
constexpr size_t size_of(DType dtype) { return info_of(dtype).size; }
constexpr std::string_view name_of(DType dtype) { return info_of(dtype).name; }
constexpr bool is_floating(DType dtype) { return info_of(dtype).floating; }

DType dtype_from_name(std::string_view name);  // throws ValueError for an unknown name

// The DType of a C++ type.
template <class T>
struct DTypeOf;
template <>
struct DTypeOf<float> {
  static constexpr DType kValue = DType::kFloat32;
};
template <>
struct DTypeOf<double> {
  static constexpr DType kValue = DType::kFloat64;
};
template <>
struct DTypeOf<BFloat16> {
  static constexpr DType kValue = DType::kBFloat16;
};
template <>
struct DTypeOf<Float16> {
  static constexpr DType kValue = DType::kFloat16;
};
template <>
struct DTypeOf<int8_t> {
  static constexpr DType kValue = DType::kInt8;
};
template <>
struct DTypeOf<int32_t> {
  static constexpr DType kValue = DType::kInt32;
};
template <>
struct DTypeOf<int64_t> {
  static constexpr DType kValue = DType::kInt64;
};
template <>
struct DTypeOf<bool> {
  static constexpr DType kValue = DType::kBool;
};
template <class T>
inline constexpr DType kDTypeOf = DTypeOf<T>::kValue;

}  // namespace glassformer
