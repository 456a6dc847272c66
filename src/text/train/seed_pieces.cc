#include "text/train/seed_pieces.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "text/utf8.h"

namespace glassformer {
namespace {

constexpr char32_t kEnd = 0;  // of a word; NUL inside of one ends it too

std::string to_text(std::u32string_view characters) {
  std::string text;
  for (const char32_t c : characters) append_utf8(text, c);
  return text;
}

// All words, each followed by kEnd.
std::u32string join_words(const WordCounts& words) {
  std::u32string all;
  for (size_t i = 0; i < words.size(); ++i) {
    for (size_t at = 0; at < words.word(i).size();) all += next_character(words.word(i), at);
    all += kEnd;
  }
  return all;
}

struct Substring {
  uint64_t weight;  // occurrences times length
  std::u32string_view text;
};

// The suffixes of words in `all`, cut after `depth` characters and sorted. A suffix keeps the kEnd
// behind it: to end is one way to go on.
std::vector<std::u32string_view> sorted_suffixes(std::u32string_view all, size_t depth) {
  std::vector<std::u32string_view> suffixes;
  suffixes.reserve(all.size());
  for (size_t begin = 0, end = 0; begin < all.size(); ++begin) {
    if (begin >= end) end = all.find(kEnd, begin) + 1;
    if (all[begin] != kEnd) suffixes.push_back(all.substr(begin, std::min(depth, end - begin)));
  }
  std::sort(suffixes.begin(), suffixes.end());
  return suffixes;
}

size_t shared_prefix(std::u32string_view a, std::u32string_view b) {
  const size_t size = std::min(a.size(), b.size());
  return static_cast<size_t>(
      std::mismatch(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(size), b.begin()).first -
      a.begin());
}

// A walk over neighbours in sorted order; on the stack are the prefixes that the suffixes so far
// share, with the first suffix that has each.
std::vector<Substring> repeated_substrings(std::u32string_view all, size_t longest) {
  struct Open {
    size_t first, depth;
  };
  const auto suffixes = sorted_suffixes(all, longest + 1);
  std::vector<Substring> found;
  std::vector<Open> open;
  for (size_t i = 1; i <= suffixes.size(); ++i) {
    const size_t depth = i < suffixes.size() ? shared_prefix(suffixes[i - 1], suffixes[i]) : 0;
    size_t first = i - 1;
    while (!open.empty() && open.back().depth > depth) {
      const auto text = suffixes[open.back().first].substr(0, open.back().depth);
      if (text.size() >= 2 && text.size() <= longest && text.back() != kEnd)
        found.push_back({(i - open.back().first) * text.size(), text});
      first = open.back().first;
      open.pop_back();
    }
    if (open.empty() || open.back().depth < depth) open.push_back({first, depth});
  }
  return found;
}

}  // namespace

std::vector<UnigramPiece> seed_pieces(const WordCounts& words, size_t longest, size_t limit) {
  std::unordered_map<char32_t, int64_t> counts;
  for (size_t i = 0; i < words.size(); ++i)
    for (size_t at = 0; at < words.word(i).size();)
      counts[next_character(words.word(i), at)] += words.count(i);
  counts.erase(kEnd);
  std::vector<std::pair<int64_t, char32_t>> characters;
  characters.reserve(counts.size());
  for (const auto& [character, count] : counts) characters.emplace_back(count, character);
  std::sort(characters.rbegin(), characters.rend());

  const std::u32string all = join_words(words);
  std::vector<Substring> substrings = repeated_substrings(all, longest);
  std::sort(substrings.begin(), substrings.end(), [](const Substring& a, const Substring& b) {
    return a.weight != b.weight ? a.weight > b.weight : a.text > b.text;
  });

  std::vector<UnigramPiece> pieces;
  double sum = 0;
  const auto add = [&](std::string text, double weight) {
    sum += weight;
    pieces.push_back({std::move(text), std::log(weight)});
  };
  for (const auto& [count, character] : characters)
    add(to_utf8(character), static_cast<double>(count));
  for (const Substring& substring : substrings) {
    if (pieces.size() >= limit) break;
    add(to_text(substring.text), static_cast<double>(substring.weight));
  }
  for (UnigramPiece& piece : pieces) piece.score -= std::log(sum);
  return pieces;
}

}  // namespace glassformer
