#include "decoding/single_search.h"

#include <cmath>

#include "decoding/sampling.h"
#include "decoding/scores.h"
#include "decoding/select.h"
#include "kernels/host_log_softmax.h"

namespace glassformer {

SingleSearch::SingleSearch(const GenerationOptions& options, const SearchInput& input)
    : options_(options),
      vocabulary_(static_cast<size_t>(input.vocabulary_size)),
      endings_(options, input),
      processors_(make_processors(options, input)) {
  // What is allowed may be far more than what is said.
  constexpr int64_t kReserved = 4096;
  const auto reserved = static_cast<size_t>(std::min(endings_.lengths().max, kReserved));
  lines_.resize(static_cast<size_t>(options.num_return_sequences));
  for (size_t i = 0; i < lines_.size(); ++i) {
    lines_[i].ids = input.prompt;
    lines_[i].ids.reserve(reserved);
    lines_[i].token_scores.reserve(reserved);
    live_.push_back(static_cast<int32_t>(i));
  }
  continuations_.reserve(lines_.size());
  if (options.do_sample) weights_.resize(vocabulary_);
}

std::span<const Continuation> SingleSearch::advance(const StepScores& scores) {
  // Before the first step all lines are the prompt.
  const size_t rows = started_ ? live_.size() : 1;
  check_scores(scores, rows, vocabulary_);
  continuations_.clear();
  size_t kept = 0;
  for (size_t i = 0; i < live_.size(); ++i) {
    const size_t row_index = started_ ? i : 0;
    const auto row = scores.logits.subspan(row_index * vocabulary_, vocabulary_);
    const auto index = static_cast<size_t>(live_[i]);
    Line& line = lines_[index];
    if (started_ || i == 0) {
      apply(processors_, row, line.ids);
      prepare(row);
    }
    const Choice choice = choose(row, index);
    if (choice.token < 0) {
      line.ending = Ending{FinishReason::kDeadEnd};
      continue;
    }
    line.ending = endings_.after(line.ids, choice.token);
    line.ids.push_back(choice.token);
    line.token_scores.push_back(choice.log_probability);
    if (options_.return_tree) add_node(line, index, choice);
    if (line.ending) continue;
    continuations_.push_back({static_cast<int32_t>(row_index), choice.token});
    live_[kept++] = static_cast<int32_t>(index);
  }
  live_.resize(kept);
  started_ = true;
  if (options_.return_tree && live_.empty())
    for (const Line& line : lines_) tree_.results.push_back(line.node);
  return continuations_;
}

void SingleSearch::prepare(std::span<const float> row) {
  if (!options_.do_sample) {
    const LogSum sum = log_sum_exp(row);
    max_ = sum.max;
    log_sum_ = sum.log_sum;
    return;
  }
  max_ = row_max(row);
  weights_.assign(row.begin(), row.end());
  weight_sum_ = exp_in_place(weights_, max_);
  log_sum_ = static_cast<float>(std::log(weight_sum_));
}

SingleSearch::Choice SingleSearch::choose(std::span<const float> row, size_t line) {
  if (max_ == -std::numeric_limits<float>::infinity()) return {-1, 0};
  const size_t step = lines_[line].token_scores.size();
  const int32_t token = options_.do_sample
                            ? draw(weights_, weight_sum_, uniform({options_.seed, line}, step))
                            : argmax(row);
  return {token, (row[static_cast<size_t>(token)] - max_) - log_sum_};
}

void SingleSearch::add_node(Line& line, size_t index, const Choice& choice) {
  const float before = line.node < 0 ? 0 : tree_.nodes[static_cast<size_t>(line.node)].score;
  tree_.nodes.push_back({.parent = line.node,
                         .step = static_cast<int32_t>(line.token_scores.size()) - 1,
                         .group = static_cast<int32_t>(index),
                         .token = choice.token,
                         .token_score = choice.log_probability,
                         .score = line.ending
                                      ? total_score(line.token_scores, options_.length_penalty)
                                      : before + choice.log_probability,
                         .fate = line.ending ? BeamTree::Fate::kFinished : BeamTree::Fate::kKept});
  line.node = static_cast<int32_t>(tree_.nodes.size()) - 1;
}

void SingleSearch::stop() {
  for (const int32_t index : live_)
    lines_[static_cast<size_t>(index)].ending = Ending{FinishReason::kStopped};
  if (options_.return_tree && !live_.empty())
    for (const Line& line : lines_) tree_.results.push_back(line.node);
  live_.clear();
}

std::vector<Hypothesis> SingleSearch::results() const {
  std::vector<Hypothesis> results;
  for (const Line& line : lines_) {
    if (!line.ending) continue;
    results.push_back({.ids = {line.ids.begin() + endings_.lengths().prompt, line.ids.end()},
                       .token_scores = line.token_scores,
                       .score = total_score(line.token_scores, options_.length_penalty),
                       .reason = line.ending->reason,
                       .stop_string = line.ending->stop_string});
  }
  return results;
}

}  // namespace glassformer
