#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace glassformer {

// A range of a text: [begin, end).
struct TextRange {
  uint32_t begin = 0;
  uint32_t end = 0;
  bool operator==(const TextRange&) const = default;
};

// A text as a model takes it: one element a token in each list.
struct Encoding {
  std::vector<int64_t> ids;
  std::vector<int64_t> type_ids;             // which of a pair of texts
  std::vector<int64_t> attention_mask;       // 0 where it is padding
  std::vector<int64_t> special_tokens_mask;  // 1 where no text stands behind it
  std::vector<TextRange> offsets;            // what part of its text it stands for
  std::vector<int64_t> words;                // the piece of the text it came from, or -1
  std::vector<std::string> tokens;           // only when asked for: EncodeOptions::tokens
  // What truncation cut off, in windows of the same length.
  std::vector<Encoding> overflowing;

  size_t size() const { return ids.size(); }
};

}  // namespace glassformer
