#include "decoding/beam_search.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "decoding/sampling.h"
#include "decoding/scores.h"
#include "kernels/host_log_softmax.h"

namespace glassformer {
namespace {

bool same_continuation(const auto& a, const auto& b) {
  return a.parent == b.parent && a.token == b.token;
}

}  // namespace

BeamSearch::BeamSearch(const GenerationOptions& options, const SearchInput& input)
    : options_(options),
      vocabulary_(static_cast<size_t>(input.vocabulary_size)),
      width_(static_cast<size_t>(options.num_beams / options.num_beam_groups)),
      prompt_(input.prompt.size()),
      source_(options.coverage_penalty > 0 ? input.source.size() : 0),
      endings_(options, input),
      processors_(make_processors(options, input)) {
  if (!options.force_words_ids.empty()) required_.emplace(options.force_words_ids);
  groups_.resize(static_cast<size_t>(options.num_beam_groups));
  for (Group& group : groups_) {
    group.live.resize(1);
    group.live[0].ids = input.prompt;
    group.live[0].coverage.assign(source_, 0);
  }
}

std::span<const Continuation> BeamSearch::advance(const StepScores& scores) {
  size_t rows = 0;
  for (const Group& group : groups_) rows += group.live.size();
  if (steps_ == 0) rows = 1;  // the prompt of all groups
  check_scores(scores, rows, vocabulary_);
  require<ShapeError>(scores.attention.size() >= rows * source_,
                      "advance: expected attention of {} live hypotheses × {} tokens of the "
                      "source, found {} numbers",
                      rows, source_, scores.attention.size());
  continuations_.clear();
  chosen_now_.clear();
  size_t first_row = 0;
  for (size_t g = 0; g < groups_.size(); ++g) {
    const size_t live = groups_[g].live.size();
    if (live > 0) step(g, scores, first_row);
    if (steps_ > 0) first_row += live;
  }
  ++steps_;
  if (continuations_.empty() && options_.return_tree)
    for (const Finished* one : best()) tree_.results.push_back(one->node);
  return continuations_;
}

// At the first step all groups read the one row, which processing changes.
std::span<float> BeamSearch::row_of(const StepScores& scores, size_t row) {
  const auto logits = scores.logits.subspan(row * vocabulary_, vocabulary_);
  if (steps_ > 0 || groups_.size() == 1) return logits;
  shared_row_.assign(logits.begin(), logits.end());
  return shared_row_;
}

void BeamSearch::step(size_t index, const StepScores& scores, size_t first_row) {
  Group& group = groups_[index];
  add_coverage(group, scores, first_row);
  const std::vector<Choice> choices = best_choices(group, scores, first_row);
  std::vector<Choice> kept = settle(group, index, choices);
  std::vector<Choice> dropped;
  const auto trim = [&] {
    if (kept.size() <= width_) return;
    dropped.insert(dropped.end(), kept.begin() + static_cast<ptrdiff_t>(width_), kept.end());
    kept.resize(width_);
  };
  trim();
  if (required_) push_required(group, scores, first_row, kept);
  trim();

  std::vector<Branch> next;
  for (const Choice& choice : kept) {
    next.push_back(follow(group.live[static_cast<size_t>(choice.parent)], choice));
    if (options_.return_tree)
      next.back().node = add_node(index, group.live[static_cast<size_t>(choice.parent)], choice,
                                  BeamTree::Fate::kKept);
    chosen_now_.push_back(choice.token);
  }
  if (options_.return_tree)
    for (const Choice& choice : dropped)
      add_node(index, group.live[static_cast<size_t>(choice.parent)], choice,
               BeamTree::Fate::kDropped);
  if (next.empty() && group.finished.empty())
    for (Branch& branch : group.live) finish(group, std::move(branch), {FinishReason::kDeadEnd});
  group.live = std::move(next);
  if (static_cast<int64_t>(prompt_ + steps_ + 1) >= endings_.lengths().max)
    for (Branch& branch : group.live) finish(group, std::move(branch), {FinishReason::kLength});
  if (is_done(group)) {
    group.live.clear();
    return;
  }
  for (const Choice& choice : kept)
    continuations_.push_back({static_cast<int32_t>(first_row) + choice.parent, choice.token});
}

void BeamSearch::add_coverage(Group& group, const StepScores& scores, size_t first_row) const {
  for (size_t i = 0; i < group.live.size(); ++i)
    for (size_t j = 0; j < source_; ++j)
      group.live[i].coverage[j] += scores.attention[(first_row + i) * source_ + j];
}

std::vector<BeamSearch::Choice> BeamSearch::best_choices(const Group& group,
                                                         const StepScores& scores,
                                                         size_t first_row) {
  top_.start(std::max<size_t>(2, options_.eos_token_id.size() + 1) * width_);
  for (size_t i = 0; i < group.live.size(); ++i) {
    const Branch& branch = group.live[i];
    const std::span<float> row = row_of(scores, first_row + i);
    log_softmax(row);
    for (const int32_t token : chosen_now_)
      row[static_cast<size_t>(token)] -= static_cast<float>(options_.diversity_penalty);
    apply(processors_, row, branch.ids);
    if (!options_.do_sample) {
      top_.add(row, static_cast<int32_t>(i), branch.score);
      continue;
    }
    noisy_row_.assign(row.begin(), row.end());
    add_gumbel_noise(noisy_row_, {options_.seed, steps_}, i);
    top_.add(noisy_row_, static_cast<int32_t>(i), branch.score);
  }
  std::vector<Choice> choices;
  for (const Candidate& found : top_.sorted()) {
    const auto parent = static_cast<size_t>(found.row);
    const float token_score =
        steps_ == 0 && groups_.size() > 1
            ? shared_row_[static_cast<size_t>(found.token)]
            : scores.logits[(first_row + parent) * vocabulary_ + static_cast<size_t>(found.token)];
    choices.push_back({.score = token_score + group.live[parent].score,
                       .token_score = token_score,
                       .parent = found.row,
                       .token = found.token});
  }
  return choices;
}

std::vector<BeamSearch::Choice> BeamSearch::settle(Group& group, size_t index,
                                                   const std::vector<Choice>& choices) {
  std::vector<Choice> kept;
  for (size_t rank = 0; rank < choices.size(); ++rank) {
    const Choice& choice = choices[rank];
    const Branch& parent = group.live[static_cast<size_t>(choice.parent)];
    auto ending = endings_.after(parent.ids, choice.token);
    // The longest are ended together, when those that live on are known.
    if (!ending || ending->reason == FinishReason::kLength) {
      kept.push_back(choice);
      continue;
    }
    const bool counts =
        rank < width_ && (!required_ || required_->complete(required_->after(parent.ids)));
    Branch branch = follow(parent, choice);
    if (options_.return_tree)
      branch.node = add_node(index, parent, choice,
                             counts ? BeamTree::Fate::kFinished : BeamTree::Fate::kDropped);
    if (counts) finish(group, std::move(branch), std::move(*ending));
  }
  // Draws are in the order in which they were drawn; beams are in the order of their scores.
  std::stable_sort(kept.begin(), kept.end(),
                   [](const Choice& a, const Choice& b) { return a.score > b.score; });
  return kept;
}

void BeamSearch::push_required(const Group& group, const StepScores& scores, size_t first_row,
                               std::vector<Choice>& choices) {
  struct Ranked {
    Choice choice;
    int64_t progress;
  };
  std::vector<Ranked> all;
  const auto progress_with = [&](const Choice& choice) {
    auto state = required_->after(group.live[static_cast<size_t>(choice.parent)].ids);
    required_->add(state, choice.token);
    return required_->progress(state);
  };
  all.reserve(choices.size());
  for (const Choice& choice : choices) all.push_back({choice, progress_with(choice)});
  const size_t plain = all.size();
  for (size_t i = 0; i < group.live.size(); ++i) {
    const Branch& branch = group.live[i];
    for (const int64_t token : required_->next_tokens(required_->after(branch.ids))) {
      const float token_score =
          scores.logits[(first_row + i) * vocabulary_ + static_cast<size_t>(token)];
      const Choice choice{.score = token_score + branch.score,
                          .token_score = token_score,
                          .parent = static_cast<int32_t>(i),
                          .token = static_cast<int32_t>(token)};
      if (!(choice.score > -std::numeric_limits<float>::infinity())) continue;
      const bool is_there = std::any_of(all.begin(), all.end(), [&](const Ranked& other) {
        return same_continuation(other.choice, choice);
      });
      if (!is_there) all.push_back({choice, progress_with(choice)});
    }
  }
  if (all.size() == plain) return;
  // Those that are furthest first, and among equals by score; then the best of every stage before
  // the second best of any.
  const auto rank = [](const Ranked& one) {
    return static_cast<float>(one.progress) * 100 + one.choice.score;
  };
  std::stable_sort(all.begin(), all.end(),
                   [&](const Ranked& a, const Ranked& b) { return rank(a) > rank(b); });
  std::vector<std::pair<size_t, size_t>> turns;  // rank within its stage, index
  for (size_t i = 0; i < all.size(); ++i) {
    const bool same_stage = i > 0 && all[i].progress == all[i - 1].progress;
    turns.emplace_back(same_stage ? turns.back().first + 1 : 0, i);
  }
  std::sort(turns.begin(), turns.end());
  choices.clear();
  for (const auto& [turn, i] : turns) choices.push_back(all[i].choice);
}

BeamSearch::Branch BeamSearch::follow(const Branch& parent, const Choice& choice) const {
  Branch branch = parent;
  branch.ids.push_back(choice.token);
  branch.token_scores.push_back(choice.token_score);
  branch.score = choice.score;
  return branch;
}

void BeamSearch::finish(Group& group, Branch branch, Ending ending) {
  Finished finished{.hypothesis = {.ids = {branch.ids.begin() + static_cast<ptrdiff_t>(prompt_),
                                           branch.ids.end()},
                                   .token_scores = std::move(branch.token_scores),
                                   .reason = ending.reason,
                                   .stop_string = std::move(ending.stop_string)},
                    .complete = !required_ || required_->complete(required_->after(branch.ids)),
                    .node = branch.node};
  Hypothesis& hypothesis = finished.hypothesis;
  hypothesis.score = length_penalised(branch.score, hypothesis.ids.size(), options_.length_penalty);
  if (source_ > 0) {
    constexpr double kLeast = 1e-6;  // a token that nothing looked at costs β log of this
    double coverage = 0;
    for (const float seen : branch.coverage)
      coverage += std::log(std::clamp(static_cast<double>(seen), kLeast, 1.0));
    hypothesis.score += static_cast<float>(options_.coverage_penalty * coverage);
  }
  if (finished.node >= 0) {
    tree_.nodes[static_cast<size_t>(finished.node)].score = hypothesis.score;
    tree_.nodes[static_cast<size_t>(finished.node)].fate = BeamTree::Fate::kFinished;
  }
  const auto worse = [](const Finished& a, const Finished& b) {
    return a.complete != b.complete ? a.complete : a.hypothesis.score > b.hypothesis.score;
  };
  group.finished.insert(
      std::upper_bound(group.finished.begin(), group.finished.end(), finished, worse), finished);
  if (group.finished.size() > width_) group.finished.pop_back();
}

bool BeamSearch::is_done(const Group& group) const {
  if (group.live.empty() || static_cast<int64_t>(prompt_ + steps_ + 1) >= endings_.lengths().max)
    return true;
  if (group.finished.size() < width_) return false;
  if (options_.early_stopping == EarlyStopping::kTrue) return true;
  float best = -std::numeric_limits<float>::infinity();
  for (const Branch& branch : group.live) best = std::max(best, branch.score);
  const bool longest =
      options_.early_stopping == EarlyStopping::kNever && options_.length_penalty > 0;
  const size_t length =
      longest ? static_cast<size_t>(endings_.lengths().max) - prompt_ : steps_ + 1;
  return length_penalised(best, length, options_.length_penalty) <=
         group.finished.back().hypothesis.score;
}

int32_t BeamSearch::add_node(size_t group, const Branch& parent, const Choice& choice,
                             BeamTree::Fate fate) {
  tree_.nodes.push_back({.parent = parent.node,
                         .step = static_cast<int32_t>(steps_),
                         .group = static_cast<int32_t>(group),
                         .token = choice.token,
                         .token_score = choice.token_score,
                         .score = choice.score,
                         .fate = fate});
  return static_cast<int32_t>(tree_.nodes.size()) - 1;
}

void BeamSearch::stop() {
  for (Group& group : groups_) {
    for (Branch& branch : group.live) finish(group, std::move(branch), {FinishReason::kStopped});
    group.live.clear();
  }
}

std::vector<const BeamSearch::Finished*> BeamSearch::best() const {
  std::vector<const Finished*> all;
  for (const Group& group : groups_)
    for (const Finished& one : group.finished) all.push_back(&one);
  std::stable_sort(all.begin(), all.end(), [](const Finished* a, const Finished* b) {
    return a->complete != b->complete ? a->complete : a->hypothesis.score > b->hypothesis.score;
  });
  const auto wanted = static_cast<size_t>(options_.num_return_sequences);
  if (all.size() > wanted) all.resize(wanted);
  return all;
}

std::vector<Hypothesis> BeamSearch::results() const {
  std::vector<Hypothesis> results;
  for (const Finished* one : best()) results.push_back(one->hypothesis);
  return results;
}

}  // namespace glassformer
