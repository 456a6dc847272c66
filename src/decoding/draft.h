#pragma once

#include <map>

#include "decoding/running.h"

namespace glassformer {

// Guesses tokens with a smaller model. What it has seen of a request is kept between calls.
class Draft {
 public:
  // Throws ValueError unless the model is a decoder with this vocabulary.
  Draft(const Model& model, int64_t vocabulary_size, int64_t places);

  // Its greedy choice of the next `count` tokens after what was said.
  TokenIds guess(const Running& running, int64_t count);
  void forget(int64_t request) { seen_.erase(request); }

 private:
  struct Seen {
    CacheSequence sequence;
    TokenIds ids;  // in the sequence
  };
  int64_t choose(Seen& seen, std::span<const int64_t> next);

  Model model_;
  std::unique_ptr<KvCache> cache_;
  std::map<int64_t, Seen> seen_;
};

}  // namespace glassformer
