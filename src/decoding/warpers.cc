#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "decoding/processor.h"
#include "decoding/select.h"
#include "kernels/host_log_softmax.h"

namespace glassformer {
namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();

class Temperature : public LogitsProcessor {
 public:
  explicit Temperature(double temperature) : temperature_(static_cast<float>(temperature)) {}
  void apply(std::span<float> scores, std::span<const int64_t> /*ids*/) override {
    for (float& score : scores) score /= temperature_;
  }

 private:
  float temperature_;
};

// Everything below the k-th best goes; what equals it stays.
class TopK : public LogitsProcessor {
 public:
  explicit TopK(int64_t k) : k_(static_cast<size_t>(k)) {}
  void apply(std::span<float> scores, std::span<const int64_t> /*ids*/) override {
    if (k_ >= scores.size()) return;
    top_.start(k_);
    top_.add(scores, 0, 0);
    const auto best = top_.sorted();
    if (best.size() < k_) return;
    const float bar = best.back().score;
    for (float& score : scores) score = score < bar ? kNever : score;
  }

 private:
  size_t k_;
  TopCandidates top_;
};

// Tokens in an order that is worked out only as far as somebody reads it.
class Ranking {
 public:
  template <class Before>
  void start(std::span<const float> scores, Before before) {
    order_.clear();
    for (size_t i = 0; i < scores.size(); ++i)
      if (scores[i] > kNever) order_.push_back(static_cast<int32_t>(i));
    sorted_ = 0;
    extend(before);
  }
  size_t size() const { return order_.size(); }
  template <class Before>
  size_t at(size_t rank, Before before) {
    while (rank >= sorted_) extend(before);
    return static_cast<size_t>(order_[rank]);
  }

 private:
  template <class Before>
  void extend(Before before) {
    const size_t end = std::min(order_.size(), std::max<size_t>(64, sorted_ * 4));
    const auto from = order_.begin() + static_cast<ptrdiff_t>(sorted_);
    const auto to = order_.begin() + static_cast<ptrdiff_t>(end);
    if (to != order_.end()) std::nth_element(from, to, order_.end(), before);
    std::sort(from, to, before);
    sorted_ = end;
  }
  std::vector<int32_t> order_;
  size_t sorted_ = 0;
};

// A copy of the scores as probabilities.
class Probabilities {
 public:
  void set(std::span<const float> scores) {
    values.assign(scores.begin(), scores.end());
    sum = exp_in_place(values, row_max(scores));
  }
  double operator[](size_t i) const { return static_cast<double>(values[i]) / sum; }
  std::vector<float> values;  // times `sum`
  double sum = 0;
};

// The most likely tokens that together have probability p.
class TopP : public LogitsProcessor {
 public:
  TopP(double p, int64_t keep) : p_(p), keep_(static_cast<size_t>(keep)) {}
  void apply(std::span<float> scores, std::span<const int64_t> /*ids*/) override {
    const auto before = [&](int32_t a, int32_t b) {
      const float x = scores[static_cast<size_t>(a)], y = scores[static_cast<size_t>(b)];
      return x != y ? x > y : a < b;
    };
    probability_.set(scores);
    ranking_.start(scores, before);
    kept_.clear();
    double mass = 0;
    for (size_t rank = 0; rank < ranking_.size() && (mass < p_ || rank < keep_); ++rank) {
      const size_t token = ranking_.at(rank, before);
      mass += probability_[token];
      kept_.emplace_back(token, scores[token]);
    }
    std::fill(scores.begin(), scores.end(), kNever);
    for (const auto& [token, score] : kept_) scores[token] = score;
  }

