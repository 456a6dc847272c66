#include <cmath>

#include "decoding/processor.h"

namespace glassformer {
namespace {

// Divides the scores of tokens that are there by the penalty, or multiplies those below zero.
void penalise(float& score, float penalty) {
  score = score < 0 ? score * penalty : score / penalty;
}

// Visits each different id inside the vocabulary once.
class DifferentIds {
 public:
  template <class F>
  void visit(std::span<const int64_t> ids, size_t vocabulary, F&& each) {
    visit_count_ += 1;
    last_visit_.resize(vocabulary, 0);
    for (const int64_t id : ids) {
      if (id < 0 || id >= static_cast<int64_t>(vocabulary)) continue;
      uint64_t& visited = last_visit_[static_cast<size_t>(id)];
      if (visited == visit_count_) continue;
      visited = visit_count_;
      each(static_cast<size_t>(id));
    }
  }

 private:
  std::vector<uint64_t> last_visit_;
  uint64_t visit_count_ = 0;
};

class EncoderRepetition : public LogitsProcessor {
 public:
  EncoderRepetition(double penalty, std::vector<int64_t> source)
      : penalty_(static_cast<float>(1 / penalty)), source_(std::move(source)) {}
  void apply(std::span<float> scores, std::span<const int64_t> /*ids*/) override {
    ids_.visit(source_, scores.size(), [&](size_t id) { penalise(scores[id], penalty_); });
  }

 private:
  float penalty_;
  std::vector<int64_t> source_;
  DifferentIds ids_;
};

class Repetition : public LogitsProcessor {
 public:
  explicit Repetition(double penalty) : penalty_(static_cast<float>(penalty)) {}
  void apply(std::span<float> scores, std::span<const int64_t> ids) override {
    ids_.visit(ids, scores.size(), [&](size_t id) { penalise(scores[id], penalty_); });
  }

 private:
  float penalty_;
  DifferentIds ids_;
};

// score − presence · [it was said] − frequency · (times it was said)
class PresenceAndFrequency : public LogitsProcessor {
 public:
  PresenceAndFrequency(double presence, double frequency, size_t prompt)
      : presence_(static_cast<float>(presence)),
        frequency_(static_cast<float>(frequency)),
        prompt_(prompt) {}
  void apply(std::span<float> scores, std::span<const int64_t> ids) override {
    const auto said = ids.subspan(prompt_);
    ids_.visit(said, scores.size(), [&](size_t id) { scores[id] -= presence_; });
    for (const int64_t id : said) scores[static_cast<size_t>(id)] -= frequency_;
  }

 private:
  float presence_, frequency_;
  size_t prompt_;
  DifferentIds ids_;
};

// |score| · (factor^(steps after start) − 1) more for the end of the sequence.
class LengthDecay : public LogitsProcessor {
 public:
  LengthDecay(int64_t start, double factor, TokenIds eos)
      : start_(start), factor_(factor), eos_(std::move(eos)) {}
  void apply(std::span<float> scores, std::span<const int64_t> ids) override {
    const int64_t steps = static_cast<int64_t>(ids.size()) - start_;
    if (steps <= 0) return;
    const auto scale = static_cast<float>(std::pow(factor_, static_cast<double>(steps)) - 1);
    for (const int64_t id : eos_) {
      if (id < 0 || id >= static_cast<int64_t>(scores.size())) continue;
      float& score = scores[static_cast<size_t>(id)];
      if (std::isfinite(score)) score += std::abs(score) * scale;
    }
  }

 private:
  int64_t start_;
  double factor_;
  TokenIds eos_;
};

}  // namespace

void add_penalties(ProcessorChain& chain, const GenerationOptions& o, const SearchInput& input) {
  if (o.encoder_repetition_penalty != 1) {
    // Without an encoder the prompt is what there is to stay close to, as in Hugging Face.
    const auto& source = input.source.empty() ? input.prompt : input.source;
    chain.push_back(std::make_unique<EncoderRepetition>(o.encoder_repetition_penalty, source));
  }
  if (o.repetition_penalty != 1)
    chain.push_back(std::make_unique<Repetition>(o.repetition_penalty));
  if (o.presence_penalty != 0 || o.frequency_penalty != 0)
    chain.push_back(std::make_unique<PresenceAndFrequency>(o.presence_penalty, o.frequency_penalty,
                                                           input.prompt.size()));
}

void add_length_decay(ProcessorChain& chain, const GenerationOptions& o, const SearchInput& input) {
  if (!o.exponential_decay_length_penalty) return;
  const auto& [start, factor] = *o.exponential_decay_length_penalty;
  chain.push_back(std::make_unique<LengthDecay>(start + static_cast<int64_t>(input.prompt.size()),
                                                factor, o.eos_token_id));
}

}  // namespace glassformer
