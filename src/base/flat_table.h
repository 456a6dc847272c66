#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "base/json.h"

namespace glassformer {

// A table inside a JSON text, kept in one piece: a tree of hundreds of thousands of small values
// takes longer to build and to free than the text takes to read. Such a table stands in the tree as
// a binary value, which no JSON text can hold.
class FlatTable {
 public:
  enum class Kind : uint8_t {
    kNumbers,      // {"text": whole number, ...}
    kTexts,        // ["text", ...]
    kTextPairs,    // [["text", "text"], ...]
    kTextNumbers,  // [["text", number], ...]
  };
  struct Row {
    std::string_view first, second;  // of the table's memory
    uint64_t whole = 0;
    double number = 0;
  };

  static bool is(const Json& value) { return value.is_binary(); }
  explicit FlatTable(const Json& value) : bytes_(value.get_binary()) {}

  Kind kind() const { return static_cast<Kind>(bytes_.front()); }
  size_t size() const { return read<uint64_t>(1); }
  // visit(row) for each row, in the order of the text.
  template <class Visit>
  void each(Visit&& visit) const {
    size_t at = kHeader;
    while (at < bytes_.size()) {
      Row row;
      row.first = text(at);
      if (kind() == Kind::kTextPairs) row.second = text(at);
      if (kind() == Kind::kNumbers) row.whole = read<uint64_t>(at), at += sizeof(uint64_t);
      if (kind() == Kind::kTextNumbers) row.number = read<double>(at), at += sizeof(double);
      visit(row);
    }
  }

 private:
  friend class FlatTableWriter;
  static constexpr size_t kHeader = 1 + sizeof(uint64_t);  // the kind and the number of rows

  template <class T>
  T read(size_t at) const {
    T value;
    std::memcpy(&value, bytes_.data() + at, sizeof(T));
    return value;
  }
  std::string_view text(size_t& at) const {
    const auto size = read<uint32_t>(at);
    const auto* begin = reinterpret_cast<const char*>(bytes_.data()) + at + sizeof(uint32_t);
    at += sizeof(uint32_t) + size;
    return {begin, size};
  }

  const Json::binary_t& bytes_;
};

// parse_json(), with what stands at `places` (two keys with a slash between) kept flat where it is
// a table of one of these kinds, and in the tree as ever where it is not. Keys of a flat object may
// be there twice: that is for its reader to see.
Json parse_json_with_tables(std::string_view text, std::string_view where,
                            std::span<const std::string_view> places);

}  // namespace glassformer
