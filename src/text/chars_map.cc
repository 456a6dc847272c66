#include "text/chars_map.h"

#include <cstring>

#include "base/check.h"

namespace glassformer {
namespace {

// A unit of the double array: a label, the distance to the children, whether a value hangs there.
constexpr bool has_leaf(uint32_t unit) { return (unit >> 8 & 1) != 0; }
constexpr uint32_t value(uint32_t unit) { return unit & 0x7FFFFFFF; }
constexpr uint32_t label(uint32_t unit) { return unit & 0x800000FF; }
constexpr uint32_t offset(uint32_t unit) { return (unit >> 10) << ((unit & 1U << 9) >> 6); }

}  // namespace

CharsMap::CharsMap(std::string_view blob, const std::string& where) {
  if (blob.empty()) return;
  uint32_t size = 0;
  require<FileError>(blob.size() >= 4, "{}: the table of rules has {} bytes, fewer than a header",
                     where, blob.size());
  std::memcpy(&size, blob.data(), 4);
  require<FileError>(size % 4 == 0 && size > 0 && size <= blob.size() - 4,
                     "{}: the table of rules says its trie has {} bytes, but {} follow", where,
                     size, blob.size() - 4);
  trie_.resize(size / 4);
  std::memcpy(trie_.data(), blob.data() + 4, size);
  texts_ = blob.substr(4 + size);
}

std::optional<CharsMap::Rule> CharsMap::find(std::string_view text, bool shortest) const {
  std::optional<Rule> rule;
  if (trie_.empty()) return rule;
  size_t node = offset(trie_[0]);
  for (size_t i = 0; i < text.size() && text[i] != '\0'; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    node ^= byte;
    if (node >= trie_.size() || label(trie_[node]) != byte) break;
    const uint32_t unit = trie_[node];
    node ^= offset(unit);
    if (node >= trie_.size()) break;
    if (!has_leaf(unit)) continue;
    const size_t begin = value(trie_[node]);
    if (begin > texts_.size()) break;
    const size_t end = std::min(texts_.find('\0', begin), texts_.size());
    rule = Rule{i + 1, std::string_view(texts_).substr(begin, end - begin)};
    if (shortest) break;
  }
  return rule;
}

std::string decode_base64(std::string_view text, const std::string& where) {
  const auto digit = [](char c) -> int {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
  };
  while (!text.empty() && text.back() == '=') text.remove_suffix(1);
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3 + 2);
  uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    const int six = digit(c);
    require<FileError>(six >= 0, "{}: not base64", where);
    bits = bits << 6 | static_cast<uint32_t>(six);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes += static_cast<char>(bits >> count & 0xFF);
  }
  return bytes;
}

}  // namespace glassformer
