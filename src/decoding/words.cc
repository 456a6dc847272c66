#include <algorithm>
#include <limits>

#include "decoding/processor.h"

namespace glassformer {
namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();

void set(std::span<float> scores, int64_t id, float score) {
  if (id >= 0 && id < static_cast<int64_t>(scores.size())) scores[static_cast<size_t>(id)] = score;
}

// Whether `ids` ends with all of `phrase` but its last token.
bool leads_to(std::span<const int64_t> ids, const TokenIds& phrase) {
  const size_t before = phrase.size() - 1;
  return ids.size() >= before &&
         std::equal(phrase.begin(), phrase.end() - 1, ids.end() - static_cast<ptrdiff_t>(before));
}

// Adds to the score of the token that would complete a phrase.
class SequenceBias : public LogitsProcessor {
 public:
  explicit SequenceBias(std::vector<std::pair<TokenIds, double>> biases)
      : biases_(std::move(biases)) {}
  void apply(std::span<float> scores, std::span<const int64_t> ids) override {
    for (const auto& [phrase, bias] : biases_)
      if (leads_to(ids, phrase))
        scores[static_cast<size_t>(phrase.back())] += static_cast<float>(bias);
  }

 private:
  std::vector<std::pair<TokenIds, double>> biases_;
};

// No n tokens in a row that are in `where_` (or, without it, in the hypothesis itself).
class NoRepeat : public LogitsProcessor {
 public:
  NoRepeat(int64_t n, std::optional<std::vector<int64_t>> where)
      : n_(static_cast<size_t>(n)), where_(std::move(where)) {}
  void apply(std::span<float> scores, std::span<const int64_t> ids) override {
    if (ids.size() + 1 < n_) return;
    const auto last = ids.last(n_ - 1);
    const std::span<const int64_t> said = where_ ? std::span<const int64_t>(*where_) : ids;
    for (size_t i = 0; i + n_ <= said.size(); ++i)
      if (std::equal(last.begin(), last.end(), said.begin() + static_cast<ptrdiff_t>(i)))
        set(scores, said[i + n_ - 1], kNever);
  }

 private:
  size_t n_;
  std::optional<std::vector<int64_t>> where_;
};

// These tokens never, or only from or at a certain length on.
class Suppress : public LogitsProcessor {
 public:
  Suppress(TokenIds tokens, int64_t from = 0, int64_t below = INT64_MAX)
      : tokens_(std::move(tokens)), from_(from), below_(below) {}
  void apply(std::span<float> scores, std::span<const int64_t> ids) override {
    const auto length = static_cast<int64_t>(ids.size());
    if (length < from_ || length >= below_) return;
    for (const int64_t id : tokens_) set(scores, id, kNever);
  }

 private:
  TokenIds tokens_;
  int64_t from_, below_;
};

// At one length, nothing but these, with certainty.
class Force : public LogitsProcessor {
 public:
  Force(TokenIds tokens, int64_t length) : tokens_(std::move(tokens)), length_(length) {}
  void apply(std::span<float> scores, std::span<const int64_t> ids) override {
    if (static_cast<int64_t>(ids.size()) != length_) return;
    std::fill(scores.begin(), scores.end(), kNever);
    for (const int64_t id : tokens_) set(scores, id, 0);
  }

 private:
  TokenIds tokens_;
  int64_t length_;
};

// The first new tokens, each with the score that the model gives it.
class Prefix : public LogitsProcessor {
 public:
  Prefix(TokenIds prefix, size_t prompt) : prefix_(std::move(prefix)), prompt_(prompt) {}
  void apply(std::span<float> scores, std::span<const int64_t> ids) override {
    const size_t step = ids.size() - prompt_;
    if (step >= prefix_.size()) return;
    const auto token = static_cast<size_t>(prefix_[step]);
    const float score = scores[token];
    std::fill(scores.begin(), scores.end(), kNever);
    scores[token] = score;
  }

 private:
  TokenIds prefix_;
  size_t prompt_;
};

class RemoveInvalid : public LogitsProcessor {
 public:
  void apply(std::span<float> scores, std::span<const int64_t> /*ids*/) override {
    constexpr float kMost = std::numeric_limits<float>::max();
    for (float& score : scores) score = score != score ? 0 : std::clamp(score, -kMost, kMost);
  }
};

std::vector<std::pair<TokenIds, double>> forbidden(const GenerationOptions& o) {
  std::vector<std::pair<TokenIds, double>> biases;
  for (const TokenIds& word : o.bad_words_ids) {
    const bool is_end = word.size() == 1 && std::find(o.eos_token_id.begin(), o.eos_token_id.end(),
                                                      word[0]) != o.eos_token_id.end();
    if (!is_end) biases.emplace_back(word, kNever);
  }
  return biases;
}

}  // namespace

void add_bias(ProcessorChain& chain, const GenerationOptions& o) {
  if (!o.sequence_bias.empty()) chain.push_back(std::make_unique<SequenceBias>(o.sequence_bias));
}

void add_words(ProcessorChain& chain, const GenerationOptions& o, const SearchInput& input) {
  if (o.no_repeat_ngram_size > 0)
    chain.push_back(std::make_unique<NoRepeat>(o.no_repeat_ngram_size, std::nullopt));
  if (o.encoder_no_repeat_ngram_size > 0) {
    const auto& source = input.source.empty() ? input.prompt : input.source;
    chain.push_back(std::make_unique<NoRepeat>(o.encoder_no_repeat_ngram_size, source));
  }
  if (auto words = forbidden(o); !words.empty())
    chain.push_back(std::make_unique<SequenceBias>(std::move(words)));
  const Lengths lengths = lengths_of(o, input);
  if (lengths.min > 0 && !o.eos_token_id.empty())
    chain.push_back(std::make_unique<Suppress>(o.eos_token_id, 0, lengths.min));
  if (!o.prefix_ids.empty())
    chain.push_back(std::make_unique<Prefix>(o.prefix_ids, input.prompt.size()));
}

void add_forced(ProcessorChain& chain, const GenerationOptions& o, const SearchInput& input) {
  const Lengths lengths = lengths_of(o, input);
  if (o.forced_bos_token_id)
    chain.push_back(std::make_unique<Force>(TokenIds{*o.forced_bos_token_id}, 1));
  if (!o.forced_eos_token_id.empty())
    chain.push_back(std::make_unique<Force>(o.forced_eos_token_id, lengths.max - 1));
  if (o.remove_invalid_values) chain.push_back(std::make_unique<RemoveInvalid>());
  add_length_decay(chain, o, input);
  if (!o.suppress_tokens.empty()) chain.push_back(std::make_unique<Suppress>(o.suppress_tokens));
  if (!o.begin_suppress_tokens.empty()) {
    const bool after_forced = lengths.prompt <= 1 && o.forced_bos_token_id;
    const int64_t begin = lengths.prompt + (after_forced ? 1 : 0);
    chain.push_back(std::make_unique<Suppress>(o.begin_suppress_tokens, begin, begin + 1));
  }
}

}  // namespace glassformer
