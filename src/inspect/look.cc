#include "glassformer/inspect/look.h"

#include <algorithm>

#include <fmt/ranges.h>

#include "base/check.h"
#include "glassformer/autograd/no_grad.h"
#include "glassformer/inspect/alignment.h"
#include "glassformer/inspect/lens.h"
#include "glassformer/inspect/rollout.h"
#include "glassformer/inspect/saliency.h"
#include "glassformer/ops/create.h"
#include "inspect/look_probe.h"
#include "inspect/prediction.h"

namespace glassformer {
namespace {

std::string stack_name(const LookPlan& plan, const LookInput& input) {
  if (plan.stacks().size() == 2) return "encoder_decoder";
  return input.picture ? "vision" : plan.stacks().front().name;
}

class Look {
 public:
  Look(const Model& model, const LookInput& input, const LookOptions& options)
      : model_(model),
        input_(input),
        options_(options),
        plan_(model, input, options),
        probe_(plan_, input, options, report_) {}

  Report run() {
    const NoGrad no_grad;
    report_.model = {.name = {},
                     .family = model_.config().model_type,
                     .stack = stack_name(plan_, input_),
                     .description = description_of(model_.transformer().spec()),
                     .anatomy = anatomy_of(model_)};
    report_.sides = input_.sides;
    report_.picture = input_.picture;
    report_.layers = plan_.layers();
    report_.steps = plan_.steps();
    const TransformerOutput output = run_model();
    report_.prediction = prediction_of(model_, input_, output, options_.top);
    report_.generation = said_tokens(model_, input_, output, options_.top);
    keep_long_maps();
    add_rollout();
    add_alignment();
    add_lens();
    add_saliency();
    return std::move(report_);
  }

 private:
  TransformerOutput run_model() {
    Ablation ablation(options_.ablate, options_.ablate_to);
    Probes both({&ablation, &probe_});
    if (!options_.ablate.empty()) {
      const auto before = prediction_of(model_, input_, model_(input_.input), options_.top);
      report_.ablation = Report::Ablation{options_.ablate, before.value_or(Report::Prediction{})};
    }
    TransformerOutput output = model_(input_.input, {.probe = &both});
    for (const std::string& step : ablation.unused()) fits_nothing("ablate", step);
    for (const std::string& pattern : options_.probes)
      if (std::none_of(probe_.seen().begin(), probe_.seen().end(),
                       [&](const std::string& name) { return matches(pattern, name); }))
        fits_nothing("probe", pattern);
    return output;
  }

  void fits_nothing(const char* option, const std::string& pattern) const {
    throw ValueError(fmt::format("{} '{}' fits no step; there are: {}", option, pattern,
                                 fmt::join(probe_.seen(), ", ")));
  }

  // Maps of single heads over long inputs, which the first pass only measured.
  void keep_long_maps() {
    std::vector<std::string> names;
    for (Report::Attention& attention : report_.attentions) {
      if (!plan_.by_itself(attention)) continue;
      names.push_back(attention.name + ".weights");
      attention.kept_heads = options_.heads;
    }
    if (names.empty()) return;
    Capture capture(names, options_.heads);
    Ablation ablation(options_.ablate, options_.ablate_to);
    Probes both({&ablation, &capture});
    model_(input_.input, {.probe = &both});
    for (const std::string& name : names) report_.tensors[name] = reported(capture.value(name));
  }

  void add_rollout() {
    if (options_.rollout == LookOptions::Rollout::kAttention)
      for (const LookPlan::Stack& stack : plan_.stacks())
        keep_rollout(stack.name, attention_rollout(probe_.means(stack.name)));
    if (options_.rollout != LookOptions::Rollout::kGradient) return;
    const auto [encoder, decoder, cross] = attention_gradients(model_, input_.input, explained());
    if (cross.weights.empty()) {
      const char* stack = plan_.stacks().front().name;
      return keep_rollout(stack, gradient_rollout(encoder.weights.empty() ? decoder : encoder));
    }
    const GradientRollout rolled = gradient_rollout(encoder, decoder, cross);
    keep_rollout("encoder", rolled.encoder);
    keep_rollout("decoder", rolled.decoder);
    keep_rollout("cross", rolled.cross);
  }

  void keep_rollout(const std::string& of, const Tensor& rolled) {
    report_.rollout[of] = "rollout." + of;
    report_.tensors["rollout." + of] = rolled;
  }

