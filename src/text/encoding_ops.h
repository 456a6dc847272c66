#pragma once

#include <string>
#include <vector>

#include "glassformer/text/encoding.h"
#include "glassformer/text/tokenizer.h"

namespace glassformer {

// Leading and trailing spaces of a token's spelling.
struct Blanks {
  uint16_t leading = 0;
  uint16_t trailing = 0;
};

// An encoding as the model leaves it, before special tokens.
struct EncodingDraft {
  Encoding encoding;
  std::vector<Blanks> blanks;  // only where some processor trims offsets
};

// Counts spaces, and the character that stands for one in GPT-2's alphabet.
Blanks count_blanks(std::string_view spelling);

// Moves offsets past the spaces of their tokens. `prefix_space`: one space before the first word
// was added by the tokenizer, and is not in the text.
void trim_offsets(Encoding& encoding, const Blanks* blanks, bool prefix_space);

// Tokens [begin, end), without overflow.
Encoding slice(const Encoding& encoding, size_t begin, size_t end);

// Adds a token that stands for no text.
void add_special(Encoding& encoding, int64_t id, const std::string& token, int64_t type_id,
                 bool with_tokens);

// `more` after `encoding`. Overflow of either is combined with all parts of the other.
void append(Encoding& encoding, const Encoding& more);

// The windows of at most `longest` tokens, `stride` of them shared: the one that is kept, then the
// overflow.
std::vector<TextRange> truncation_windows(size_t size, size_t longest, size_t stride, Side side);

// How many tokens of a text and of its pair are kept. Throws ValueError where the strategy cannot
// reach the length.
struct KeptLengths {
  size_t first, second;
};
KeptLengths truncated_lengths(size_t first, size_t second, bool is_pair,
                              const Truncation& truncation, size_t added);

// Overflow included.
void pad(Encoding& encoding, size_t length, const Padding& padding, bool with_tokens);
size_t padded_length(size_t longest, const Padding& padding);

}  // namespace glassformer
