#include "base/nearest.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace glassformer {
namespace {

constexpr size_t kMaxLength = 256;  // the distance costs a product of lengths
constexpr size_t kMaxShown = 3;

// Levenshtein's: insertions, deletions and replacements.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i + 1);
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, diagonal + 1, row[j] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string nearest_hint(std::string_view name, std::span<const std::string_view> names) {
  // Half of the letters may differ: prefixes come and go ("model.", "bert.").
  const size_t limit = std::max<size_t>(2, name.size() / 2);
  std::vector<std::pair<size_t, std::string_view>> near;
  for (const std::string_view other : names) {
    const size_t apart = std::max(name.size(), other.size()) - std::min(name.size(), other.size());
    if (name.size() > kMaxLength || apart > limit) continue;
    const size_t distance = edit_distance(name, other);
    if (distance <= limit) near.emplace_back(distance, other);
  }
  const size_t shown = std::min(near.size(), kMaxShown);
  std::partial_sort(near.begin(), near.begin() + static_cast<ptrdiff_t>(shown), near.end());
  std::string hint;
  for (size_t i = 0; i < shown; ++i) {
    if (i == 0) hint = shown == 1 ? ", the nearest is " : ", the nearest are ";
    if (i > 0) hint += i + 1 == shown ? " and " : ", ";
    hint += fmt::format("'{}'", near[i].second);
  }
  return hint;
}

}  // namespace glassformer
