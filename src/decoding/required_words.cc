#include "decoding/required_words.h"

#include <algorithm>
#include <numeric>

namespace glassformer {

RequiredWords::RequiredWords(std::vector<std::vector<TokenIds>> sets) : sets_(std::move(sets)) {
  for (const auto& phrases : sets_) {
    size_t longest = 0;
    for (const TokenIds& phrase : phrases) longest = std::max(longest, phrase.size());
    longest_.push_back(longest);
    longest_of_all_ = std::max(longest_of_all_, longest);
  }
}

RequiredWords::State RequiredWords::start() const {
  State state;
  state.pending.resize(sets_.size());
  std::iota(state.pending.begin(), state.pending.end(), size_t{0});
  return state;
}

RequiredWords::State RequiredWords::after(std::span<const int64_t> ids) const {
  State state = start();
  for (const int64_t id : ids) add(state, id);
  return state;
}

TokenIds RequiredWords::next_of(size_t set, const TokenIds& spoken) const {
  TokenIds tokens;
  for (const TokenIds& phrase : sets_[set]) {
    if (phrase.size() <= spoken.size() || !std::equal(spoken.begin(), spoken.end(), phrase.begin()))
      continue;
    const int64_t token = phrase[spoken.size()];
    if (std::find(tokens.begin(), tokens.end(), token) == tokens.end()) tokens.push_back(token);
  }
  return tokens;
}

bool RequiredWords::take(size_t set, TokenIds& spoken, int64_t token) const {
  const TokenIds next = next_of(set, spoken);
  if (std::find(next.begin(), next.end(), token) == next.end()) return false;
  spoken.push_back(token);
  return true;
}

bool RequiredWords::is_said(size_t set, const TokenIds& spoken) const {
  const auto& phrases = sets_[set];
  return std::find(phrases.begin(), phrases.end(), spoken) != phrases.end();
}

void RequiredWords::add(State& state, int64_t token) const {
  if (complete(state)) return;
  if (state.active) {
    if (!take(state.set, state.spoken, token)) {
      state.pending.push_back(state.set);
      state.active = false;
      return;
    }
  } else {
    const auto begun = std::find_if(state.pending.begin(), state.pending.end(), [&](size_t set) {
      state.spoken.clear();
      return take(set, state.spoken, token);
    });
    if (begun == state.pending.end()) return;
    state.set = *begun;
    state.active = true;
    state.pending.erase(begun);
  }
  if (!is_said(state.set, state.spoken)) return;
  state.active = false;
  ++state.done;
}

int64_t RequiredWords::progress(const State& state) const {
  size_t progress = state.done * longest_of_all_;
  if (state.active) progress += longest_of_all_ - (longest_[state.set] - state.spoken.size());
  return static_cast<int64_t>(progress);
}

TokenIds RequiredWords::next_tokens(const State& state) const {
  if (state.active) return next_of(state.set, state.spoken);
  TokenIds tokens;
  for (const size_t set : state.pending)
    for (const int64_t token : next_of(set, {})) tokens.push_back(token);
  return tokens;
}

}  // namespace glassformer
