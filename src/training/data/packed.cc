#include "training/data/packed.h"

#include <algorithm>

#include "base/check.h"

namespace glassformer {

void put_targets(Batch& batch, const std::vector<int64_t>& targets, const Shape& shape) {
  batch.targets = from_vector(targets, shape);
  batch.target_count =
      batch.targets.count() - std::count(targets.begin(), targets.end(), kIgnoredTarget);
}

void check_examples(std::span<const int64_t> examples, int64_t size) {
  for (const int64_t example : examples)
    require<IndexError>(example >= 0 && example < size,
                        "training data: no example {}, there are {}", example, size);
}

Tensor label_targets(const std::vector<double>& labels, std::span<const int64_t> examples,
                     bool numbers) {
  std::vector<float> values;
  std::vector<int64_t> classes;
  for (const int64_t example : examples) {
    const double label = labels[static_cast<size_t>(example)];
    if (numbers)
      values.push_back(static_cast<float>(label));
    else
      classes.push_back(static_cast<int64_t>(label));
  }
  const auto count = static_cast<int64_t>(examples.size());
  return numbers ? from_vector(values, {count, 1}) : from_vector(classes, {count});
}

}  // namespace glassformer
