#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "glassformer/decoding/options.h"

namespace glassformer {

// Which of the required phrases a hypothesis has said. A phrase is begun by a token that no other
// is waiting for, and given up by the first token that does not continue it.
class RequiredWords {
 public:
  explicit RequiredWords(std::vector<std::vector<TokenIds>> sets);

  struct State {
    std::vector<size_t> pending;  // sets, in the order in which they are tried
    bool active = false;
    size_t set = 0;   // the one that was begun
    TokenIds spoken;  // of it
    size_t done = 0;  // sets
  };

  State start() const;
  State after(std::span<const int64_t> ids) const;
  void add(State& state, int64_t token) const;

  bool complete(const State& state) const { return state.done == sets_.size(); }
  // How far it is: whole sets count most, then the part of the one that was begun.
  int64_t progress(const State& state) const;
  // The tokens that would bring it further.
  TokenIds next_tokens(const State& state) const;

 private:
  TokenIds next_of(size_t set, const TokenIds& spoken) const;
  // Whether the token goes on with the set after `spoken`, which then has it.
  bool take(size_t set, TokenIds& spoken, int64_t token) const;
  bool is_said(size_t set, const TokenIds& spoken) const;

  std::vector<std::vector<TokenIds>> sets_;
  std::vector<size_t> longest_;  // phrase of each set
  size_t longest_of_all_ = 0;
};

}  // namespace glassformer
