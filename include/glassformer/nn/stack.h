#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "glassformer/nn/block.h"
#include "glassformer/nn/positions.h"

namespace glassformer {

struct StackSpec {
  std::vector<BlockSpec> blocks;
  bool causal = false;
  // Kinds that act inside the attention; the others belong to the embedding.
  PositionSpec positions = {};
  std::optional<NormSpec> final_norm = {};

  int64_t width() const { return blocks.front().self_attention.width; }
};

struct StackInput {
  AttentionOptions padding = {};  // which keys are there: key_lengths, mask or packed starts
  Tensor positions = {};          // int64 [length] or [batch, length], where they are not 0, 1, ...
  Tensor source = {};             // the encoder's output, for cross-attention
  AttentionOptions source_padding = {};
  const CacheCall* cached = nullptr;  // with positions; x is packed
};

// The blocks of an encoder or decoder, one after the other, and the norm after the last.
// x: [batch, length, width] or packed [tokens, width]. Steps: N.*, and `norm`.
class Stack {
 public:
  Stack(const Weights& weights, const StackSpec& spec);
  Tensor operator()(Tensor x, const StackInput& input, const Context& context) const;

  // A cache for so many tokens: of this stack's own keys and values, or of its source's.
  enum class Keeps : uint8_t { kSelf, kSource };
  std::unique_ptr<KvCache> make_cache(Keeps keeps, int64_t places, TensorOptions options) const;
  // Stores what every block's cross-attention makes from `source`, packed [tokens, width].
  void store_source(const Tensor& source, KvCache& cache, const Tensor& places) const;

 private:
  BlockInput block_input(const Tensor& x, const StackInput& input) const;
  Tensor relative_positions(int64_t queries) const;
  Tensor distance_bias(int64_t distances) const;

  std::string place_;
  StackSpec spec_;
  std::vector<Block> blocks_;
  std::optional<Norm> final_norm_;
  std::unique_ptr<RotaryTables> rotary_;
  Tensor slopes_;         // ALiBi
  Tensor relative_bias_;  // T5: [buckets, heads]
};

}  // namespace glassformer
