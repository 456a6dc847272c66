#include "glassformer/models/transformer.h"

#include <cmath>
#include <iostream>

#include <gtest/gtest.h>

#include "glassformer/autograd/no_grad.h"
#include "glassformer/nn/random_weights.h"
#include "glassformer/ops/copy.h"

namespace glassformer::testing {
namespace {

// What no family combines: grouped heads, softcap, a window, norms of query and key, gated ReLU.
TransformerSpec hand_made(PositionSpec::Kind positions, bool pre_norm) {
  const Initial initial{Initial::Kind::kNormal, 0.3};
  BlockSpec block;
  block.self_attention = {.width = 24,
                          .heads = 6,
                          .key_heads = 2,
                          .head_size = 8,
                          .query_key_norm = true,
                          .softcap = 3,
                          .window = 5,
                          .initial = initial,
                          .output_initial = initial};
  block.feed_forward = {.width = 24,
                        .hidden = 40,
                        .activation = Activation::kRelu,
                        .gated = true,
                        .initial = initial,
                        .output_initial = initial};
  block.norm = {NormSpec::Kind::kLayer, 1e-5};
  block.pre_norm = pre_norm;
  TransformerSpec spec;
  spec.decoder = {.blocks = {block, block, block}, .causal = true};
  if (pre_norm) spec.decoder->final_norm = block.norm;
  spec.tokens = {.vocabulary = 50, .width = 24, .initial = initial};
  // Those that are added to the tokens belong to the embedding, the others to the attention.
  PositionSpec& where = positions == PositionSpec::Kind::kSinusoidal ? spec.tokens->positions
                                                                     : spec.decoder->positions;
  where.kind = positions;
  where.rotary.dim = 8;
  where.rotary_layout = RotaryOptions::Layout::kInterleaved;
  spec.head = {.kind = HeadSpec::Kind::kLanguageModel,
               .outputs = 50,
               .bias = false,
               .tied = true,
               .initial = initial};
  return spec;
}

std::vector<double> logits_on(const TransformerSpec& spec, TensorOptions options) {
  const NoGrad no_grad;
  RandomWeights weights(11, options);
  const Transformer model(spec, weights);
  std::vector<int64_t> ids;
  std::vector<int64_t> mask;
  for (int64_t i = 0; i < 2 * 13; ++i) {
    ids.push_back(i * 7 % 50);
    mask.push_back(i < 13 || i >= 16);  // the second is padded on the left
  }
  TransformerInput input;
  input.input_ids = to(from_vector(ids, {2, 13}), options.device);
  input.attention_mask = to(from_vector(mask, {2, 13}), options.device);
  return model(input).logits.to_vector<double>();
}

// The cpu kernels in float32 against the naive ones in float64.
TEST(Transformers, HandMadeSpecificationsEqualTheReference) {
  using Kind = PositionSpec::Kind;
  for (const Kind kind : {Kind::kNone, Kind::kSinusoidal, Kind::kRotary, Kind::kAlibi}) {
    for (const bool pre_norm : {false, true}) {
      const TransformerSpec spec = hand_made(kind, pre_norm);
      const auto ours = logits_on(spec, {DType::kFloat32, Device::kCpu});
      const auto exact = logits_on(spec, {DType::kFloat64, Device::kRef});
      ASSERT_EQ(ours.size(), exact.size());
      double error = 0;
      double size = 0;
      for (size_t i = 0; i < ours.size(); ++i) {
        error = std::max(error, std::abs(ours[i] - exact[i]));
        size = std::max(size, std::abs(exact[i]));
      }
      std::cout << "positions " << static_cast<int>(kind) << ", pre-norm " << pre_norm
                << ": relative error " << error / size << "\n";
      EXPECT_LT(error / size, 1e-5);
    }
  }
}

}  // namespace
}  // namespace glassformer::testing
