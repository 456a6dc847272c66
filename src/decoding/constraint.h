#pragma once

#include <memory>
#include <string>
#include <unordered_map>

#include "decoding/automaton.h"
#include "decoding/processor.h"
#include "glassformer/decoding/token_vocabulary.h"

namespace glassformer {

// Lets through the tokens after which the new text can still become one of the pattern's, and the
// end of the sequence where it is one.
class Constraint : public LogitsProcessor {
 public:
  // The vocabulary must outlive this.
  Constraint(const PatternPtr& pattern, const TokenVocabulary& vocabulary, TokenIds eos,
             size_t prompt);
  void apply(std::span<float> scores, std::span<const int64_t> ids) override;

 private:
  using Mask = std::vector<uint64_t>;  // a bit a token
  const Mask& mask_of(int32_t state);

  Automaton automaton_;
  const TokenVocabulary& vocabulary_;
  TokenIds eos_;
  size_t prompt_;
  std::unordered_map<int32_t, Mask> masks_;  // by state; emptied when there are many
  std::vector<int32_t> path_;                // scratch: states along a token
};

// What GenerationOptions::regex or json_schema asks for. Throws ValueError.
void add_constraint(ProcessorChain& chain, const GenerationOptions& options,
                    const SearchInput& input);

}  // namespace glassformer