 private:
  double p_;
  size_t keep_;
  Probabilities probability_;
  Ranking ranking_;
  std::vector<std::pair<size_t, float>> kept_;
};

// Locally typical (Meister et al., 2022): the tokens whose information is nearest to the entropy,
// together with probability `mass`.
class Typical : public LogitsProcessor {
 public:
  Typical(double mass, int64_t keep) : mass_(mass), keep_(static_cast<size_t>(keep)) {}
  void apply(std::span<float> scores, std::span<const int64_t> /*ids*/) override {
    probability_.set(scores);
    distance_.assign(scores.begin(), scores.end());
    log_softmax(distance_);
    double entropy = 0;
    for (size_t i = 0; i < scores.size(); ++i)
      if (scores[i] > kNever) entropy -= static_cast<double>(distance_[i]) * probability_[i];
    for (float& x : distance_) x = std::abs(-x - static_cast<float>(entropy));
    const auto before = [&](int32_t a, int32_t b) {
      const float x = distance_[static_cast<size_t>(a)], y = distance_[static_cast<size_t>(b)];
      return x != y ? x < y : a < b;
    };
    ranking_.start(scores, before);
    if (ranking_.size() == 0) return;
    double mass = 0;
    size_t rank = 0;
    while (rank + 1 < ranking_.size() &&
           ((mass += probability_[ranking_.at(rank, before)]) < mass_ || rank + 1 < keep_))
      ++rank;
    const float bar = distance_[ranking_.at(rank, before)];
    for (size_t i = 0; i < scores.size(); ++i)
      if (!(distance_[i] <= bar)) scores[i] = kNever;
  }

 private:
  double mass_;
  size_t keep_;
  Probabilities probability_;
  std::vector<float> distance_;
  Ranking ranking_;
};

// Drops tokens less likely than a bar that is worked out from the distribution, but never the
// `keep` best.
class Cutoff : public LogitsProcessor {
 public:
  enum class Kind : uint8_t { kMinP, kEpsilon, kEta };
  Cutoff(Kind kind, double value, int64_t keep)
      : kind_(kind), value_(value), keep_(static_cast<size_t>(keep)) {}
  void apply(std::span<float> scores, std::span<const int64_t> /*ids*/) override {
    probability_.set(scores);
    const auto bar = static_cast<float>(bar_of(scores) * probability_.sum);
    top_.start(keep_);
    top_.add(scores, 0, 0);
    const auto best = top_.sorted();
    if (best.empty()) return;
    const float safe = best.back().score;
    for (size_t i = 0; i < scores.size(); ++i)
      if (probability_.values[i] < bar && scores[i] < safe) scores[i] = kNever;
  }

 private:
  double bar_of(std::span<const float> scores) const {
    if (kind_ == Kind::kMinP) return value_ / probability_.sum;  // the best has e^0 / sum
    if (kind_ == Kind::kEpsilon) return value_;
    // Hewitt et al., 2022: min(ε, √ε · e^−entropy).
    const double max = static_cast<double>(row_max(scores)), log_sum = std::log(probability_.sum);
    double entropy = 0;
    for (size_t i = 0; i < scores.size(); ++i)
      if (scores[i] > kNever)
        entropy -= probability_[i] * (static_cast<double>(scores[i]) - max - log_sum);
    return std::min(value_, std::sqrt(value_) * std::exp(-entropy));
  }
  Kind kind_;
  double value_;
  size_t keep_;
  Probabilities probability_;
  TopCandidates top_;
};

}  // namespace

void add_warpers(ProcessorChain& chain, const GenerationOptions& o) {
  // A beam must be left a token besides the ends of the sequence.
  const int64_t keep =
      o.num_beams > 1 ? std::max<int64_t>(2, static_cast<int64_t>(o.eos_token_id.size()) + 1) : 1;
  if (o.temperature != 1) chain.push_back(std::make_unique<Temperature>(o.temperature));
  if (o.top_k > 0) chain.push_back(std::make_unique<TopK>(std::max(o.top_k, keep)));
  if (o.top_p < 1) chain.push_back(std::make_unique<TopP>(o.top_p, keep));
  using enum Cutoff::Kind;
  if (o.min_p) chain.push_back(std::make_unique<Cutoff>(kMinP, *o.min_p, keep));
  if (o.typical_p < 1) chain.push_back(std::make_unique<Typical>(o.typical_p, keep));
  if (o.epsilon_cutoff > 0)
    chain.push_back(std::make_unique<Cutoff>(kEpsilon, o.epsilon_cutoff, keep));
  if (o.eta_cutoff > 0) chain.push_back(std::make_unique<Cutoff>(kEta, o.eta_cutoff, keep));
}

}  // namespace glassformer
