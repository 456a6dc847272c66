#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "glassformer/decoding/search.h"

namespace glassformer {

// Changes the scores of a hypothesis' next token. An object belongs to one search: it may keep
// scratch memory between calls, but nothing else.
class LogitsProcessor {
 public:
  virtual ~LogitsProcessor() = default;
  // scores: [vocabulary]. ids: the hypothesis so far, prompt included.
  virtual void apply(std::span<float> scores, std::span<const int64_t> ids) = 0;
};

using ProcessorChain = std::vector<std::unique_ptr<LogitsProcessor>>;

// The lengths that a request comes down to, prompt included.
struct Lengths {
  int64_t prompt, min, max;
};
Lengths lengths_of(const GenerationOptions& options, const SearchInput& input);

// What the options ask for, in the order of Hugging Face's generate(): penalties and words,
// constraints, and with do_sample what narrows the distribution.
ProcessorChain make_processors(const GenerationOptions& options, const SearchInput& input);

// The parts of it, in this order.
void add_bias(ProcessorChain& chain, const GenerationOptions& options);
void add_penalties(ProcessorChain& chain, const GenerationOptions& options,
                   const SearchInput& input);
void add_words(ProcessorChain& chain, const GenerationOptions& options, const SearchInput& input);
void add_forced(ProcessorChain& chain, const GenerationOptions& options, const SearchInput& input);
void add_length_decay(ProcessorChain& chain, const GenerationOptions& options,
                      const SearchInput& input);
void add_warpers(ProcessorChain& chain, const GenerationOptions& options);

inline void apply(const ProcessorChain& chain, std::span<float> scores,
                  std::span<const int64_t> ids) {
  for (const auto& processor : chain) processor->apply(scores, ids);
}

}  // namespace glassformer
