#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "decoding/processor.h"

namespace glassformer {

struct Ending {
  FinishReason reason;
  std::string stop_string = {};
};

// Says whether a hypothesis ends with a token.
class Endings {
 public:
  // Throws ValueError where stop strings are asked for and the bytes of tokens are not there.
  Endings(const GenerationOptions& options, const SearchInput& input);

  // ids: the hypothesis before the token, prompt included.
  std::optional<Ending> after(std::span<const int64_t> ids, int64_t token);
  const Lengths& lengths() const { return lengths_; }

 private:
  // The stop string that the new text has, and had not before the token: the one that begins first.
  const std::string* stop_string(std::span<const int64_t> said, int64_t token);

  Lengths lengths_;
  TokenIds eos_;
  std::vector<std::string> stop_strings_;
  size_t longest_ = 0;
  const TokenVocabulary* vocabulary_;
  std::string tail_;  // scratch
};

}  // namespace glassformer
