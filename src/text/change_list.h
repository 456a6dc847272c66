#pragma once

#include <string_view>
#include <vector>

#include "text/normalized_text.h"

namespace glassformer {

// A new text as changes of an old one, character by character, for rules that replace several
// characters by several.
class ChangeList {
 public:
  void keep(char32_t c) { changes_.push_back({c, 0}); }
  // The next `old_count` characters become `fresh`: one stands for one as far as they go; what is
  // more shares the last place, and what is fewer is dropped after the last.
  void replace(size_t old_count, std::u32string_view fresh) {
    const auto extra = static_cast<int>(fresh.size()) - static_cast<int>(old_count);
    for (const char32_t c : fresh) changes_.push_back({c, 0});
    for (int i = 0; i < extra; ++i) changes_[changes_.size() - 1 - static_cast<size_t>(i)].kind = 1;
    if (extra < 0 && !changes_.empty()) changes_.back().kind += extra;
  }
  bool empty() const { return changes_.empty(); }
  char32_t last() const { return changes_.back().character; }
  void remove_last() { changes_.pop_back(); }
  // `skipped`: characters dropped at the front of the old text.
  void apply(NormalizedText& text, size_t skipped = 0) const {
    Rewriter rewriter(text, skipped);
    for (const Change& change : changes_) rewriter.put(change.character, change.kind);
    rewriter.finish();
  }

 private:
  struct Change {
    char32_t character;
    int kind;  // as Rewriter::put() takes it
  };
  std::vector<Change> changes_;
};

}  // namespace glassformer
