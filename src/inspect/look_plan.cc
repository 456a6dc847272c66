#include "inspect/look_plan.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/check.h"

namespace glassformer {
namespace {

// Up to so many queries, what an attention is like is measured over all of them; beyond, over some
// that lie evenly, so that memory stays linear in the length.
constexpr int64_t kMeasuredWhole = 1024, kMeasuredRows = 256;
constexpr int64_t kMostBytes = int64_t{4} << 30;
// Steps of every layer are kept where they are so few numbers; otherwise those of the last.
constexpr int64_t kFewNumbers = 1 << 20;

bool in_or_empty(const std::vector<int64_t>& list, int64_t value) {
  return list.empty() || std::find(list.begin(), list.end(), value) != list.end();
}

int64_t length_of_input(const Tensor& ids, const Tensor& vectors) {
  if (ids.defined()) return ids.size(-1);
  return vectors.defined() ? vectors.size(1) : 0;
}

}  // namespace

LookPlan::LookPlan(const Model& model, const LookInput& input, const LookOptions& options)
    : options_(options) {
  list_stacks(model, input.input);
  for (const Stack& stack : stacks_) list_attentions(stack);
  check();
  choose_steps();
}

void LookPlan::list_stacks(const Model& model, const TransformerInput& input) {
  const TransformerSpec& spec = model.transformer().spec();
  const int64_t own =
      spec.image ? spec.image->tokens() : length_of_input(input.input_ids, input.inputs_embeds);
  if (spec.encoder) stacks_.push_back({"encoder", &*spec.encoder, own});
  if (spec.decoder) {
    const int64_t behind = length_of_input(input.decoder_input_ids, input.decoder_inputs_embeds);
    stacks_.push_back({"decoder", &*spec.decoder, spec.encoder ? behind : own});
  }
  for (const Stack& stack : stacks_)
    require<ValueError>(stack.length > 0, "look: expected tokens for the {}, found none",
                        stack.name);
}

std::vector<Report::Layer> LookPlan::layers() const {
  std::vector<Report::Layer> layers;
  for (const Stack& stack : stacks_)
    for (size_t i = 0; i < stack.spec->blocks.size(); ++i)
      layers.push_back({fmt::format("{}.{}", stack.name, i), stack.name});
  return layers;
}

void LookPlan::list_attentions(const Stack& stack) {
  for (size_t i = 0; i < stack.spec->blocks.size(); ++i) {
    const BlockSpec& block = stack.spec->blocks[i];
    const auto add = [&](const char* kind, const AttentionSpec& spec, const char* keys,
                         bool cross) {
      attentions_.push_back({.name = fmt::format("{}.{}.{}", stack.name, i, kind),
                             .layer = static_cast<int64_t>(i),
                             .cross = cross,
                             .causal = stack.spec->causal && !cross,
                             .queries = stack.name,
                             .keys = keys,
                             .heads = spec.heads,
                             .head_size = spec.head_size});
    };
    add("self_attention", block.self_attention, stack.name, false);
    if (block.cross_attention) add("cross_attention", *block.cross_attention, "encoder", true);
  }
}

int64_t LookPlan::length_of(const std::string& side) const {
  return std::find_if(stacks_.begin(), stacks_.end(),
                      [&](const Stack& stack) { return side == stack.name; })
      ->length;
}

void LookPlan::check() const {
  int64_t bytes = 0, deepest = 0, most_heads = 0;
  for (const Report::Attention& attention : attentions_) {
    deepest = std::max(deepest, attention.layer);
    most_heads = std::max(most_heads, attention.heads);
    if (!kept(attention)) continue;
    const auto heads = static_cast<int64_t>(options_.heads.size());
    bytes += 4 * (heads > 0 ? heads : attention.heads) * length_of(attention.queries) *
             length_of(attention.keys);
  }
  for (const int64_t layer : options_.layers)
    require<IndexError>(layer >= 0 && layer <= deepest, "expected a layer from 0 to {}, found {}",
                        deepest, layer);
  for (const int64_t head : options_.heads)
    require<IndexError>(head >= 0 && head < most_heads, "expected a head from 0 to {}, found {}",
                        most_heads - 1, head);
  require<ValueError>(bytes <= kMostBytes,
                      "the weights would take {:.1f} GiB; choose layers and heads",
                      static_cast<double>(bytes) / static_cast<double>(1 << 30));
}

// The followed query stands where the prediction is made, unless one was asked for.
void LookPlan::choose_steps() {
  for (const Stack& stack : stacks_)
    steps_.rows[stack.name] = stack.spec->causal ? stack.length - 1 : 0;
  if (options_.row) {
    const Stack& last = stacks_.back();
    require<IndexError>(*options_.row >= 0 && *options_.row < last.length,
                        "expected a row from 0 to {}, found {}", last.length - 1, *options_.row);
    steps_.rows[last.name] = *options_.row;
  }
  if (!options_.steps) return;
  int64_t numbers = 0, deepest = 0;
  for (const Report::Attention& attention : attentions_) {
    numbers += 3 * length_of(attention.keys) * attention.heads * attention.head_size;
    deepest = std::max(deepest, attention.layer);
  }
  for (const Report::Attention& attention : attentions_) {
    const bool every = !options_.layers.empty() || numbers <= kFewNumbers;
    if (in_or_empty(options_.layers, attention.layer) && (every || attention.layer == deepest))
      steps_.attentions.push_back(attention.name);
  }
}

const Report::Attention* LookPlan::attention_of(const std::string& name,
                                                std::string_view step) const {
  if (!name.ends_with(step)) return nullptr;
  const std::string_view place(name.data(), name.size() - step.size());
  const auto found =
      std::find_if(attentions_.begin(), attentions_.end(),
                   [&](const Report::Attention& attention) { return attention.name == place; });
  return found == attentions_.end() ? nullptr : &*found;
}

bool LookPlan::kept(const Report::Attention& attention) const {
  return options_.weights && in_or_empty(options_.layers, attention.layer);
}

bool LookPlan::needs_every_row(const Report::Attention& attention) const {
  return length_of(attention.queries) <= kMeasuredWhole || is_probed(attention.name + ".weights") ||
         (options_.rollout == LookOptions::Rollout::kAttention && !attention.cross);
}

bool LookPlan::by_itself(const Report::Attention& attention) const {
  return kept(attention) && !options_.heads.empty() && !needs_every_row(attention);
}

std::vector<int64_t> LookPlan::measured_rows(const Report::Attention& attention) const {
  if (needs_every_row(attention) || (kept(attention) && !by_itself(attention))) return {};
  const int64_t queries = length_of(attention.queries);
  std::vector<int64_t> rows;
  for (int64_t i = 0; i < kMeasuredRows; ++i)
    rows.push_back((2 * i + 1) * queries / (2 * kMeasuredRows));
  return rows;
}

bool LookPlan::is_probed(const std::string& name) const {
  return std::any_of(options_.probes.begin(), options_.probes.end(),
                     [&](const std::string& pattern) { return matches(pattern, name); });
}

bool LookPlan::is_step(const std::string& name) const {
  static constexpr const char* kInside[] = {".query",         ".key",    ".value", ".scaled_scores",
                                            ".masked_scores", ".concat", ".output"};
  static constexpr const char* kAround[] = {"residual_", "norm_", "feed_forward."};
  for (const std::string& attention : steps_.attentions) {
    const std::string layer = attention.substr(0, attention.rfind('.') + 1);
    for (const char* step : kInside)
      if (name == attention + step) return true;
    for (const char* step : kAround)
      if (name.starts_with(layer + step)) return true;
  }
  return false;
}

int64_t LookPlan::row_for(const std::string& name) const {
  return steps_.rows.at(name.substr(0, name.find('.')));
}

}  // namespace glassformer
