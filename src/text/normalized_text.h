#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/parallel.h"

namespace glassformer {

// A range of bytes of the original text.
struct Span {
  uint32_t begin = 0;
  uint32_t end = 0;
};

// A text on its way from the original to what a model reads, and for each of its bytes the bytes of
// the original that it stands for. While nothing has moved a byte (the usual case) there is no
// table: byte i stands for the character of the original at i + begin.
class NormalizedText {
 public:
  // All of `original`, as it is. Memory is used again.
  void assign(std::string_view original);
  // Bytes [begin, end) of `other`.
  void assign(const NormalizedText& other, uint32_t begin, uint32_t end);

  std::string_view view() const { return text_; }
  bool empty() const { return text_.empty(); }
  // What bytes [begin, end) of this text stand for. An empty range stands for itself.
  Span original(uint32_t begin, uint32_t end) const;

  // Replaces every character by one of the same position: f(c) for each.
  void map(FunctionRef<char32_t(char32_t)> f);
  // Keeps the characters for which keep(c).
  void filter(FunctionRef<bool(char32_t)> keep);
  void lowercase();
  // Unicode's normal forms.
  void normalize(bool compose, bool compatible);
  // `prefix` before the first character, sharing its place; nothing where the text is empty.
  void prepend(std::string_view prefix);
  void strip(bool left, bool right);
  // Each byte becomes its character of GPT-2's alphabet.
  void spell_bytes();
  // Each range of `matches` (sorted, apart) becomes `content`, at the place of its last byte.
  void replace(const std::vector<Span>& matches, std::string_view content);

 private:
  friend class Rewriter;

  Span span_at(size_t byte) const;
  void make_spans();

  std::string text_;
  bool moved_ = false;       // whether spans_ is in use
  std::vector<Span> spans_;  // of each byte
  uint32_t begin_ = 0;       // the part of the original that this text is made of
  uint32_t end_ = 0;
};

// Writes a text anew, character by character. Each says how it relates to the characters of the old
// text, which are used up from the front:
//    0  it stands for the next one
//    1  it is new, and shares the place of the one before
//   -n  it stands for the next one, and the n after that are dropped
class Rewriter {
 public:
  // `skipped`: characters dropped at the very front.
  explicit Rewriter(NormalizedText& text, size_t skipped = 0);
  void put(char32_t c, int change);
  // Whether the new text is another one so far.
  bool changes() const { return text_ != old_.text_; }
  // Hands the new text over.
  void finish();

 private:
  void consume(size_t characters);

  NormalizedText& old_;
  size_t at_ = 0;  // the next character of the old text
  std::string text_;
  std::vector<Span> spans_;
};

}  // namespace glassformer
