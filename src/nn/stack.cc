#include "glassformer/nn/stack.h"

#include <algorithm>

#include "base/check.h"
#include "glassformer/ops/copy.h"
#include "glassformer/ops/relative_positions.h"

namespace glassformer {
namespace {

// One more than the largest position.
int64_t length_for(const Tensor& positions) {
  const std::vector<int64_t> values = positions.to_vector<int64_t>();
  return values.empty() ? 1 : *std::max_element(values.begin(), values.end()) + 1;
}

}  // namespace

Stack::Stack(const Weights& weights, const StackSpec& spec) : place_(weights.place()), spec_(spec) {
  for (size_t i = 0; i < spec.blocks.size(); ++i)
    blocks_.emplace_back(weights / std::to_string(i), spec.blocks[i]);
  if (spec.final_norm) final_norm_.emplace(weights / "norm", spec.width(), *spec.final_norm);
  const int64_t heads = spec.blocks.front().self_attention.heads;
  switch (spec.positions.kind) {
    case PositionSpec::Kind::kRotary:
      rotary_ = std::make_unique<RotaryTables>(spec.positions.rotary);
      break;
    case PositionSpec::Kind::kAlibi: slopes_ = alibi_slopes(heads); break;
    case PositionSpec::Kind::kRelative:
      relative_bias_ = (weights / "relative_bias")
                           .get("weight", {spec.positions.num_buckets, heads},
                                spec.blocks.front().self_attention.initial);
      break;
    default: break;
  }
}

Tensor Stack::relative_positions(int64_t queries, int64_t past) const {
  const RelativeBucketOptions options{.bidirectional = !spec_.causal,
                                      .num_buckets = spec_.positions.num_buckets,
                                      .max_distance = spec_.positions.max_distance,
                                      .query_offset = past};
  return relative_bias(relative_bias_, relative_position_buckets(queries, past + queries, options,
                                                                 relative_bias_.device()));
}

BlockInput Stack::block_input(const Tensor& x, const StackInput& input) const {
  const int64_t queries = x.size(-2);
  const int64_t past = input.cache != nullptr ? input.cache->length() : 0;
  BlockInput block;
  block.self.pattern = input.padding;
  block.self.pattern.causal = spec_.causal;
  block.self.rotary_options = {spec_.positions.rotary_layout, input.positions,
                               input.positions.defined() ? 0 : past};
  if (slopes_.defined()) block.self.pattern.alibi_slopes = to(slopes_, x.device());
  if (relative_bias_.defined()) block.self.pattern.bias = relative_positions(queries, past);
  block.cross.pattern = input.source_padding;
  block.cross.source = input.source;
  return block;
}

Tensor Stack::operator()(Tensor x, const StackInput& input, const Context& context) const {
  BlockInput block = block_input(x, input);
  std::shared_ptr<const RotaryTable> table;  // kept while the blocks read it
  if (rotary_) {
    const int64_t past = input.cache != nullptr ? input.cache->length() : 0;
    const int64_t length =
        input.positions.defined() ? length_for(input.positions) : past + x.size(-2);
    const DType dtype = x.dtype() == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32;
    table = rotary_->get(length, {dtype, x.device()});
    block.self.rotary = table.get();
  }
  for (size_t i = 0; i < blocks_.size(); ++i) {
    if (input.cache != nullptr) {
      block.self.cache = &input.cache->self(static_cast<int64_t>(i));
      block.cross.fixed = &input.cache->cross(static_cast<int64_t>(i));
    }
    x = blocks_[i](x, block, context);
  }
  return final_norm_ ? probed(context, place_, "norm", (*final_norm_)(x)) : x;
}

}  // namespace glassformer
