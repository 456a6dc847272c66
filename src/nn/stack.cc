#include "glassformer/nn/stack.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"
#include "glassformer/ops/backward.h"
#include "glassformer/ops/copy.h"
#include "glassformer/ops/gather.h"
#include "glassformer/ops/relative_positions.h"
#include "glassformer/ops/view.h"

namespace glassformer {
namespace {

// One more than the largest position.
int64_t length_for(const Tensor& positions) {
  const std::vector<int64_t> values = positions.to_vector<int64_t>();
  return values.empty() ? 1 : *std::max_element(values.begin(), values.end()) + 1;
}

// A block that keeps its inputs alone. What it reads besides them lives as long as its backward.
Tensor recomputed(const Block& layer, const Tensor& x, const BlockInput& input,
                  const std::shared_ptr<const RotaryTable>& table, const Context& context) {
  BlockInput rest = input;
  rest.cross.source = {};
  rest.self.pattern.bias = {};
  const BlockFunction run = [&layer, rest, table, context](const std::vector<Tensor>& in) {
    BlockInput whole = rest;
    whole.cross.source = in[1];
    whole.self.pattern.bias = in[2];
    return std::vector{layer(in[0], whole, context)};
  };
  return checkpoint(run, {x, input.cross.source, input.self.pattern.bias}, context.random).front();
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

// [heads, queries, keys], as many keys as queries.
Tensor Stack::relative_positions(int64_t queries) const {
  const RelativeBucketOptions options{.bidirectional = !spec_.causal,
                                      .num_buckets = spec_.positions.num_buckets,
                                      .max_distance = spec_.positions.max_distance};
  return relative_bias(relative_bias_, relative_position_buckets(queries, queries, options,
                                                                 relative_bias_.device()));
}

// [heads, distances]: of a query and the key so many places before it.
Tensor Stack::distance_bias(int64_t distances) const {
  const RelativeBucketOptions options{.bidirectional = !spec_.causal,
                                      .num_buckets = spec_.positions.num_buckets,
                                      .max_distance = spec_.positions.max_distance,
                                      .query_offset = distances - 1};
  const Tensor last = relative_bias(
      relative_bias_, relative_position_buckets(1, distances, options, relative_bias_.device()));
  std::vector<int64_t> backwards(static_cast<size_t>(distances));
  std::iota(backwards.rbegin(), backwards.rend(), int64_t{0});
  return index_select(reshape(last, {last.count() / distances, distances}), 1,
                      to(from_vector(backwards, {distances}), last.device()));
}

BlockInput Stack::block_input(const Tensor& x, const StackInput& input) const {
  BlockInput block;
  block.self.pattern = input.padding;
  block.self.pattern.causal = spec_.causal;
  block.self.rotary_options = {spec_.positions.rotary_layout, input.positions, 0};
  if (slopes_.defined()) block.self.pattern.alibi_slopes = to(slopes_, x.device());
  block.cross.pattern = input.source_padding;
  block.cross.source = input.source;
  if (input.cached != nullptr) {
    block.self.rows = &input.cached->self_rows;
    if (input.cached->cross != nullptr) block.cross.rows = &input.cached->cross_rows;
    if (relative_bias_.defined())
      block.self.distance_bias = distance_bias(block.self.rows->longest);
  } else if (relative_bias_.defined()) {
    block.self.pattern.bias = relative_positions(x.size(-2));
  }
  return block;
}

Tensor Stack::operator()(Tensor x, const StackInput& input, const Context& context) const {
  BlockInput block = block_input(x, input);
  std::shared_ptr<const RotaryTable> table;  // kept while the blocks read it
  if (rotary_) {
    const int64_t length = input.positions.defined() ? length_for(input.positions) : x.size(-2);
    const DType dtype = x.dtype() == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32;
    table = rotary_->get(length, {dtype, x.device()});
    block.self.rotary = table.get();
  }
  for (size_t i = 0; i < blocks_.size(); ++i) {
    if (const CacheCall* cached = input.cached; cached != nullptr) {
      block.self.memory = &cached->self->layer(static_cast<int64_t>(i));
      if (cached->cross != nullptr)
        block.cross.memory = &cached->cross->layer(static_cast<int64_t>(i));
    }
    x = context.recompute ? recomputed(blocks_[i], x, block, table, context)
                          : blocks_[i](x, block, context);
  }
  return final_norm_ ? probed(context, place_, "norm", (*final_norm_)(x)) : x;
}

std::unique_ptr<KvCache> Stack::make_cache(Keeps keeps, int64_t places,
                                           TensorOptions options) const {
  std::vector<KvCache::LayerSpec> layers;
  for (const BlockSpec& block : spec_.blocks) {
    const AttentionSpec& spec =
        keeps == Keeps::kSelf ? block.self_attention : block.cross_attention.value();
    layers.push_back({spec.key_heads, spec.head_size, spec.head_size});
  }
  return std::make_unique<KvCache>(layers, places, options);
}

void Stack::store_source(const Tensor& source, KvCache& cache, const Tensor& places) const {
  for (size_t i = 0; i < blocks_.size(); ++i)
    blocks_[i].store_source(source, cache.layer(static_cast<int64_t>(i)), places);
}

}  // namespace glassformer
