#pragma once

#include <utility>
#include <vector>

#include "glassformer/inspect/report.h"

namespace glassformer {

// The words of a side: the first and last token of each. A word ends where its text has a space or
// a token that is a sign, which is a word of its own; tokens that stand for no text belong to none.
std::vector<std::pair<int64_t, int64_t>> words_of(const Report::Side& side);

// Which words of a source a target's words come from, by cross-attention: weights [target tokens,
// source tokens], such as the mean over layers and heads. What a source word gets from a target
// word is the sum over its tokens and the mean over the target's; special tokens of the source,
// where heads look when they look nowhere, are left out and the rest is scaled to 1. A target
// word's pairs are its best and those at least half as good.
// A target token is aligned by the row that it came out of, that of the token before it.
Report::Words align_words(const Report::Side& source, const Report::Side& target,
                          const Tensor& weights);

}  // namespace glassformer
