#pragma once

#include <optional>
#include <vector>

#include "glassformer/decoding/engine.h"

namespace glassformer {

// A request under way: its search, and the kept sequences of its live hypotheses.
struct Running {
  int64_t number = 0;
  GenerationRequest request;
  SearchInput input;
  Engine::Need need{};
  std::unique_ptr<Search> search = {};
  std::optional<CacheSequence> source = {};

  std::vector<CacheSequence> live = {};
  std::vector<TokenIds> ids = {};  // of each: what is not in its sequence yet
  TokenIds said = {};              // of a single one: the prompt and all tokens after it
  size_t told = 0;                 // new tokens that on_token knows of
  bool ended = false;

  // One hypothesis, whose tokens can be told and guessed.
  bool single() const {
    return request.options.num_beams == 1 && request.options.num_return_sequences == 1;
  }
  // Moves on to the next live hypotheses, which the search chose.
  void follow(std::span<const Continuation> next);
  // Of a single hypothesis whose ids after the first are guesses, with a row of logits after each
  // of them: searches and moves on as far as the guesses were right.
  void follow_guesses(std::span<float> logits);
  // Tells on_token what is new; ends the request where it has had enough.
  void tell();
  // Ends it: what is there becomes the result.
  void stop();
  GenerationResult result() const;
};

}  // namespace glassformer
