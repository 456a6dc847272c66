#include "glassformer/training/batch_plan.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"
#include "training/data/draws.h"

namespace glassformer {
namespace {

// Fisher and Yates's.
void shuffle(std::vector<int64_t>& numbers, Draws draws) {
  for (size_t i = numbers.size(); i > 1; --i)
    std::swap(numbers[i - 1], numbers[static_cast<size_t>(draws.below(static_cast<int64_t>(i)))]);
}

std::vector<int64_t> counted(size_t count) {
  std::vector<int64_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), int64_t{0});
  return numbers;
}

std::vector<int64_t> equal_cuts(int64_t examples, const BatchOptions& options) {
  std::vector<int64_t> starts;
  for (int64_t batch = 0; batch <= examples / options.size; ++batch)
    starts.push_back(batch * options.size);
  if (!options.drop_last && examples % options.size != 0) starts.push_back(examples);
  return starts;
}

// `order` is by length, so the longest of a batch is its last.
std::vector<int64_t> token_cuts(const Dataset& data, const std::vector<int64_t>& order,
                                int64_t tokens) {
  std::vector<int64_t> starts{0};
  for (size_t i = 0; i < order.size(); ++i) {
    const int64_t count = static_cast<int64_t>(i) - starts.back() + 1;
    const int64_t longest = std::max<int64_t>(1, data.length(order[i]));
    if (count > 1 && longest > tokens / count) starts.push_back(static_cast<int64_t>(i));
  }
  if (!order.empty()) starts.push_back(static_cast<int64_t>(order.size()));
  return starts;
}

}  // namespace

BatchPlan::BatchPlan(const Dataset& data, const BatchOptions& options, uint64_t seed, int64_t epoch)
    : order_(counted(static_cast<size_t>(data.size()))) {
  require<ValueError>(
      options.size >= 0 && options.tokens >= 0 && (options.size > 0) != (options.tokens > 0),
      "BatchPlan: expected a positive size or a positive number of tokens, found "
      "{} and {}",
      options.size, options.tokens);
  const RandomKey key{seed, kShuffleStreams + static_cast<uint64_t>(epoch)};
  if (options.shuffle) shuffle(order_, {key, 0});
  if (options.size > 0) {
    starts_ = equal_cuts(data.size(), options);
    return;
  }
  // Stable: those of one length stay shuffled.
  std::stable_sort(order_.begin(), order_.end(),
                   [&](int64_t a, int64_t b) { return data.length(a) < data.length(b); });
  starts_ = token_cuts(data, order_, options.tokens);
  if (!options.shuffle) return;
  std::vector<int64_t> batches = counted(static_cast<size_t>(size()));
  shuffle(batches, {key, 1});
  std::vector<int64_t> order, starts{0};
  order.reserve(order_.size());
  for (const int64_t batch : batches) {
    const auto examples = (*this)[batch];
    order.insert(order.end(), examples.begin(), examples.end());
    starts.push_back(static_cast<int64_t>(order.size()));
  }
  order_ = std::move(order);
  starts_ = std::move(starts);
}

std::span<const int64_t> BatchPlan::operator[](int64_t batch) const {
  require<IndexError>(batch >= 0 && batch < size(), "BatchPlan: no batch {}, there are {}", batch,
                      size());
  const auto i = static_cast<size_t>(batch);
  return std::span(order_).subspan(static_cast<size_t>(starts_[i]),
                                   static_cast<size_t>(starts_[i + 1] - starts_[i]));
}

std::span<const int64_t> BatchPlan::part(int64_t batch, int rank, int ranks) const {
  require<ValueError>(rank >= 0 && rank < ranks,
                      "BatchPlan: expected a rank below the number of them, found {} of {}", rank,
                      ranks);
  const auto examples = (*this)[batch];
  const auto edge = [&](int part) {
    return examples.size() * static_cast<size_t>(part) / static_cast<size_t>(ranks);
  };
  return examples.subspan(edge(rank), edge(rank + 1) - edge(rank));
}

}  // namespace glassformer
