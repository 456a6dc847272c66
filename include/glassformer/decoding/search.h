#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "glassformer/decoding/beam_tree.h"
#include "glassformer/decoding/options.h"

namespace glassformer {

class TokenVocabulary;

// The next token of a live hypothesis.
struct Continuation {
  int32_t parent;  // index of the live hypothesis that it continues
  int32_t token;
  bool operator==(const Continuation&) const = default;
};

// What the model says about the live hypotheses, in the order in which advance() gave them.
struct StepScores {
  std::span<float> logits;  // [live × vocabulary]; overwritten
  // [live × source length]: how the step attends to the source, each row with sum 1. Only where
  // wants_attention().
  std::span<const float> attention = {};
};

enum class FinishReason : uint8_t {
  kEos,
  kLength,      // the longest allowed
  kStopString,  // Hypothesis::stop_string was said
  kStopped,     // stop() was called
  kDeadEnd      // constraints left no token that could follow
};

struct Hypothesis {
  std::vector<int64_t> ids = {};         // without the prompt; an end-of-sequence id is kept
  std::vector<float> token_scores = {};  // log-probabilities after the processors, one an id
  float score = 0;                       // sum of token_scores / ids^length_penalty (+ coverage)
  FinishReason reason = FinishReason::kLength;
  std::string stop_string = {};  // kStopString: which
};

struct SearchInput {
  std::vector<int64_t> prompt;       // what the decoder starts with: a text, or decoder start ids
  std::vector<int64_t> source = {};  // of an encoder–decoder, for penalties that look at it
  int64_t vocabulary_size = 0;
  int64_t max_positions = 0;  // the longest prompt with new tokens that the model takes; 0: any
  // The bytes of tokens. Needed for stop strings and constrained output; must outlive the search.
  const TokenVocabulary* vocabulary = nullptr;
  // The new tokens begin a text (an encoder–decoder), so a tokenizer that drops the first space
  // drops it there.
  bool begins_text = false;
};

// One request's search, a state machine: it starts with one live hypothesis, the prompt. Whoever
// runs the model hands the logits after each live hypothesis to advance(). It sees nothing of other
// requests, so results cannot depend on what else is in a batch.
class Search {
 public:
  Search() = default;
  Search(const Search&) = delete;
  Search& operator=(const Search&) = delete;
  virtual ~Search() = default;

  // The next live hypotheses; empty when the search has ended. What is returned is valid until the
  // next call. Throws ShapeError where the scores do not fit the live hypotheses.
  virtual std::span<const Continuation> advance(const StepScores& scores) = 0;
  // Ends the search: what is there becomes a result.
  virtual void stop() = 0;
  // What has ended so far. Beams: best first. Sampled: in the order of the draws.
  virtual std::vector<Hypothesis> results() const = 0;
  virtual bool wants_attention() const { return false; }
  // Empty unless GenerationOptions::return_tree.
  virtual const BeamTree& tree() const = 0;
};

// Throws ValueError for options that contradict each other or the input, and for constraints that
// cannot be compiled.
std::unique_ptr<Search> make_search(const GenerationOptions& options, const SearchInput& input);

// How many new tokens the options allow after this prompt.
int64_t max_new_tokens(const GenerationOptions& options, const SearchInput& input);

// Forced decoding: the score of a given target from the logits before each of its tokens,
// [target × vocabulary]: token_scores are the model's own log-probabilities.
Hypothesis score_target(std::span<const float> logits, std::span<const int64_t> target,
                        double length_penalty = 1);

}  // namespace glassformer
