// Attention by hand, on three words, with every step named and printed as a person would write it,
// and at the end the difference from the fused kernel.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "glassformer/glassformer.h"

namespace gf = glassformer;
using gf::Tensor;

namespace {

const std::vector<std::string> kWords{"the", "cat", "sat"};

void heading(const std::string& name, const std::string& formula) {
  fmt::print("\n{:<16} {}\n", name, formula);
}

// A [3, width] matrix, one row a word.
void print_rows(const Tensor& x) {
  const Tensor rows = gf::reshape(x, {-1, x.size(-1)});
  const std::vector<double> values = rows.to_vector<double>();
  const auto width = static_cast<size_t>(rows.size(-1));
  for (size_t i = 0; i < static_cast<size_t>(rows.size(0)); ++i) {
    fmt::print("  {:<5}[", kWords[i]);
    for (size_t j = 0; j < width; ++j) {
      const double value = values[i * width + j];
      fmt::print("{}", std::isinf(value) ? "      -∞" : fmt::format("{:8.3f}", value));
    }
    fmt::print(" ]\n");
  }
}

void softmax_figure() {
  const Tensor y = gf::softmax(gf::from_vector<float>({2, 1, 0}, {3}));
  const std::vector<double> p = y.to_vector<double>();
  fmt::print("softmax([2, 1, 0]) = [{:.3f}, {:.3f}, {:.3f}]\n", p[0], p[1], p[2]);
}

void size_figure() {
  constexpr int64_t kModel = 768, kHeads = 12;
  fmt::print("d_model {} with {} heads: heads of {}, and 3 · {}² = {} Q/K/V parameters\n", kModel,
             kHeads, kModel / kHeads, kModel,
             fmt::format("{},{:03},{:03}", 3 * kModel * kModel / 1000000,
                         3 * kModel * kModel / 1000 % 1000, 3 * kModel * kModel % 1000));
}

struct Projections {
  Tensor query, key, value;  // [1, 1, words, size]
};

// One head, size 4, made from small embeddings by three small matrices.
Projections project() {
  const Tensor x = gf::from_vector<float>(
      {1.0F, 0.0F, 0.5F, -0.5F, 0.0F, 1.0F, -0.5F, 1.0F, 0.5F, 1.0F, 1.0F, 0.0F}, {3, 4});
  heading("embedding", "X, one row a word");
  print_rows(x);
  gf::Generator random(2017);
  const auto head = [&](const char* name, const char* formula) {
    const Tensor weight = gf::random_normal({4, 4}, random.next(), 0, 0.8);
    const Tensor y = gf::linear(x, weight);
    heading(name, formula);
    print_rows(y);
    return gf::reshape(y, {1, 1, 3, 4});
  };
  return {head("query", "Q = X W_Q: what each word looks for"),
          head("key", "K = X W_K: what each word offers"),
          head("value", "V = X W_V: what it passes on")};
}

}  // namespace

int main() {
  try {
    fmt::print("Attention, step by step\n=======================\n");
    const auto [query, key, value] = project();

    const Tensor scores = gf::matmul(query, gf::transpose(key, 2, 3));
    heading("scores", "Q Kᵀ: how well each query fits each key");
    print_rows(scores);

    const Tensor scaled = scores / std::sqrt(4.0);
    heading("scaled_scores", "÷ √d_k = ÷ 2, so that longer vectors do not sharpen the softmax");
    print_rows(scaled);

    const float none = -std::numeric_limits<float>::infinity();
    const Tensor mask = gf::from_vector<float>({0, none, none, 0, 0, none, 0, 0, 0}, {3, 3});
    const Tensor masked = scaled + mask;
    heading("masked_scores", "a word may not look at what comes after it");
    print_rows(masked);

    const Tensor weights = gf::softmax(masked);
    heading("weights", "softmax of each row: every row adds up to 1");
    print_rows(weights);

    const Tensor output = gf::matmul(weights, value);
    heading("output", "weights · V: for each word, a mixture of values");
    print_rows(output);

    const gf::AttentionResult fused = gf::attention(query, key, value, {.causal = true});
    const Tensor recomputed =
        gf::attention_weights(query, key, fused.log_sum_exp, {.causal = true});
    const auto largest = [](const Tensor& a, const Tensor& b) {
      double most = 0;
      for (double gap : (a - b).to_vector<double>()) most = std::max(most, std::abs(gap));
      return most;
    };
    fmt::print("\nThe fused kernel does all of this in one pass and never holds the weights:\n");
    fmt::print("  largest difference of the outputs        {:.1e}\n",
               largest(fused.output, output));
    fmt::print("  of the weights it gives back when asked  {:.1e}\n\n",
               largest(recomputed, weights));
    softmax_figure();
    size_figure();
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 1;
  }
}
