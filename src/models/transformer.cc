#include "glassformer/models/transformer.h"

#include "base/check.h"
#include "glassformer/ops/arithmetic.h"
#include "glassformer/ops/copy.h"
#include "glassformer/ops/embedding.h"
#include "glassformer/ops/gather.h"
#include "glassformer/ops/view.h"
#include "models/padding.h"

namespace glassformer {
namespace {

// The token at `index` of every sequence: [batch, width].
Tensor token_at(const Tensor& hidden, int64_t index, const Tensor& starts) {
  if (!starts.defined()) return select(hidden, 1, index);
  return gather_rows(hidden, slice(starts, 0, 0, -1));
}

// Positions first, first + 1, ... within each packed sequence.
Tensor packed_positions(const Tensor& starts, int64_t first) {
  const std::vector<int64_t> bounds = starts.to_vector<int64_t>();
  require<ValueError>(bounds.size() >= 2 && bounds.front() == 0,
                      "starts: expected 0 first and at least one sequence, found {} numbers",
                      bounds.size());
  std::vector<int64_t> positions;
  for (size_t s = 0; s + 1 < bounds.size(); ++s)
    for (int64_t i = bounds[s]; i < bounds[s + 1]; ++i) positions.push_back(first + i - bounds[s]);
  return to(from_vector(positions, {static_cast<int64_t>(positions.size())}), starts.device());
}

AttentionOptions padding_for(const char* name, const Tensor& mask, const Tensor& starts,
                             const Tensor& x) {
  if (!starts.defined()) return padding_of(name, mask, x.size(0), x.size(1));
  AttentionOptions packed;
  packed.query_starts = packed.key_starts = starts;
  return packed;
}

// What the embedding and the stack are given of a token input.
TokenInput token_input(const Tensor& ids, const Tensor& vectors, const TransformerInput& input,
                       const PositionSpec& positions) {
  TokenInput tokens{.ids = ids, .vectors = vectors, .types = input.token_type_ids};
  tokens.positions = input.position_ids;
  if (input.starts.defined() && !tokens.positions.defined())
    tokens.positions = packed_positions(input.starts, positions.first_row);
  return tokens;
}

}  // namespace

Transformer::Transformer(const TransformerSpec& spec, WeightSource& source, bool pack)
    : spec_(spec) {
  const Weights weights(source, parameters_, pack);
  if (spec.image) image_.emplace(weights / "embedding", *spec.image);
  if (spec.tokens) tokens_.emplace(weights / "embedding", *spec.tokens);
  if (spec.decoder_tokens)
    decoder_tokens_.emplace(weights / "decoder_embedding", *spec.decoder_tokens,
                            spec.shared_tokens ? tokens_->tokens() : WeightMatrix());
  if (spec.encoder) encoder_.emplace(weights / "encoder", *spec.encoder);
  if (spec.decoder) decoder_.emplace(weights / "decoder", *spec.decoder);
  head_ = make_head(weights / "head");
}

TensorOptions Transformer::options() const {
  for (const Parameter& parameter : parameters_)
    if (parameter.value.defined()) return {parameter.dtype, parameter.value.device()};
  return {};
}

Transformer::Head Transformer::make_head(const Weights& weights) const {
  const HeadSpec& spec = spec_.head;
  const int64_t width = spec_.last_stack().width();
  Head head;
  if (spec.transform) {
    head.dense.emplace(weights / "dense", LinearSpec{width, width, true, spec.initial});
    if (spec.transform->norm) head.norm.emplace(weights / "norm", width, *spec.transform->norm);
  }
  if (spec.outputs == 0) return head;
  if (spec.tied) {
    const TokenEmbedding& table = decoder_tokens_ ? *decoder_tokens_ : *tokens_;
    Tensor bias = spec.bias ? (weights / "output").get("bias", {spec.outputs}, {}) : Tensor();
    if (spec.fixed_bias && bias.defined()) bias.set_requires_grad(false);
    head.output.emplace(table.tokens(), bias, weights.pack());
  } else {
    head.output.emplace(weights / "output",
                        LinearSpec{width, spec.outputs, spec.bias, spec.initial});
  }
  if (spec.distillation)
    head.distillation.emplace(weights / "distillation",
                              LinearSpec{width, spec.outputs, spec.bias, spec.initial});
  return head;
}

Tensor Transformer::encode(const TransformerInput& input, const Context& context) const {
  require<ValueError>(encoder_.has_value(), "encode: this model has no encoder");
  StackInput stack;
  Tensor x;
  if (image_) {
    require<ValueError>(input.pixel_values.defined(), "expected pixel_values, found none");
    x = (*image_)(input.pixel_values, context);
  } else {
    const TokenInput tokens =
        token_input(input.input_ids, input.inputs_embeds, input, spec_.tokens->positions);
    x = (*tokens_)(tokens, context);
    stack.positions = tokens.positions;
    stack.padding = padding_for("attention_mask", input.attention_mask, input.starts, x);
  }
  return (*encoder_)(x, stack, context);
}

Tensor Transformer::decode(const TransformerInput& input, const Tensor& encoded,
                           const Context& context) const {
  require<ValueError>(decoder_.has_value(), "decode: this model has no decoder");
  const bool behind_encoder = encoder_.has_value();
  TransformerInput own = input;
  if (behind_encoder) own.token_type_ids = own.position_ids = own.starts = {};
  const TokenInput tokens =
      behind_encoder
          ? token_input(input.decoder_input_ids, input.decoder_inputs_embeds, own,
                        spec_.decoder_tokens->positions)
          : token_input(input.input_ids, input.inputs_embeds, own, spec_.tokens->positions);
  const Tensor x = (behind_encoder ? *decoder_tokens_ : *tokens_)(tokens, context);
  StackInput stack;
  stack.positions = tokens.positions;
  stack.padding = padding_for(behind_encoder ? "decoder_attention_mask" : "attention_mask",
                              behind_encoder ? input.decoder_attention_mask : input.attention_mask,
                              own.starts, x);
  if (behind_encoder) {
    stack.source = encoded;
    stack.source_padding =
        padding_of("attention_mask", input.attention_mask, encoded.size(0), encoded.size(1));
  }
  return (*decoder_)(x, stack, context);
}

Tensor Transformer::transformed(const Tensor& x, const Context& context) const {
  if (!head_.dense) return x;
  const Tensor y = (*head_.dense)(x, {.activation = spec_.head.transform->activation}, context);
  return probed(context, "head", "transform", head_.norm ? (*head_.norm)(y) : y);
}

TransformerOutput Transformer::classify(const Tensor& hidden, const Context& context,
                                        const Tensor& starts) const {
  const HeadSpec& spec = spec_.head;
  TransformerOutput output;
  const Tensor pooled = transformed(token_at(hidden, 0, starts), context);
  output.logits = (*head_.output)(dropped(context, spec.dropout, pooled), {}, context);
  if (spec.distillation) {
    output.cls_logits = output.logits;
    output.distillation_logits = (*head_.distillation)(token_at(hidden, 1, {}), {}, context);
    output.logits = (output.cls_logits + output.distillation_logits) / 2;
  }
  return output;
}

TransformerOutput Transformer::head(const Tensor& hidden, const Context& context,
                                    const Tensor& starts) const {
  const HeadSpec& spec = spec_.head;
  TransformerOutput output;
  switch (spec.kind) {
    case HeadSpec::Kind::kNone: break;
    case HeadSpec::Kind::kPooler:
      output.pooler_output = transformed(token_at(hidden, 0, starts), context);
      break;
    case HeadSpec::Kind::kClassification: output = classify(hidden, context, starts); break;
    case HeadSpec::Kind::kLanguageModel:
    case HeadSpec::Kind::kTokens:
    case HeadSpec::Kind::kQuestion: {
      Tensor x = dropped(context, spec.dropout, transformed(hidden, context));
      if (spec.scale != 1) x = x * spec.scale;
      output.logits = (*head_.output)(x, {}, context);
    }
  }
  output.last_hidden_state = hidden;
  if (!output.logits.defined()) return output;
  output.logits = probed(context, "", "logits", output.logits);
  if (spec.kind == HeadSpec::Kind::kQuestion) {
    output.start_logits = select(output.logits, -1, 0);
    output.end_logits = select(output.logits, -1, 1);
    output.logits = {};
  }
  return output;
}

TransformerOutput Transformer::operator()(const TransformerInput& input,
                                          const Context& context) const {
  Tensor encoded = input.encoder_output;
  if (encoder_ && !encoded.defined()) encoded = encode(input, context);
  const Tensor hidden = decoder_ ? decode(input, encoded, context) : encoded;
  TransformerOutput output = head(hidden, context, input.starts);
  if (decoder_ && encoder_) output.encoder_last_hidden_state = encoded;
  return output;
}

}  // namespace glassformer
