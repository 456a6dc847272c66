#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/gguf_reader.h"

namespace glassformer {

// The key–value part of a GGUF file. Values stay in the file until they are asked for; reading the
// part only makes sure that each is whole.
class GgufMetadata {
 public:
  // Throws FileError for values that leave the file, unknown types and repeated keys.
  GgufMetadata(GgufReader& reader, uint64_t count, std::string where);

  bool has(std::string_view key) const { return values_.contains(key); }
  std::vector<std::string> keys() const;

  // The elements of a list, or the one of a plain value. T is int64_t, double, bool or std::string.
  // Throws FileError, saying what was expected, for another kind.
  template <class T>
  T value(std::string_view key) const;
  template <class T>
  std::vector<T> list(std::string_view key) const;

 private:
  struct Value {
    uint32_t type = 0;  // of the elements
    bool is_list = false;
    uint64_t count = 1;
    std::span<const std::byte> bytes;
  };
  const Value& at(std::string_view key) const;
  template <class T>
  std::vector<T> elements(std::string_view key, const Value& value) const;

  std::string where_;
  std::map<std::string, Value, std::less<>> values_;
};

}  // namespace glassformer