  void add_alignment() {
    const Tensor weights = probe_.cross_mean();
    const auto source = input_.sides.find("encoder"), target = input_.sides.find("decoder");
    if (!weights.defined() || source == input_.sides.end() || target == input_.sides.end()) return;
    report_.alignment = align_words(source->second, target->second, weights);
  }

  void add_lens() {
    const auto names = names_of_outputs(model_, input_);
    for (const Report::Layer& layer : report_.layers) {
      const auto block = probe_.blocks().find(layer.name + ".block");
      if (block == probe_.blocks().end()) continue;
      const Tensor logits = logit_lens(model_, block->second);
      require<ValueError>(logits.defined(), "lens: expected a model that gives logits");
      report_.lens.push_back({layer.name, {}});
      const std::vector<float> values = logits.to_vector<float>();
      const auto outputs = static_cast<size_t>(logits.size(-1));
      for (size_t at = 0; at < values.size(); at += outputs)
        report_.lens.back().positions.push_back(
            top_guesses(std::span(values).subspan(at, outputs), options_.top, names));
    }
  }

  void add_saliency() {
    if (options_.saliency == LookOptions::Saliency::kNone) return;
    const bool integrated = options_.saliency == LookOptions::Saliency::kIntegratedGradients;
    const Explained what = explained();
    report_.saliency = Report::Saliency{integrated ? "integrated_gradients" : "gradient",
                                        report_.explained->text, plan_.stacks().front().name};
    report_.tensors["saliency"] =
        integrated ? integrated_gradients(model_, input_.input, baseline(), what).tokens
                   : gradient_saliency(model_, input_.input, what);
  }

  // The likeliest of what is predicted first, or at the row that is asked for; where a text goes on
  // behind that row, the token that it goes on with. Noted in the report.
  Explained explained() {
    require<ValueError>(report_.prediction && report_.prediction->kind != "answer",
                        "expected a model that predicts labels or tokens, and for a masked "
                        "language model a mask");
    const auto& rows = report_.prediction->rows;
    Explained what{rows.front().top.front().id, rows.front().position};
    if (options_.row && report_.prediction->kind != "classification") {
      what = {-1, *options_.row};
      for (const Report::Prediction::Row& row : rows)
        if (row.position == *options_.row) what.output = row.top.front().id;
      if (what.output < 0) what.output = following(*options_.row);
    }
    report_.explained =
        Report::Output{what.position, what.output, names_of_outputs(model_, input_)(what.output)};
    return what;
  }

  // The token behind a row of a decoder.
  int64_t following(int64_t row) const {
    const Tensor& behind = input_.input.decoder_input_ids;
    const Tensor& ids = behind.defined() ? behind : input_.input.input_ids;
    require<IndexError>(report_.prediction->kind == "next_token" && ids.defined(),
                        "expected a row that something is predicted at, found {}", row);
    return ids.to_vector<int64_t>()[static_cast<size_t>(row + 1)];
  }

  // The input with nothing in it: a token that says nothing in the place of each that stands for
  // text, or the mean colour.
  TransformerInput baseline() const {
    TransformerInput empty = input_.input;
    if (empty.pixel_values.defined()) {
      empty.pixel_values = zeros_like(empty.pixel_values);
      return empty;
    }
    const ModelConfig& config = model_.config();
    const int64_t end = config.end.empty() ? 0 : config.end.front();
    const int64_t nothing = input_.mask_id.value_or(config.padding.value_or(end));
    std::vector<int64_t> ids = empty.input_ids.to_vector<int64_t>();
    const auto side = input_.sides.find(plan_.stacks().front().name);
    for (size_t i = 0; i < ids.size(); ++i) {
      const bool text = side == input_.sides.end() || side->second.text.empty() ||
                        side->second.tokens[i].start < side->second.tokens[i].end;
      if (text) ids[i] = nothing;
    }
    empty.input_ids = from_vector(ids, empty.input_ids.shape(), empty.input_ids.device());
    return empty;
  }

  const Model& model_;
  const LookInput& input_;
  const LookOptions& options_;
  Report report_;
  LookPlan plan_;
  LookProbe probe_;
};

}  // namespace

Report look(const Model& model, const LookInput& input, const LookOptions& options) {
  return Look(model, input, options).run();
}

}  // namespace glassformer
