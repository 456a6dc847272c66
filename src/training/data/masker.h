#pragma once

#include <optional>
#include <span>
#include <vector>

#include "glassformer/training/language_data.h"
#include "training/data/draws.h"

namespace glassformer {

// Chooses the tokens that a masked language model is asked for.
class Masker {
 public:
  // Throws ValueError for shares that make no sense and for a mask that is no token.
  Masker(const Masking& options, const Tokenizer& tokenizer);
  // Null where there are no options.
  static std::shared_ptr<const Masker> make(const std::optional<Masking>& options,
                                            const Tokenizer& tokenizer);

  // Changes the ids of an example and gives their targets.
  std::vector<int64_t> operator()(std::span<int64_t> ids, Draws draws) const;
  bool can_choose(int64_t id) const { return !tokenizer_.is_special(id); }

 private:
  int64_t replacement(int64_t id, Draws& draws) const;

  Masking options_;
  Tokenizer tokenizer_;
};

}  // namespace glassformer
