#pragma once

#include "decoding/endings.h"
#include "decoding/processor.h"
#include "decoding/required_words.h"
#include "decoding/select.h"

namespace glassformer {

// Beam search with the rules of Hugging Face's generate(): at each step the (1 + ends of sequence)
// · width best continuations are looked at; of those, the ones among the first `width` that end
// become results, and the first `width` that do not end live on.
//
// With groups, each is a beam of its own of num_beams / groups, and the later ones are penalised
// for tokens that the earlier ones chose in the same step. With required words, continuations that
// bring a phrase further compete too, and each stage of progress keeps its share of the beam.
class BeamSearch : public Search {
 public:
  BeamSearch(const GenerationOptions& options, const SearchInput& input);

  std::span<const Continuation> advance(const StepScores& scores) override;
  void stop() override;
  std::vector<Hypothesis> results() const override;
  bool wants_attention() const override { return options_.coverage_penalty > 0; }
  const BeamTree& tree() const override { return tree_; }

 private:
  // A live hypothesis.
  struct Branch {
    std::vector<int64_t> ids;  // prompt included
    std::vector<float> token_scores;
    std::vector<float> coverage;  // attention on each token of the source so far
    float score = 0;              // sum of token_scores
    int32_t node = -1;
  };
  struct Finished {
    Hypothesis hypothesis;
    bool complete;  // has said all required words
    int32_t node;
  };
  struct Group {
    std::vector<Branch> live;
    std::vector<Finished> finished;  // best first, at most `width_`
  };
  // A continuation that was looked at.
  struct Choice {
    float score;        // of the whole
    float token_score;  // of the token
    int32_t parent;     // in the group
    int32_t token;
  };

  std::span<float> row_of(const StepScores& scores, size_t row);
  void step(size_t index, const StepScores& scores, size_t first_row);
  void add_coverage(Group& group, const StepScores& scores, size_t first_row) const;
  std::vector<Choice> best_choices(const Group& group, const StepScores& scores, size_t first_row);
  // Sorts choices into those that end and those that live on, which it returns.
  std::vector<Choice> settle(Group& group, size_t index, const std::vector<Choice>& choices);
  // Lets choices that bring required words further take part.
  void push_required(const Group& group, const StepScores& scores, size_t first_row,
                     std::vector<Choice>& choices);
  Branch follow(const Branch& parent, const Choice& choice) const;
  void finish(Group& group, Branch branch, Ending ending);
  bool is_done(const Group& group) const;
  int32_t add_node(size_t group, const Branch& parent, const Choice& choice, BeamTree::Fate fate);
  std::vector<const Finished*> best() const;

  GenerationOptions options_;
  size_t vocabulary_, width_, prompt_;
  size_t source_ = 0;  // length, where the coverage counts
  Endings endings_;
  ProcessorChain processors_;
  std::optional<RequiredWords> required_;
  std::vector<Group> groups_;
  size_t steps_ = 0;
  std::vector<int32_t> chosen_now_;  // tokens that earlier groups chose in this step
  std::vector<Continuation> continuations_;
  TopCandidates top_;
  std::vector<float> shared_row_, noisy_row_;
  BeamTree tree_;
};

}  // namespace glassformer
