#pragma once

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

size_t size_of(DType dtype);
std::string_view name_of(DType dtype);         // "float32", "bfloat16", ...
DType dtype_from_name(std::string_view name);  // throws ValueError for an unknown name
bool is_floating(DType dtype);

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
