#include "decoding/running.h"

namespace glassformer {

void Running::follow(std::span<const Continuation> next) {
  std::vector<int> uses(live.size());
  for (const Continuation& one : next) ++uses[static_cast<size_t>(one.parent)];
  std::vector<CacheSequence> sequences;
  ids.clear();
  for (const Continuation& one : next) {
    const auto parent = static_cast<size_t>(one.parent);
    // The last child takes over what the others share.
    if (--uses[parent] == 0)
      sequences.push_back(std::move(live[parent]));
    else
      sequences.push_back(live[parent]);
    ids.push_back({one.token});
  }
  live = std::move(sequences);
  ended = live.empty();
  if (single() && !ended) said.push_back(ids.front().front());
}

void Running::follow_guesses(std::span<float> logits) {
  const TokenIds guessed = ids.front();
  const auto width = static_cast<size_t>(input.vocabulary_size);
  const int64_t past = live.front().length() - static_cast<int64_t>(guessed.size());
  for (size_t i = 0; i < guessed.size(); ++i) {
    follow(search->advance({.logits = logits.subspan(i * width, width)}));
    if (ended) return;
    if (i + 1 == guessed.size() || ids.front().front() != guessed[i + 1]) {
      live.front().truncate(past + static_cast<int64_t>(i) + 1);
      return;
    }
  }
}

void Running::tell() {
  if (!single() || !request.on_token) return;
  // The last tokens of one that has ended are in its result alone.
  TokenIds all;
  if (!ended) {
    all.assign(said.begin() + static_cast<ptrdiff_t>(input.prompt.size()), said.end());
  } else if (const std::vector<Hypothesis> results = search->results(); !results.empty()) {
    all = results.front().ids;
  }
  while (told < all.size())
    if (!request.on_token(all[told++])) {
      if (!ended) stop();
      return;
    }
}

void Running::stop() {
  search->stop();
  live.clear();
  ids.clear();
  ended = true;
}

GenerationResult Running::result() const {
  return {.request = number, .hypotheses = search->results(), .tree = search->tree()};
}

}  // namespace glassformer
