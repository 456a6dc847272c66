// A first program: one attention layer, forward and backward.
#include <iostream>

#include "glassformer/glassformer.h"

namespace gf = glassformer;

int main() {
  std::cout << "glassformer " << gf::version() << '\n';
  gf::Generator random(1);
  gf::Tensor x = gf::random_normal({2, 10, 64}, random.next());  // batch, length, width
  gf::Tensor weight = gf::random_normal({192, 64}, random.next(), 0, 0.1).set_requires_grad();

  // Project to queries, keys and values of four heads, each [batch, heads, length, size].
  const auto qkv = gf::chunk(gf::reshape(gf::linear(x, weight), {2, 10, 12, 16}), 2, 3);
  const auto heads = [&](int i) { return gf::transpose(qkv[i], 1, 2); };
  const gf::AttentionResult y = gf::attention(heads(0), heads(1), heads(2), {.causal = true});

  gf::backward(gf::mean(y.output * y.output));
  std::cout << "gradient of the projection: " << weight.grad().shape().str() << '\n';

  // The weights of head 2 for the last word, out of the fused kernel's own log-sum-exp.
  const gf::Tensor w =
      gf::attention_weights(heads(0), heads(1), y.log_sum_exp, {.causal = true}, {2}, {9});
  std::cout << "the last word looks most at word "
            << gf::argmax(gf::select(gf::flatten(w, 1), 0, 0), 0).item() << '\n';
}
