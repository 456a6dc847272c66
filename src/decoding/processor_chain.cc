#include <algorithm>

#include "base/check.h"
#include "decoding/constraint.h"
#include "decoding/processor.h"
#include "kernels/host_log_softmax.h"

namespace glassformer {
namespace {

class Normalize : public LogitsProcessor {
 public:
  void apply(std::span<float> scores, std::span<const int64_t> /*ids*/) override {
    log_softmax(scores);
  }
};

}  // namespace

Lengths lengths_of(const GenerationOptions& o, const SearchInput& input) {
  constexpr int64_t kDefaultNewTokens = 20, kLongest = INT64_MAX / 4;
  const auto prompt = static_cast<int64_t>(input.prompt.size());
  int64_t max = prompt + kDefaultNewTokens;
  if (o.max_new_tokens) {
    max = prompt + std::min(*o.max_new_tokens, kLongest);
  } else if (o.max_length) {
    max = *o.max_length;
  }
  if (input.max_positions > 0) max = std::min(max, input.max_positions);
  require<ValueError>(prompt < max, "a prompt of {} tokens leaves no room below {} ({})", prompt,
                      max, input.max_positions == max ? "the model's positions" : "max_length");
  const int64_t min =
      o.min_new_tokens ? prompt + std::min(*o.min_new_tokens, kLongest) : o.min_length;
  return {prompt, min, max};
}

int64_t max_new_tokens(const GenerationOptions& options, const SearchInput& input) {
  const Lengths lengths = lengths_of(options, input);
  return lengths.max - lengths.prompt;
}

ProcessorChain make_processors(const GenerationOptions& o, const SearchInput& input) {
  ProcessorChain chain;
  add_bias(chain, o);
  add_penalties(chain, o, input);
  add_words(chain, o, input);
  add_constraint(chain, o, input);
  add_forced(chain, o, input);
  if (o.do_sample) add_warpers(chain, o);
  if (o.renormalize_logits) chain.push_back(std::make_unique<Normalize>());
  return chain;
}

}  // namespace glassformer
