#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace glassformer {

// A tokenizer as a GGUF file holds it: plain lists, under the names of its metadata
// (tokenizer.ggml.*). Tokenizer::from_vocabulary() makes a tokenizer of it.
struct VocabularyData {
  std::string model;                // "gpt2", "llama", "bert" or "t5"
  std::string pre;                  // how text is cut before byte-pair encoding: "llama-bpe", ...
  std::vector<std::string> tokens;  // in the order of their ids
  std::vector<float> scores;        // one a token, or none
  std::vector<int32_t> types;  // 1 normal, 2 unknown, 3 control, 4 user-defined, 5 unused, 6 byte
  std::vector<std::string> merges;  // "left right", in the order of their rank
  std::optional<int64_t> bos, eos, unk, sep, pad, cls, mask;
  std::optional<bool> add_bos, add_eos;  // special tokens around a text
  std::optional<bool> add_space_prefix;  // a space before the first word
  std::optional<bool> remove_extra_spaces;
  std::string charsmap;  // SentencePiece's rules of normalisation
  std::string chat_template;
};

}  // namespace glassformer
