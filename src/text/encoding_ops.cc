#include "text/encoding_ops.h"

#include <algorithm>
#include <limits>

#include "base/check.h"
#include "text/unicode.h"
#include "text/utf8.h"

namespace glassformer {
namespace {

constexpr char32_t kSpelledSpace = 0x120;  // a space, in GPT-2's alphabet

bool is_blank(char32_t c) { return c == kSpelledSpace || is_space(c); }

// f(list) for each of the lists of a token's properties.
template <class E, class F>
void each_list(E& encoding, F&& f) {
  f(encoding.ids, &Encoding::ids);
  f(encoding.type_ids, &Encoding::type_ids);
  f(encoding.attention_mask, &Encoding::attention_mask);
  f(encoding.special_tokens_mask, &Encoding::special_tokens_mask);
  f(encoding.offsets, &Encoding::offsets);
  f(encoding.words, &Encoding::words);
  f(encoding.tokens, &Encoding::tokens);
}

void append_lists(Encoding& encoding, const Encoding& more) {
  each_list(encoding, [&](auto& list, auto member) {
    list.insert(list.end(), (more.*member).begin(), (more.*member).end());
  });
}

}  // namespace

Blanks count_blanks(std::string_view spelling) {
  Blanks blanks;
  constexpr auto kMost = std::numeric_limits<uint16_t>::max();
  for (size_t at = 0; at < spelling.size() && blanks.leading < kMost; ++blanks.leading)
    if (!is_blank(next_character(spelling, at))) break;
  while (!spelling.empty() && blanks.trailing < kMost) {
    const char32_t c = last_character(spelling);
    if (!is_blank(c)) break;
    spelling.remove_suffix(utf8_size(c));
    ++blanks.trailing;
  }
  return blanks;
}

void trim_offsets(Encoding& encoding, const Blanks* blanks, bool prefix_space) {
  for (size_t i = 0; i < encoding.size(); ++i) {
    auto& [begin, end] = encoding.offsets[i];
    uint32_t leading = blanks[i].leading;
    const uint32_t trailing = blanks[i].trailing;
    const bool first = i == 0 || begin == 0;
    if (first && prefix_space && leading == 1) leading = 0;
    if (leading > 0) begin = std::min(begin + leading, end);
    if (trailing > 0 && end >= trailing) end = std::max(end - trailing, begin);
  }
}

Encoding slice(const Encoding& encoding, size_t begin, size_t end) {
  Encoding part;
  each_list(part, [&](auto& list, auto member) {
    const auto& all = encoding.*member;
    if (all.empty()) return;
    list.assign(all.begin() + static_cast<std::ptrdiff_t>(begin),
                all.begin() + static_cast<std::ptrdiff_t>(end));
  });
  return part;
}

void add_special(Encoding& encoding, int64_t id, const std::string& token, int64_t type_id,
                 bool with_tokens) {
  encoding.ids.push_back(id);
  encoding.type_ids.push_back(type_id);
  encoding.attention_mask.push_back(1);
  encoding.special_tokens_mask.push_back(1);
  encoding.offsets.emplace_back();
  encoding.words.push_back(-1);
  if (with_tokens) encoding.tokens.push_back(token);
}

void append(Encoding& encoding, const Encoding& more) {
  std::vector<Encoding> overflowing;
  const auto joined = [&](const Encoding& left, const Encoding& right) {
    Encoding whole = slice(left, 0, left.size());
    append_lists(whole, right);
    overflowing.push_back(std::move(whole));
  };
  for (const Encoding& mine : encoding.overflowing) {
    joined(mine, more);
    for (const Encoding& other : more.overflowing) joined(mine, other);
  }
  for (const Encoding& other : more.overflowing) joined(encoding, other);
  append_lists(encoding, more);
  encoding.overflowing = std::move(overflowing);
}

std::vector<TextRange> truncation_windows(size_t size, size_t longest, size_t stride, Side side) {
  const auto whole = static_cast<uint32_t>(size);
  if (longest >= size) return {{0, whole}};
  if (longest == 0) return {{0, 0}, {0, whole}};
  require<ValueError>(stride < longest,
                      "truncation: the stride must be below the {} tokens that are kept beside the "
                      "special ones, found {}",
                      longest, stride);
  std::vector<TextRange> windows;
  const size_t step = longest - stride;
  for (size_t at = 0; at < size; at += step) {
    const size_t end = std::min(at + longest, size);
    const auto near = static_cast<uint32_t>(at);
    const auto far = static_cast<uint32_t>(end);
    windows.push_back(side == Side::kRight ? TextRange{near, far}
                                           : TextRange{whole - far, whole - near});
    if (end == size) break;
  }
  return windows;
}

KeptLengths truncated_lengths(size_t first, size_t second, bool is_pair,
                              const Truncation& truncation, size_t added) {
  require<ValueError>(truncation.max_length >= added,
                      "truncation: max_length must be at least the {} special tokens, found {}",
                      added, truncation.max_length);
  const size_t longest = truncation.max_length - added;
  if (longest == 0) return {0, 0};
  if (first + second <= longest) return {first, second};
  const size_t excess = first + second - longest;
  if (truncation.strategy == Truncation::Strategy::kLongestFirst) {
    if (!is_pair) return {longest, 0};
    // The longer one is cut down to the shorter, then both alike.
    size_t low = std::min(first, second);
    size_t high = low > longest ? low : std::max(low, longest - low);
    if (low + high > longest) {
      low = longest / 2;
      high = low + longest % 2;
    }
    return first > second ? KeptLengths{high, low} : KeptLengths{low, high};
  }
  const bool cuts_first = truncation.strategy == Truncation::Strategy::kOnlyFirst;
  require<ValueError>(cuts_first || is_pair,
                      "truncation: the second text is to be cut, and there is none");
  size_t& target = cuts_first ? first : second;
  require<ValueError>(target > excess,
                      "truncation: {} tokens must go, and the text to cut has only {}", excess,
                      target);
  target -= excess;
  return {first, second};
}

void pad(Encoding& encoding, size_t length, const Padding& padding, bool with_tokens) {
  for (Encoding& part : encoding.overflowing) pad(part, length, padding, with_tokens);
  if (encoding.size() >= length) return;
  const size_t count = length - encoding.size();
  const auto fill = [&](auto& list, const auto& value) {
    list.insert(padding.side == Side::kLeft ? list.begin() : list.end(), count, value);
  };
  fill(encoding.ids, padding.id);
  fill(encoding.type_ids, padding.type_id);
  fill(encoding.attention_mask, 0);
  fill(encoding.special_tokens_mask, 1);
  fill(encoding.offsets, TextRange{});
  fill(encoding.words, -1);
  if (with_tokens) fill(encoding.tokens, padding.token);
}

size_t padded_length(size_t longest, const Padding& padding) {
  constexpr size_t kMost = size_t{1} << 28;
  size_t length = padding.length.value_or(longest);
  const size_t multiple = padding.multiple_of;
  require<ValueError>(length <= kMost && multiple <= kMost,
                      "padding: lengths up to {} are supported, found {} and multiples of {}",
                      kMost, length, multiple);
  if (multiple > 0 && length % multiple > 0) length += multiple - length % multiple;
  return length;
}

}  // namespace glassformer
