#include "text/normalized_text.h"

#include <algorithm>

#include "text/byte_alphabet.h"
#include "text/unicode.h"
#include "text/utf8.h"

namespace glassformer {
namespace {

struct Decomposed {
  char32_t character;
  uint8_t combining;
  bool first;  // of what one character decomposed to
};

// The decomposition of a text, marks in canonical order.
std::vector<Decomposed> decompose_text(std::string_view text, bool compatible) {
  std::vector<Decomposed> result;
  result.reserve(text.size());
  size_t pending = 0;  // where the marks begin that are not yet sorted
  const auto sort_marks = [&] {
    std::stable_sort(
        result.begin() + static_cast<std::ptrdiff_t>(pending), result.end(),
        [](const Decomposed& a, const Decomposed& b) { return a.combining < b.combining; });
    pending = result.size();
  };
  std::u32string parts;
  for (size_t at = 0; at < text.size();) {
    parts.clear();
    decompose(next_character(text, at), compatible, parts);
    for (size_t i = 0; i < parts.size(); ++i) {
      const uint8_t combining = combining_class(parts[i]);
      if (combining == 0) sort_marks();
      result.push_back({parts[i], combining, i == 0});
    }
  }
  sort_marks();
  return result;
}

// Puts a decomposition together again. A composed character stands for all that it was made of.
class Composer {
 public:
  explicit Composer(Rewriter& out) : out_(out) {}

  void put(const Decomposed& d) {
    const int change = d.first ? 0 : 1;
    if (!has_base_) {
      if (d.combining != 0) {
        out_.put(d.character, change);
      } else {
        base_ = {d.character, change};
        has_base_ = true;
      }
      return;
    }
    const bool blocked = !marks_.empty() && last_class_ >= d.combining;
    const char32_t composed = blocked ? 0 : compose(base_.character, d.character);
    if (composed != 0) {
      base_ = {composed, base_.change + change - 1};
    } else if (d.combining == 0) {
      flush();
      base_ = {d.character, change};
      has_base_ = true;
    } else {
      marks_.push_back({d.character, change});
      last_class_ = d.combining;
    }
  }

  void flush() {
    if (has_base_) out_.put(base_.character, base_.change);
    for (const Pending& mark : marks_) out_.put(mark.character, mark.change);
    marks_.clear();
    has_base_ = false;
  }

