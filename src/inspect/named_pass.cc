#include "glassformer/inspect/named_pass.h"

#include <algorithm>

#include <fmt/ranges.h>

#include "base/check.h"
#include "glassformer/autograd/no_grad.h"
#include "glassformer/inspect/capture.h"
#include "glassformer/ops/copy.h"

namespace glassformer {
namespace {

struct InputName {
  const char* name;
  Tensor TransformerInput::*member;
  bool floating;
};

constexpr InputName kInputs[] = {
    {"input_ids", &TransformerInput::input_ids, false},
    {"attention_mask", &TransformerInput::attention_mask, false},
    {"token_type_ids", &TransformerInput::token_type_ids, false},
    {"position_ids", &TransformerInput::position_ids, false},
    {"inputs_embeds", &TransformerInput::inputs_embeds, true},
    {"pixel_values", &TransformerInput::pixel_values, true},
    {"decoder_input_ids", &TransformerInput::decoder_input_ids, false},
    {"decoder_attention_mask", &TransformerInput::decoder_attention_mask, false},
    {"decoder_inputs_embeds", &TransformerInput::decoder_inputs_embeds, true},
};

struct OutputName {
  const char* name;
  Tensor TransformerOutput::*member;
};

constexpr OutputName kOutputs[] = {
    {"logits", &TransformerOutput::logits},
    {"start_logits", &TransformerOutput::start_logits},
    {"end_logits", &TransformerOutput::end_logits},
    {"cls_logits", &TransformerOutput::cls_logits},
    {"distillation_logits", &TransformerOutput::distillation_logits},
    {"pooler_output", &TransformerOutput::pooler_output},
    {"last_hidden_state", &TransformerOutput::last_hidden_state},
    {"encoder_last_hidden_state", &TransformerOutput::encoder_last_hidden_state},
};

TransformerInput input_from(const Model& model, const NamedTensors& named) {
  const TensorOptions options = model.transformer().options();
  TransformerInput input;
  for (const auto& [name, tensor] : named) {
    const auto* known = std::ranges::find(kInputs, name, &InputName::name);
    if (known == std::end(kInputs)) {
      std::vector<std::string> names;
      for (const InputName& one : kInputs) names.emplace_back(one.name);
      throw ValueError(
          fmt::format("unknown input '{}'; there are: {}", name, fmt::join(names, ", ")));
    }
    require<DTypeError>(is_floating(tensor.dtype()) == known->floating ||
                            (!known->floating && tensor.dtype() == DType::kBool),
                        "input '{}': expected {}, found {}", name,
                        known->floating ? "floating" : "whole numbers", name_of(tensor.dtype()));
    input.*known->member =
        to(cast(tensor, known->floating ? options.dtype : DType::kInt64), options.device);
  }
  return input;
}

// The steps of one stack under Hugging Face's names.
struct StackNames {
  std::string stack, embedding;  // of ours
  std::string prefix;            // of theirs: "", "encoder_", "decoder_"
  const StackSpec* spec;
};

std::vector<StackNames> stacks_of(const TransformerSpec& spec) {
  if (!spec.decoder) return {{"encoder", "embedding", "", &*spec.encoder}};
  if (!spec.encoder) return {{"decoder", "embedding", "", &*spec.decoder}};
  return {{"encoder", "embedding", "encoder_", &*spec.encoder},
          {"decoder", "decoder_embedding", "decoder_", &*spec.decoder}};
}

// Their names of what we were asked for, and our names of the same steps.
std::vector<std::pair<std::string, std::string>> wanted_steps(const TransformerSpec& spec,
                                                              const NamedPassOptions& options) {
  std::vector<std::pair<std::string, std::string>> names;
  for (const StackNames& stack : stacks_of(spec)) {
    const size_t layers = stack.spec->blocks.size();
    if (options.hidden_states)
      names.emplace_back(stack.prefix + "hidden_states.0", stack.embedding);
    for (size_t i = 0; i < layers; ++i) {
      const std::string place = fmt::format("{}.{}", stack.stack, i);
      if (options.attentions) {
        names.emplace_back(fmt::format("{}attentions.{}", stack.prefix, i),
                           place + ".self_attention.weights");
        if (stack.spec->blocks[i].cross_attention)
          names.emplace_back(fmt::format("cross_attentions.{}", i),
                             place + ".cross_attention.weights");
      }
      // Of text models the last one is normed; of pictures it is not.
      const bool normed = i + 1 == layers && stack.spec->final_norm && !spec.image;
      if (options.hidden_states)
        names.emplace_back(fmt::format("{}hidden_states.{}", stack.prefix, i + 1),
                           normed ? stack.stack + ".norm" : place + ".block");
    }
  }
  return names;
}

}  // namespace

NamedTensors named_pass(const Model& model, const NamedTensors& inputs,
                        const NamedPassOptions& options) {
  const NoGrad no_grad;
  const auto steps = wanted_steps(model.transformer().spec(), options);
  std::vector<std::string> patterns = options.probes;
  for (const auto& [theirs, ours] : steps) patterns.push_back(ours);
  Capture capture(patterns);
  const Context context{.probe = patterns.empty() ? nullptr : &capture};
  const TransformerOutput output = model(input_from(model, inputs), context);

  NamedTensors named;
  for (const OutputName& one : kOutputs)
    if ((output.*one.member).defined()) named[one.name] = output.*one.member;
  for (const auto& [theirs, ours] : steps) named[theirs] = capture.value(ours);
  for (const std::string& pattern : options.probes) {
    bool found = false;
    for (const auto& [name, value] : capture.values()) {
      if (!matches(pattern, name)) continue;
      named[name] = value;
      found = true;
    }
    require<ValueError>(found, "probe '{}' fits no step; there are: {}", pattern,
                        fmt::join(capture.seen(), ", "));
  }
  return named;
}

}  // namespace glassformer
