#include "glassformer/inspect/measures.h"

#include <cmath>
#include <limits>

#include "base/check.h"
#include "base/parallel.h"
#include "glassformer/ops/copy.h"
#include "tensor/shape_format.h"

namespace glassformer {
namespace {

// weights in memory, [heads, queries, keys].
class Rows {
 public:
  explicit Rows(const Tensor& weights) : weights_(contiguous(cast(weights, DType::kFloat32))) {
    require<ShapeError>(weights.rank() == 3, "expected weights [heads, queries, keys], found {}",
                        weights.shape());
    values_ = weights_.data<float>();
  }
  int64_t heads() const { return weights_.size(0); }
  int64_t queries() const { return weights_.size(1); }
  int64_t keys() const { return weights_.size(2); }
  std::span<const float> row(int64_t head, int64_t query) const {
    return {values_ + (head * queries() + query) * keys(), static_cast<size_t>(keys())};
  }

 private:
  Tensor weights_;
  const float* values_;
};

double sum_of(std::span<const float> row) {
  double sum = 0;
  for (const float weight : row) sum += weight;
  return sum;
}

// The mean of measure(query, row) over the rows that attend to something and that `counts` admits.
template <class Counts, class Measure>
std::vector<double> means(const Rows& rows, const Counts& counts, const Measure& measure) {
  std::vector<double> result(static_cast<size_t>(rows.heads()));
  parallel_tasks(rows.heads(), [&](int64_t head) {
    double sum = 0;
    int64_t count = 0;
    for (int64_t query = 0; query < rows.queries(); ++query) {
      const std::span<const float> row = rows.row(head, query);
      if (!counts(query) || sum_of(row) == 0) continue;
      sum += measure(query, row);
      ++count;
    }
    result[static_cast<size_t>(head)] =
        count > 0 ? sum / static_cast<double>(count) : std::numeric_limits<double>::quiet_NaN();
  });
  return result;
}

constexpr auto kEvery = [](int64_t) { return true; };

double entropy_of(std::span<const float> row) {
  double sum = 0;
  for (const float weight : row)
    if (weight > 0) sum -= weight * std::log(static_cast<double>(weight));
  return sum;
}

double distance_between(int64_t query, int64_t key, const Places& places) {
  if (places.columns == 0) return std::abs(static_cast<double>(query - key));
  const int64_t a = query - places.prefix, b = key - places.prefix;
  const int64_t down = a / places.columns - b / places.columns;
  const int64_t along = a % places.columns - b % places.columns;
  return std::hypot(static_cast<double>(down), static_cast<double>(along));
}

// Jensen–Shannon, in nats.
double divergence(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double p = a[i], q = b[i], middle = (p + q) / 2;
    if (p > 0) sum += p * std::log(p / middle) / 2;
    if (q > 0) sum += q * std::log(q / middle) / 2;
  }
  return sum;
}

}  // namespace

std::vector<double> attention_entropy(const Tensor& weights) {
  return means(Rows(weights), kEvery,
               [](int64_t, std::span<const float> row) { return entropy_of(row); });
}

std::vector<double> attention_distance(const Tensor& weights, const Places& places) {
  return means(
      Rows(weights), [&](int64_t row) { return places.query(row) >= places.prefix; },
      [&](int64_t query, std::span<const float> row) {
        double sum = 0, total = 0;
        for (auto key = places.prefix; key < static_cast<int64_t>(row.size()); ++key) {
          const double weight = row[static_cast<size_t>(key)];
          sum += weight * distance_between(places.query(query), key, places);
          total += weight;
        }
        return total > 0 ? sum / total : 0;
      });
}

std::vector<double> previous_token_score(const Tensor& weights, const Places& places) {
  const Rows rows(weights);
  return means(
      rows, [&](int64_t row) { return places.query(row) >= 1 && places.query(row) <= rows.keys(); },
      [&](int64_t query, std::span<const float> row) {
        return row[static_cast<size_t>(places.query(query) - 1)];
      });
}

std::vector<double> first_token_score(const Tensor& weights) {
  return means(Rows(weights), kEvery, [](int64_t, std::span<const float> row) { return row[0]; });
}

std::vector<double> induction_score(const Tensor& weights, std::span<const int64_t> ids,
                                    const Places& places) {
  const Rows rows(weights);
  require<ShapeError>(static_cast<int64_t>(ids.size()) == rows.keys(),
                      "induction_score: expected an id for each of {} keys, found {}", rows.keys(),
                      ids.size());
  const auto occurs_before = [&](int64_t row) {
    const auto query = static_cast<size_t>(places.query(row));
    for (size_t i = 0; i < query; ++i)
      if (ids[i] == ids[query]) return true;
    return false;
  };
  return means(rows, occurs_before, [&](int64_t row, std::span<const float> weight) {
    const auto query = static_cast<size_t>(places.query(row));
    double sum = 0;
    for (size_t i = 0; i < query; ++i)
      if (ids[i] == ids[query]) sum += weight[i + 1];
    return sum;
  });
}

Tensor head_similarity(const Tensor& weights) {
  const Rows rows(weights);
  const int64_t heads = rows.heads();
  std::vector<float> similar(static_cast<size_t>(heads * heads), 1);
  for (int64_t a = 0; a < heads; ++a)
    for (int64_t b = 0; b < a; ++b) {
      double sum = 0;
      for (int64_t i = 0; i < rows.queries(); ++i)
        sum += divergence(rows.row(a, i), rows.row(b, i));
      const double mean = sum / static_cast<double>(std::max<int64_t>(rows.queries(), 1));
      const auto value = static_cast<float>(1 - mean / std::log(2.0));
      similar[static_cast<size_t>(a * heads + b)] = value;
      similar[static_cast<size_t>(b * heads + a)] = value;
    }
  return from_vector(similar, {heads, heads});
}

}  // namespace glassformer
