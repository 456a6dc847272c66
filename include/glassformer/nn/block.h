#pragma once

#include <optional>
#include <string>

#include "glassformer/nn/attention_layer.h"
#include "glassformer/nn/feed_forward.h"

namespace glassformer {

struct BlockSpec {
  AttentionSpec self_attention;
  std::optional<AttentionSpec> cross_attention;
  FeedForwardSpec feed_forward;
  NormSpec norm;
  bool pre_norm = false;  // norm before the sub-layer, otherwise after the residual
};

struct BlockInput {
  AttentionInput self, cross;
};

// One layer of an encoder or decoder: self-attention, cross-attention where there is one, and the
// feed-forward network, each with a residual and a norm.
//   pre:  x + sublayer(norm(x))     post: norm(x + sublayer(x))
// x: [batch, length, width] or packed [tokens, width].
// Steps: self_attention.*, residual_1, norm_1, (cross_attention.*, residual_2, norm_2,)
// feed_forward.*, and the residual and norm after that; `block` is the result.
class Block {
 public:
  Block(const Weights& weights, const BlockSpec& spec);
  Tensor operator()(const Tensor& x, const BlockInput& input, const Context& context) const;
  // Stores the keys and values that the cross-attention makes from `source`.
  void store_source(const Tensor& source, const KeyValue& memory, const Tensor& places) const {
    cross_attention_.value().store(source, memory, places);
  }

 private:
  struct Names {
    const char *residual, *norm;
  };
  // One sub-layer with what stands around it. `run` takes its input and the residual to add.
  template <class Sublayer>
  Tensor around(const Tensor& x, const Norm& norm, Names names, const Context& context,
                const Sublayer& run) const;

  std::string place_;
  bool pre_norm_;
  AttentionLayer self_attention_;
  Norm norm_1_;
  std::optional<AttentionLayer> cross_attention_;
  std::optional<Norm> norm_2_;
  FeedForward feed_forward_;
  Norm last_norm_;
};

}  // namespace glassformer
