#include "checkpoint/gguf_metadata.h"

#include <array>
#include <type_traits>
#include <utility>

namespace glassformer {
namespace {

// The file's own numbers for the types of values.
enum ValueType : uint32_t {
  kUint8,
  kInt8,
  kUint16,
  kInt16,
  kUint32,
  kInt32,
  kFloat32,
  kBool,
  kString,
  kArray,
  kUint64,
  kInt64,
  kFloat64,
};
constexpr std::array<const char*, 13> kTypeNames{"uint8",  "int8",    "uint16", "int16",  "uint32",
                                                 "int32",  "float32", "bool",   "string", "array",
                                                 "uint64", "int64",   "float64"};
// Bytes of one element; nothing for strings and arrays, which say how long they are.
constexpr std::array<uint64_t, 13> kTypeSizes{1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};

template <class T>
constexpr const char* kind_of() {
  if constexpr (std::is_same_v<T, int64_t>) return "a whole number";
  if constexpr (std::is_same_v<T, double>) return "a number";
  if constexpr (std::is_same_v<T, bool>) return "a bool";
  return "a string";
}

// Calls f with the next element, as the C++ type that the file's type is; with bool as uint8_t.
template <class F>
void visit_number(GgufReader& reader, uint32_t type, F&& f) {
  switch (type) {
    case kUint8: return f(reader.number<uint8_t>());
    case kInt8: return f(reader.number<int8_t>());
    case kUint16: return f(reader.number<uint16_t>());
    case kInt16: return f(reader.number<int16_t>());
    case kUint32: return f(reader.number<uint32_t>());
    case kInt32: return f(reader.number<int32_t>());
    case kFloat32: return f(reader.number<float>());
    case kUint64: return f(reader.number<uint64_t>());
    case kInt64: return f(reader.number<int64_t>());
    case kFloat64: return f(reader.number<double>());
    default: return;
  }
}

// The next element as T, or false where it is of another kind.
template <class T>
bool read_element(GgufReader& reader, uint32_t type, T& out) {
  if constexpr (std::is_same_v<T, std::string>) {
    if (type != kString) return false;
    out = reader.text();
    return true;
  } else if constexpr (std::is_same_v<T, bool>) {
    if (type != kBool) return false;
    out = reader.number<uint8_t>() != 0;
    return true;
  } else {
    bool fits = false;
    visit_number(reader, type, [&]<class From>(From value) {
      if constexpr (std::is_same_v<T, double>) {
        fits = true;
      } else if constexpr (std::is_integral_v<From>) {
        fits = std::in_range<T>(value);
      }
      if (fits) out = static_cast<T>(value);  // NOLINT(bugprone-signed-char-misuse): int8_t counts
    });
    return fits;
  }
}

}  // namespace

GgufMetadata::GgufMetadata(GgufReader& reader, uint64_t count, std::string where)
    : where_(std::move(where)) {
  for (uint64_t i = 0; i < count; ++i) {
    const std::string key(reader.text());
    Value value;
    value.type = reader.number<uint32_t>();
    if (value.type == kArray) {
      value.is_list = true;
      value.type = reader.number<uint32_t>();
      value.count = reader.number<uint64_t>();
    }
    require<FileError>(value.type < kTypeNames.size() && value.type != kArray,
                       "{}: key '{}' has a value of the unknown type {}{}", where_, key,
                       value.is_list ? "array of " : "", value.type);
    if (value.type == kString) {
      GgufReader begin = reader;
      for (uint64_t j = 0; j < value.count; ++j) reader.text();
      value.bytes = begin.take(reader.position() - begin.position(), 1);
    } else {
      value.bytes = reader.take(value.count, kTypeSizes[value.type]);
    }
    require<FileError>(values_.emplace(key, value).second, "{}: the key '{}' is there twice",
                       where_, key);
  }
}

std::vector<std::string> GgufMetadata::keys() const {
  std::vector<std::string> keys;
  keys.reserve(values_.size());
  for (const auto& [key, value] : values_) keys.push_back(key);
  return keys;
}

const GgufMetadata::Value& GgufMetadata::at(std::string_view key) const {
  const auto found = values_.find(key);
  require<FileError>(found != values_.end(), "{}: the key '{}' is missing", where_, key);
  return found->second;
}

template <class T>
std::vector<T> GgufMetadata::elements(std::string_view key, const Value& value) const {
  std::vector<T> elements;
  elements.reserve(value.count);  // each takes at least a byte of the file
  GgufReader reader(value.bytes, where_);
  for (uint64_t i = 0; i < value.count; ++i) {
    T element{};
    require<FileError>(read_element(reader, value.type, element),
                       "{}: key '{}' must be {}{}, found {}{}", where_, key,
                       value.is_list ? "a list, each " : "", kind_of<T>(), kTypeNames[value.type],
                       std::is_same_v<T, int64_t> && value.type == kUint64 ? " over 2^63" : "");
    elements.push_back(std::move(element));
  }
  return elements;
}

template <class T>
T GgufMetadata::value(std::string_view key) const {
  const Value& value = at(key);
  require<FileError>(!value.is_list, "{}: key '{}' must be {}, found a list of {}", where_, key,
                     kind_of<T>(), value.count);
  return elements<T>(key, value).front();
}

template <class T>
std::vector<T> GgufMetadata::list(std::string_view key) const {
  const Value& value = at(key);
  require<FileError>(value.is_list, "{}: key '{}' must be a list, found a single {}", where_, key,
                     kTypeNames[value.type]);
  return elements<T>(key, value);
}

template int64_t GgufMetadata::value(std::string_view) const;
template double GgufMetadata::value(std::string_view) const;
template bool GgufMetadata::value(std::string_view) const;
template std::string GgufMetadata::value(std::string_view) const;
template std::vector<int64_t> GgufMetadata::list(std::string_view) const;
template std::vector<double> GgufMetadata::list(std::string_view) const;
template std::vector<bool> GgufMetadata::list(std::string_view) const;
template std::vector<std::string> GgufMetadata::list(std::string_view) const;

}  // namespace glassformer
