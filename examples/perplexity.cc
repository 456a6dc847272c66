// The perplexity of a language model on a text: exp of the mean −log p of each token given those
// before it, in windows of `LENGTH` tokens that do not overlap. Measures what quantising costs:
//
//   perplexity MODEL TEXT-FILE [int8|float] [LENGTH] [TOKENS]
//
// int8 or float says what quantised weights are multiplied with.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include <fmt/format.h>

#include "glassformer/glassformer.h"

namespace gf = glassformer;

namespace {

double perplexity(const gf::Model& model, const std::vector<int64_t>& ids, int64_t length) {
  const gf::NoGrad no_grad;
  double sum = 0;
  int64_t count = 0;
  const auto total = static_cast<int64_t>(ids.size());
  for (int64_t first = 0; first + 1 < total; first += length) {
    const int64_t size = std::min(length, total - 1 - first);
    const auto window = [&](int64_t from) {
      return gf::from_span(
          std::span(ids).subspan(static_cast<size_t>(from), static_cast<size_t>(size)), {1, size});
    };
    gf::TransformerInput input;
    input.input_ids = window(first);
    const gf::Tensor logits = model(input).logits;
    const gf::Tensor loss =
        gf::cross_entropy(gf::reshape(gf::cast(logits, gf::DType::kFloat32), {size, -1}),
                          gf::reshape(window(first + 1), {size}));
    sum += loss.item() * static_cast<double>(size);
    count += size;
  }
  return std::exp(sum / static_cast<double>(count));
}

int run(int count, char** arguments) {
  if (count < 3) {
    fmt::print(stderr, "usage: perplexity MODEL TEXT-FILE [int8|float] [LENGTH] [TOKENS]\n");
    return 2;
  }
  gf::LoadOptions options;
  if (count > 3 && std::string(arguments[3]) == "float")
    options.activations = gf::LoadOptions::Activations::kFloat;
  const int64_t length = count > 4 ? std::atoll(arguments[4]) : 256;
  const size_t most = count > 5 ? std::strtoull(arguments[5], nullptr, 10) : 20000;
  std::ifstream file(arguments[2]);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  std::vector<int64_t> ids;
  for (const auto id : gf::open_tokenizer(arguments[1]).encode(text).ids) ids.push_back(id);
  ids.resize(std::min(ids.size(), most));
  const gf::Model model = gf::Model::open(arguments[1], options);
  fmt::print("{} tokens, perplexity {:.4f}\n", ids.size(), perplexity(model, ids, length));
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  try {
    return run(count, arguments);
  } catch (const gf::Error& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 1;
  }
}
