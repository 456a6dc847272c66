#include "glassformer/inspect/anatomy.h"

#include <fmt/format.h>

namespace glassformer {
namespace {

// The part of a model that a weight belongs to: "encoder.3.self_attention", "encoder.norm", "head".
std::string part_of(const std::string& name) {
  const size_t first = name.find('.');
  std::string top = name.substr(0, first);
  if (top != "encoder" && top != "decoder") return top;
  size_t end = name.find('.', first + 1);
  const bool numbered = name[first + 1] >= '0' && name[first + 1] <= '9';
  if (numbered) end = name.find('.', end + 1);
  return name.substr(0, end);
}

int64_t attention_cost(const AttentionSpec& spec) {
  const int64_t inner = spec.heads * spec.head_size, key_inner = spec.key_heads * spec.head_size;
  return 2 * spec.width * (2 * inner + 2 * key_inner);
}

Anatomy::Cost cost_of(const std::string& name, const StackSpec& stack, int64_t head) {
  Anatomy::Cost cost{.stack = name};
  for (const BlockSpec& block : stack.blocks) {
    const FeedForwardSpec& inner = block.feed_forward;
    cost.per_token += attention_cost(block.self_attention) +
                      2 * inner.width * inner.hidden * (inner.gated ? 3 : 2);
    if (block.cross_attention) cost.per_token += attention_cost(*block.cross_attention);
    cost.per_token_and_key += 4 * block.self_attention.heads * block.self_attention.head_size;
  }
  cost.per_token += head;
  return cost;
}

// Of the output layer, where it runs for every token.
int64_t head_cost(const TransformerSpec& spec) {
  const HeadSpec& head = spec.head;
  const int64_t width = spec.last_stack().width();
  const bool every_token = head.kind == HeadSpec::Kind::kLanguageModel ||
                           head.kind == HeadSpec::Kind::kTokens ||
                           head.kind == HeadSpec::Kind::kQuestion;
  if (!every_token) return 0;
  return 2 * width * head.outputs + (head.transform ? 2 * width * width : 0);
}

std::string positions_in_words(const PositionSpec& positions) {
  switch (positions.kind) {
    case PositionSpec::Kind::kNone: return "none";
    case PositionSpec::Kind::kSinusoidal: return "sinusoidal";
    case PositionSpec::Kind::kLearned:
      return fmt::format("learned, {}", positions.max_positions - positions.first_row);
    case PositionSpec::Kind::kRotary:
      return fmt::format("rotary, theta {}", positions.rotary.theta);
    case PositionSpec::Kind::kAlibi: return "ALiBi";
    case PositionSpec::Kind::kRelative:
      return fmt::format("relative bias, {} buckets", positions.num_buckets);
  }
  return {};
}

std::string stack_in_words(const char* name, const StackSpec& stack) {
  const BlockSpec& block = stack.blocks.front();
  const AttentionSpec& attention = block.self_attention;
  std::string text =
      fmt::format("{}: {} layers, width {}, {} heads of {}", name, stack.blocks.size(),
                  stack.width(), attention.heads, attention.head_size);
  if (attention.key_heads != attention.heads)
    text += fmt::format(" ({} key heads)", attention.key_heads);
  text +=
      fmt::format(", feed-forward {} {}{}", block.feed_forward.hidden,
                  block.feed_forward.gated ? "gated " : "", name_of(block.feed_forward.activation));
  text += fmt::format(", {} {}", block.pre_norm ? "pre" : "post",
                      block.norm.kind == NormSpec::Kind::kLayer ? "LayerNorm" : "RMSNorm");
  if (block.cross_attention) text += ", cross-attention";
  if (stack.causal) text += ", causal";
  for (const BlockSpec& one : stack.blocks)
    if (one.self_attention.window > 0)
      return text + fmt::format(", window {}", one.self_attention.window);
  return text;
}

const char* name_of(HeadSpec::Kind kind) {
  switch (kind) {
    case HeadSpec::Kind::kNone: return "none";
    case HeadSpec::Kind::kPooler: return "pooler";
    case HeadSpec::Kind::kLanguageModel: return "language model";
    case HeadSpec::Kind::kClassification: return "classification";
    case HeadSpec::Kind::kTokens: return "token classification";
    case HeadSpec::Kind::kQuestion: return "question answering";
  }
  return "";
}

Anatomy::Weight weight_of(const Parameter& parameter, const Model& model) {
  Anatomy::Weight weight;
  weight.name = parameter.name;
  weight.stored_name = model.stored_name(parameter.name);
  if (parameter.quantised.defined()) {
    weight.shape = parameter.quantised.shape();
    weight.type = name_of(parameter.quantised.scheme);
    weight.bytes = parameter.quantised.bytes();
  } else {
    weight.shape = parameter.value.shape();
    weight.type = name_of(parameter.value.dtype());
    weight.bytes = parameter.value.count() * static_cast<int64_t>(size_of(parameter.value.dtype()));
  }
  return weight;
}

}  // namespace

Anatomy anatomy_of(const Model& model) {
  Anatomy anatomy;
  for (const Parameter& parameter : model.transformer().parameters()) {
    const std::string part = part_of(parameter.name);
    if (anatomy.parts.empty() || anatomy.parts.back().name != part)
      anatomy.parts.push_back({.name = part});
    const Anatomy::Weight weight = weight_of(parameter, model);
    const int64_t count = count_of(weight.shape), bytes = weight.bytes;
    anatomy.parts.back().parameters += count;
    anatomy.parts.back().bytes += bytes;
    anatomy.parameters += count;
    anatomy.bytes += bytes;
    anatomy.weights.push_back(weight);
  }
  const TransformerSpec& spec = model.transformer().spec();
  const int64_t head = head_cost(spec);
  if (spec.encoder)
    anatomy.costs.push_back(cost_of("encoder", *spec.encoder, spec.decoder ? 0 : head));
  if (spec.decoder) anatomy.costs.push_back(cost_of("decoder", *spec.decoder, head));
  return anatomy;
}

std::vector<std::string> description_of(const TransformerSpec& spec) {
  std::vector<std::string> lines;
  if (spec.tokens) {
    const PositionSpec& own = spec.tokens->positions;
    const PositionSpec& inner = spec.last_stack().positions;
    lines.push_back(
        fmt::format("input: {} tokens{}, positions: {}", spec.tokens->vocabulary,
                    spec.tokens->types > 0 ? fmt::format(", {} segments", spec.tokens->types) : "",
                    positions_in_words(own.kind == PositionSpec::Kind::kNone ? inner : own)));
  }
  if (spec.image)
    lines.push_back(fmt::format("input: pictures of {}x{}, {} patches of {}x{}, [CLS]{}",
                                spec.image->height, spec.image->width, spec.image->patches(),
                                spec.image->patch_height, spec.image->patch_width,
                                spec.image->distillation_token ? " and a distillation token" : ""));
  if (spec.encoder) lines.push_back(stack_in_words("encoder", *spec.encoder));
  if (spec.decoder) lines.push_back(stack_in_words("decoder", *spec.decoder));
  std::string head = fmt::format("head: {}", name_of(spec.head.kind));
  if (spec.head.outputs > 0) head += fmt::format(", {} outputs", spec.head.outputs);
  if (spec.head.tied) head += ", tied to the token table";
  lines.push_back(head);
  return lines;
}

}  // namespace glassformer
