#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "glassformer/text/tokenizer.h"
#include "text/added_tokens.h"
#include "text/decoder.h"
#include "text/model.h"
#include "text/normalizer.h"
#include "text/post_processor.h"
#include "text/pre_tokenizer.h"

namespace glassformer {

// Memory that one call of encode() works in.
struct Scratch {
  ModelScratch model;
  Pieces pieces;
  std::vector<PieceToken> tokens;
  std::vector<uint32_t> characters;  // of each byte of the text, the number of its character
};

// Keeps Scratches, so that a call finds warm memory and a filled cache whatever thread it is on.
class ScratchPool {
 public:
  std::unique_ptr<Scratch> take() const {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) return std::make_unique<Scratch>();
    auto scratch = std::move(free_.back());
    free_.pop_back();
    return scratch;
  }
  void give_back(std::unique_ptr<Scratch> scratch) const {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(scratch));
  }

 private:
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Scratch>> free_;
};

// The steps of a tokenizer, in the order in which text passes them. All but the model may be null.
struct Tokenizer::Parts {
  std::unique_ptr<Normalizer> normalizer;
  std::unique_ptr<PreTokenizer> pre_tokenizer;
  std::unique_ptr<PieceModel> model;
  std::unique_ptr<PostProcessor> post_processor;
  std::unique_ptr<Decoder> decoder;
  AddedTokens added;
  std::optional<Truncation> truncation;
  std::optional<Padding> padding;
  SpecialIds special;
  std::map<std::string, std::string>
      role_tokens;            // bos_token, eos_token, ...: as templates see them
  std::string chat_template;  // empty where there is none
  ScratchPool scratch;
};

// The parts that a tokenizer.json describes. Throws FileError.
// The text of a tokenizer.json, its vocabulary and merges as flat tables.
Json parse_tokenizer_json(std::string_view text, std::string_view where);
std::unique_ptr<Tokenizer::Parts> read_tokenizer_json(const Json& json, const std::string& where);

}  // namespace glassformer