 private:
  struct Pending {
    char32_t character;
    int change;
  };
  Rewriter& out_;
  Pending base_{};
  bool has_base_ = false;
  std::vector<Pending> marks_;  // that did not compose with the base
  uint8_t last_class_ = 0;
};

}  // namespace

void NormalizedText::assign(std::string_view original) {
  text_ = original;
  moved_ = false;
  begin_ = 0;
  end_ = static_cast<uint32_t>(original.size());
}

void NormalizedText::assign(const NormalizedText& other, uint32_t begin, uint32_t end) {
  const Span part = other.original(begin, end);
  text_.assign(other.text_, begin, end - begin);
  moved_ = other.moved_;
  if (moved_) spans_.assign(other.spans_.begin() + begin, other.spans_.begin() + end);
  begin_ = part.begin;
  end_ = part.end;
}

Span NormalizedText::span_at(size_t byte) const {
  if (moved_) return spans_[byte];
  size_t first = byte;
  while (is_continuation(text_[first])) --first;
  const auto begin = static_cast<uint32_t>(begin_ + first);
  return {begin, begin + static_cast<uint32_t>(character_size(text_[first]))};
}

Span NormalizedText::original(uint32_t begin, uint32_t end) const {
  if (begin >= end) return {begin_ + begin, begin_ + end};
  return {span_at(begin).begin, span_at(end - 1).end};
}

void NormalizedText::make_spans() {
  if (moved_) return;
  spans_.resize(text_.size());
  for (size_t at = 0; at < text_.size();) {
    const size_t size = character_size(text_[at]);
    const auto begin = static_cast<uint32_t>(begin_ + at);
    for (size_t i = 0; i < size; ++i) spans_[at++] = {begin, begin + static_cast<uint32_t>(size)};
  }
  moved_ = true;
}

void NormalizedText::map(FunctionRef<char32_t(char32_t)> f) {
  // As long as sizes stay, so do places.
  for (size_t at = 0; at < text_.size();) {
    const size_t begin = at;
    const char32_t c = next_character(text_, at);
    const char32_t to = f(c);
    if (to == c) continue;
    if (utf8_size(to) == at - begin) {
      text_.replace(begin, at - begin, to_utf8(to));
      continue;
    }
    Rewriter rewriter(*this);
    for (size_t i = 0; i < text_.size();) {
      const char32_t old = next_character(text_, i);
      // What stands before `begin` has been mapped already.
      rewriter.put(i <= begin ? old : f(old), 0);
    }
    rewriter.finish();
    return;
  }
}

void NormalizedText::filter(FunctionRef<bool(char32_t)> keep) {
  size_t at = 0;
  while (at < text_.size()) {
    size_t next = at;
    if (!keep(next_character(text_, next))) break;
    at = next;
  }
  if (at == text_.size()) return;
  std::vector<std::pair<char32_t, int>> kept;
  size_t skipped = 0;
  for (size_t i = 0; i < text_.size();) {
    const char32_t c = next_character(text_, i);
    if (keep(c)) {
      kept.emplace_back(c, 0);
    } else if (kept.empty()) {
      ++skipped;
    } else {
      --kept.back().second;
    }
  }
  Rewriter rewriter(*this, skipped);
  for (const auto& [c, change] : kept) rewriter.put(c, change);
  rewriter.finish();
}

void NormalizedText::lowercase() {
  constexpr char32_t kDottedI = 0x130;  // the one letter whose lower case is two characters
  if (text_.find("\xC4\xB0") == std::string::npos) {
    map([](char32_t c) { return to_lower(c); });
    return;
  }
  Rewriter rewriter(*this);
  for (size_t at = 0; at < text_.size();) {
    const char32_t c = next_character(text_, at);
    rewriter.put(c == kDottedI ? U'i' : to_lower(c), 0);
    if (c == kDottedI) rewriter.put(0x307, 1);
  }
  rewriter.finish();
}

void NormalizedText::normalize(bool compose, bool compatible) {
  // Composition only touches what follows a mark or a Hangul jamo; those count as `kNormalises`
  // by their class, or are found here.
  bool changes = false;
  for (size_t at = 0; at < text_.size() && !changes;) {
    const char32_t c = next_character(text_, at);
    changes = c >= 0x80 &&
              (has_flag(c, kNormalises) || (c >= 0x1100 && c <= 0x11FF) || has_flag(c, kMark));
  }
  if (!changes) return;
  Rewriter rewriter(*this);
  const std::vector<Decomposed> parts = decompose_text(text_, compatible);
  if (compose) {
    Composer composer(rewriter);
    for (const Decomposed& part : parts) composer.put(part);
    composer.flush();
    // Taken apart and put together again as it was, the usual case: no place has moved either.
    if (!rewriter.changes()) return;
  } else {
    for (const Decomposed& part : parts) rewriter.put(part.character, part.first ? 0 : 1);
  }
  rewriter.finish();
}

void NormalizedText::prepend(std::string_view prefix) {
  if (text_.empty() || prefix.empty()) return;
  const Span first = span_at(0);
  make_spans();
  text_.insert(0, prefix);
  spans_.insert(spans_.begin(), prefix.size(), first);
}

void NormalizedText::strip(bool left, bool right) {
  size_t begin = 0;
  size_t end = text_.size();
  while (left && begin < end) {
    size_t next = begin;
    if (!is_space(next_character(text_, next))) break;
    begin = next;
  }
  while (right && end > begin) {
    const char32_t c = last_character(std::string_view(text_).substr(0, end));
    if (!is_space(c)) break;
    end -= utf8_size(c);
  }
  if (begin == 0 && end == text_.size()) return;
  make_spans();
  text_.erase(end);
  text_.erase(0, begin);
  spans_.erase(spans_.begin() + static_cast<std::ptrdiff_t>(end), spans_.end());
  spans_.erase(spans_.begin(), spans_.begin() + static_cast<std::ptrdiff_t>(begin));
}

void NormalizedText::spell_bytes() {
  Rewriter rewriter(*this);
  for (const char byte : text_)
    rewriter.put(byte_to_character(static_cast<unsigned char>(byte)),
                 is_continuation(byte) ? 1 : 0);
  rewriter.finish();
}

void NormalizedText::replace(const std::vector<Span>& matches, std::string_view content) {
  if (matches.empty()) return;
  std::string text;
  std::vector<Span> spans;
  make_spans();
  text.reserve(text_.size());
  spans.reserve(text_.size());
  size_t done = 0;
  const auto keep = [&](size_t end) {
    text.append(text_, done, end - done);
    spans.insert(spans.end(), spans_.begin() + static_cast<std::ptrdiff_t>(done),
                 spans_.begin() + static_cast<std::ptrdiff_t>(end));
  };
  for (const Span& match : matches) {
    keep(match.begin);
    const Span place = match.end == 0 ? Span{begin_, begin_} : spans_[match.end - 1];
    text += content;
    spans.insert(spans.end(), content.size(), place);
    done = match.end;
  }
  keep(text_.size());
  text_ = std::move(text);
  spans_ = std::move(spans);
}

Rewriter::Rewriter(NormalizedText& text, size_t skipped) : old_(text) {
  text_.reserve(old_.text_.size());
  spans_.reserve(old_.text_.size());
  consume(skipped);
}

void Rewriter::consume(size_t characters) {
  for (; characters > 0 && at_ < old_.text_.size(); --characters)
    at_ += character_size(old_.text_[at_]);
}

void Rewriter::put(char32_t c, int change) {
  Span place{old_.begin_, old_.begin_};
  const bool fresh = change > 0 || at_ >= old_.text_.size();
  if (!fresh) {
    place = old_.span_at(at_);
  } else if (at_ > 0) {
    place = old_.span_at(at_ - 1);
  }
  if (change <= 0) consume(1 + static_cast<size_t>(-change));
  append_utf8(text_, c);
  spans_.resize(text_.size(), place);
}

void Rewriter::finish() {
  old_.text_ = std::move(text_);
  old_.spans_ = std::move(spans_);
  old_.moved_ = true;
}

}  // namespace glassformer
