#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "glassformer/text/chat_template.h"
#include "glassformer/text/encoding.h"
#include "glassformer/text/vocabulary_data.h"

namespace glassformer {

enum class Side { kLeft, kRight };

// Cuts what is longer than max_length tokens, special ones included.
struct Truncation {
  enum class Strategy { kLongestFirst, kOnlyFirst, kOnlySecond };
  size_t max_length = 512;
  Strategy strategy = Strategy::kLongestFirst;
  size_t stride = 0;         // tokens that neighbouring windows of the overflow share
  Side side = Side::kRight;  // that is cut
};

// Fills up to `length` tokens, or to the longest of a batch where there is no length.
struct Padding {
  std::optional<size_t> length = {};
  size_t multiple_of = 0;  // lengths are rounded up to a multiple of it; 0 does not
  Side side = Side::kRight;
  int64_t id = 0;
  int64_t type_id = 0;
  std::string token = "[PAD]";
};

struct EncodeOptions {
  bool special_tokens = true;  // [CLS], <s>, ... as the tokenizer says
  bool split_special = false;  // special tokens in the text are text like any other
  bool tokens = false;         // fill Encoding::tokens
  enum class Offsets { kBytes, kCharacters } offsets = Offsets::kBytes;
  // The truncation and padding that tokenizer.json asks for, where the two below say nothing.
  bool file_settings = true;
  std::optional<Truncation> truncation;
  std::optional<Padding> padding;
};

// Ids of the tokens with a role, where there are such.
struct SpecialIds {
  std::optional<int64_t> bos, eos, unk, sep, pad, cls, mask;
};

// Text to ids and back, as Hugging Face's `tokenizers` does it, id for id. Copies share what was
// loaded; const methods may run on many threads at once.
class Tokenizer {
 public:
  struct Parts;  // private, in src/text

  // A model folder, with its tokenizer in any of the layouts that Hugging Face has had:
  // tokenizer.json; vocab.txt; vocab.json with merges.txt; a SentencePiece model; Marian's pair of
  // them. Or one such file. `target`: for text in the target language, where a translation model
  // has a tokenizer of its own for it. Throws FileError.
  static Tokenizer open(const std::filesystem::path& path, bool target = false);
  // The text of a tokenizer.json; `where` names it in messages.
  static Tokenizer from_json(std::string_view json, const std::string& where);

  // The vocabulary of a GGUF file; `where` names it in messages. Throws FileError.
  static Tokenizer from_vocabulary(const VocabularyData& data, const std::string& where);

  // What is no UTF-8 is read as U+FFFD. Throws ValueError for text over 1 GiB, for a character that
  // has no token where the tokenizer has none for the unknown, and for truncation that cannot be
  // done.
  Encoding encode(std::string_view text, const EncodeOptions& options = {}) const;
  Encoding encode(std::string_view text, std::string_view pair,
                  const EncodeOptions& options = {}) const;
  // On all threads; padded to the same length where padding is asked for. `pairs` is empty or as
  // long as `texts`.
  std::vector<Encoding> encode_batch(std::span<const std::string> texts,
                                     const EncodeOptions& options = {}) const;
  std::vector<Encoding> encode_batch(std::span<const std::string> texts,
                                     std::span<const std::string> pairs,
                                     const EncodeOptions& options = {}) const;

  // The text of `ids`; those that are no token are passed over.
  std::string decode(std::span<const int64_t> ids, bool skip_special = true) const;

  std::optional<int64_t> token_to_id(std::string_view token) const;
  std::optional<std::string> id_to_token(int64_t id) const;
  // The bytes that the token adds to a text in the middle of which it stands; they need not be
  // whole characters. Empty for special tokens and ids that are none.
  std::string token_bytes(int64_t id) const;
  // Tokens, added ones included.
  size_t vocabulary_size() const;
  bool is_special(int64_t id) const;
  const SpecialIds& special_ids() const;
  // How a conversation is written for this model. Throws FileError where there is no template, or
  // one that does not parse.
  ChatTemplate chat_template() const;
  bool has_chat_template() const;

 private:
  explicit Tokenizer(std::shared_ptr<const Parts> parts);
  std::shared_ptr<const Parts> parts_;
};

}  // namespace glassformer
