#include "glassformer/decoding/search.h"

#include "base/check.h"
#include "decoding/beam_search.h"
#include "decoding/scores.h"
#include "decoding/single_search.h"
#include "kernels/host_log_softmax.h"

namespace glassformer {
namespace {

void check_ids(const char* name, const TokenIds& ids, int64_t vocabulary) {
  for (const int64_t id : ids)
    require<IndexError>(id >= 0 && id < vocabulary,
                        "{}: expected ids below the vocabulary's {}, found {}", name, vocabulary,
                        id);
}

void check_input(const GenerationOptions& o, const SearchInput& input) {
  const int64_t size = input.vocabulary_size;
  require<ValueError>(size > 0 && size <= INT32_MAX, "a vocabulary of {} tokens", size);
  require<ValueError>(!input.prompt.empty(), "the prompt is empty: it needs at least one id");
  require<ValueError>(o.coverage_penalty == 0 || !input.source.empty(),
                      "coverage_penalty {} needs a source: an encoder–decoder", o.coverage_penalty);
  check_ids("prefix_ids", o.prefix_ids, size);
  for (const TokenIds& word : o.bad_words_ids) check_ids("bad_words_ids", word, size);
  for (const auto& [phrase, bias] : o.sequence_bias) check_ids("sequence_bias", phrase, size);
  for (const auto& phrases : o.force_words_ids)
    for (const TokenIds& phrase : phrases) check_ids("force_words_ids", phrase, size);
  if (o.forced_bos_token_id) check_ids("forced_bos_token_id", {*o.forced_bos_token_id}, size);
  check_ids("forced_eos_token_id", o.forced_eos_token_id, size);
}

}  // namespace

std::unique_ptr<Search> make_search(const GenerationOptions& options, const SearchInput& input) {
  check(options);
  check_input(options, input);
  if (options.num_beams > 1) return std::make_unique<BeamSearch>(options, input);
  return std::make_unique<SingleSearch>(options, input);
}

Hypothesis score_target(std::span<const float> logits, std::span<const int64_t> target,
                        double length_penalty) {
  require<ShapeError>(
      !target.empty() && !logits.empty() && logits.size() % target.size() == 0,
      "score_target: expected logits of {} tokens × the vocabulary, found {} numbers",
      target.size(), logits.size());
  const size_t vocabulary = logits.size() / target.size();
  check_ids("score_target", {target.begin(), target.end()}, static_cast<int64_t>(vocabulary));
  Hypothesis result{.ids = {target.begin(), target.end()}};
  for (size_t i = 0; i < target.size(); ++i) {
    const auto row = logits.subspan(i * vocabulary, vocabulary);
    const auto [max, log_sum] = log_sum_exp(row);
    result.token_scores.push_back((row[static_cast<size_t>(target[i])] - max) - log_sum);
  }
  result.score = total_score(result.token_scores, length_penalty);
  return result;
}

}  // namespace glassformer
