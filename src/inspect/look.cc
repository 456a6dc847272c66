#include "glassformer/inspect/look.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/ranges.h>

#include "base/check.h"
#include "glassformer/autograd/no_grad.h"
#include "glassformer/inspect/capture.h"
#include "glassformer/inspect/measures.h"
#include "glassformer/ops/copy.h"
#include "glassformer/ops/gather.h"
#include "glassformer/ops/view.h"
#include "inspect/prediction.h"

namespace glassformer {
namespace {

// Up to so many queries, what an attention is like is measured over all of them; beyond, over some
// that lie evenly, so that memory stays linear in the length.
constexpr int64_t kMeasuredWhole = 1024, kMeasuredRows = 256;
constexpr int64_t kMostBytes = int64_t{4} << 30;
// Steps of every layer are kept where they are so few numbers.
constexpr int64_t kFewNumbers = 1 << 20;

struct Stack {
  const char* name;
  const StackSpec* spec;
  int64_t length;
};

bool contains(const std::vector<int64_t>& list, int64_t value) {
  return list.empty() || std::find(list.begin(), list.end(), value) != list.end();
}

bool ends_with_any(const std::string& name, std::initializer_list<const char*> ends) {
  return std::any_of(ends.begin(), ends.end(),
                     [&](const char* end) { return name.ends_with(end); });
}

// One [batch = 1, ...] tensor as reports hold it.
Tensor reported(const Tensor& x) {
  return contiguous(cast(to(x.size(0) == 1 ? select(x, 0, 0) : x, Device::kCpu), DType::kFloat32));
}

class Look : public Probe {
 public:
  Look(const Model& model, const LookInput& input, const LookOptions& options)
      : model_(model), input_(input), options_(options) {
    list_stacks();
    for (const Stack& stack : stacks_) list_layers(stack);
    check_options();
    choose_steps();
  }

  Report run() {
    const NoGrad no_grad;
    report_.model = {.name = {},
                     .family = model_.config().model_type,
                     .stack = stack_name(),
                     .description = description_of(model_.transformer().spec()),
                     .anatomy = anatomy_of(model_)};
    report_.sides = input_.sides;
    report_.picture = input_.picture;
    const TransformerOutput output = model_(input_.input, {.probe = this});
    report_.prediction = prediction_of(model_, input_, output, options_.top);
    for (const std::string& pattern : options_.probes)
      require<ValueError>(
          std::any_of(seen_.begin(), seen_.end(),
                      [&](const std::string& name) { return matches(pattern, name); }),
          "probe '{}' fits no step; there are: {}", pattern, fmt::join(seen_, ", "));
    keep_long_maps();
    return std::move(report_);
  }

  ProbeWish wish(const std::string& name) override {
    if (std::find(seen_.rbegin(), seen_.rend(), name) == seen_.rend()) seen_.push_back(name);
    if (const Report::Attention* attention = attention_of(name, ".weights"))
      return {ProbeWish::Kind::kRead, {}, measured_rows(*attention)};
    for (const char* step : {".scaled_scores", ".masked_scores"})
      if (const Report::Attention* attention = attention_of(name, step))
        if (is_step(attention->name) && !is_probed(name))
          return {ProbeWish::Kind::kRead, {}, {report_.steps.rows.at(attention->queries)}};
    return {is_probed(name) || is_step(name) ? ProbeWish::Kind::kRead : ProbeWish::Kind::kNothing};
  }

  void read(const std::string& name, const Tensor& value) override {
    if (Report::Attention* attention = attention_of(name, ".weights"))
      return take_weights(*attention, name, value);
    Tensor x = reported(value);
    if (!is_probed(name)) {
      if (ends_with_any(name, {"_scores"}))
        x = select(x, 1, 0);
      else if (!ends_with_any(name, {".query", ".key", ".value"}))
        x = select(x, 0, report_.steps.rows.at(name.substr(0, name.find('.'))));
    }
    report_.tensors[name] = contiguous(x);
  }

  Tensor replace(const std::string&, const Tensor& value) override { return value; }

 private:
  void list_stacks() {
    const TransformerSpec& spec = model_.transformer().spec();
    const TransformerInput& in = input_.input;
    const auto length = [](const Tensor& ids, const Tensor& vectors) {
      return ids.defined() ? ids.size(-1) : vectors.defined() ? vectors.size(1) : 0;
    };
    const int64_t own = spec.image ? spec.image->tokens() : length(in.input_ids, in.inputs_embeds);
    if (spec.encoder) stacks_.push_back({"encoder", &*spec.encoder, own});
    if (spec.decoder)
      stacks_.push_back(
          {"decoder", &*spec.decoder,
           spec.encoder ? length(in.decoder_input_ids, in.decoder_inputs_embeds) : own});
  }

  std::string stack_name() const {
    if (stacks_.size() == 2) return "encoder_decoder";
    return model_.transformer().spec().image ? "vision" : stacks_.front().name;
  }

  void list_layers(const Stack& stack) {
    for (size_t i = 0; i < stack.spec->blocks.size(); ++i) {
      const BlockSpec& block = stack.spec->blocks[i];
      const std::string layer = fmt::format("{}.{}", stack.name, i);
      report_.layers.push_back({layer, stack.name});
      const auto add = [&](const char* kind, const AttentionSpec& spec, const char* keys,
                           bool cross) {
        report_.attentions.push_back({.name = layer + kind,
                                      .layer = static_cast<int64_t>(i),
                                      .cross = cross,
                                      .causal = stack.spec->causal && !cross,
                                      .queries = stack.name,
                                      .keys = keys,
                                      .heads = spec.heads,
                                      .head_size = spec.head_size});
      };
      add(".self_attention", block.self_attention, stack.name, false);
      if (block.cross_attention) add(".cross_attention", *block.cross_attention, "encoder", true);
    }
  }

  int64_t length_of(const std::string& side) const {
    return std::find_if(stacks_.begin(), stacks_.end(),
                        [&](const Stack& stack) { return side == stack.name; })
        ->length;
  }

  bool kept(const Report::Attention& attention) const {
    return options_.weights && contains(options_.layers, attention.layer);
  }
  int64_t kept_heads(const Report::Attention& attention) const {
    return options_.heads.empty() ? attention.heads : static_cast<int64_t>(options_.heads.size());
  }
  // Whether its weights are kept, but not taken along with those that are measured.
  bool by_itself(const Report::Attention& attention) const {
    return kept(attention) && !options_.heads.empty() &&
           length_of(attention.queries) > kMeasuredWhole;
  }

  void check_options() const {
    int64_t bytes = 0, deepest = 0;
    for (const Report::Attention& attention : report_.attentions) {
      deepest = std::max(deepest, attention.layer);
      if (!kept(attention)) continue;
      for (const int64_t head : options_.heads)
        require<IndexError>(head >= 0 && head < attention.heads,
                            "expected a head from 0 to {}, found {}", attention.heads - 1, head);
      bytes += 4 * kept_heads(attention) * length_of(attention.queries) * length_of(attention.keys);
    }
    for (const int64_t layer : options_.layers)
      require<IndexError>(layer >= 0 && layer <= deepest, "expected a layer from 0 to {}, found {}",
                          deepest, layer);
    require<ValueError>(bytes <= kMostBytes,
                        "the weights would take {:.1f} GiB; choose layers and heads",
                        static_cast<double>(bytes) / static_cast<double>(1 << 30));
  }

  // Where the followed query stands on each side: at what the prediction is made from.
  void choose_steps() {
    const int64_t last = length_of(stacks_.back().name) - 1;
    for (const Stack& stack : stacks_)
      report_.steps.rows[stack.name] = stack.spec->causal ? stack.length - 1 : 0;
    if (options_.row) {
      require<IndexError>(*options_.row >= 0 && *options_.row <= last,
                          "expected a row from 0 to {}, found {}", last, *options_.row);
      report_.steps.rows[stacks_.back().name] = *options_.row;
    }
    if (!options_.steps) return;
    int64_t numbers = 0;
    for (const Report::Attention& attention : report_.attentions)
      numbers += 3 * length_of(attention.keys) * attention.heads * attention.head_size;
    for (const Report::Attention& attention : report_.attentions) {
      const bool last_layer = !options_.layers.empty() || numbers <= kFewNumbers ||
                              attention.layer + 1 == layers_of(attention.queries);
      if (contains(options_.layers, attention.layer) && last_layer)
        report_.steps.attentions.push_back(attention.name);
    }
  }

  int64_t layers_of(const std::string& side) const {
    return std::count_if(report_.layers.begin(), report_.layers.end(),
                         [&](const Report::Layer& layer) { return layer.side == side; });
  }

  std::vector<int64_t> measured_rows(const Report::Attention& attention) const {
    const int64_t queries = length_of(attention.queries);
    if (queries <= kMeasuredWhole || (kept(attention) && !by_itself(attention))) return {};
    std::vector<int64_t> rows(kMeasuredRows);
    for (int64_t i = 0; i < kMeasuredRows; ++i)
      rows[static_cast<size_t>(i)] = (2 * i + 1) * queries / (2 * kMeasuredRows);
    return rows;
  }

  Report::Attention* attention_of(const std::string& name, std::string_view step) {
    if (!name.ends_with(step)) return nullptr;
    const std::string_view place(name.data(), name.size() - step.size());
    const auto found =
        std::find_if(report_.attentions.begin(), report_.attentions.end(),
                     [&](const Report::Attention& attention) { return attention.name == place; });
    return found == report_.attentions.end() ? nullptr : &*found;
  }

  bool is_probed(const std::string& name) const {
    return std::any_of(options_.probes.begin(), options_.probes.end(),
                       [&](const std::string& pattern) { return matches(pattern, name); });
  }

  // A step of the equations that are followed: of an attention, or of its layer around it.
  bool is_step(const std::string& name) const {
    for (const std::string& attention : report_.steps.attentions) {
      if (name == attention) return true;
      if (name.starts_with(attention + "."))
        return ends_with_any(name, {".query", ".key", ".value", ".concat", ".output"});
      const std::string layer = attention.substr(0, attention.rfind('.') + 1);
      if (name.starts_with(layer + "residual_") || name.starts_with(layer + "norm_") ||
          name.starts_with(layer + "feed_forward."))
        return true;
    }
    return false;
  }

  void take_weights(Report::Attention& attention, const std::string& name, const Tensor& value) {
    const Tensor weights = reported(value);
    measure(attention, weights);
    if (is_probed(name) && measured_rows(attention).empty()) report_.tensors[name] = weights;
    if (!kept(attention) || by_itself(attention)) return;
    attention.kept_heads = options_.heads;
    report_.tensors[name] =
        options_.heads.empty()
            ? weights
            : index_select(weights, 0, from_vector(options_.heads, {kept_heads(attention)}));
  }

  void measure(Report::Attention& attention, const Tensor& weights) const {
    auto& measures = attention.measures;
    measures["entropy"] = attention_entropy(weights);
    measures["cls"] = first_token_score(weights);
    if (attention.cross) return;
    Places places{.queries = measured_rows(attention)};
    if (input_.picture) {
      places.columns = input_.picture->columns, places.prefix = input_.picture->prefix;
      measures["distance"] = attention_distance(weights, places);
      return;
    }
    measures["distance"] = attention_distance(weights, places);
    measures["previous_token"] = previous_token_score(weights, places);
    const Tensor& ids = stacks_.size() == 2 && attention.queries == "decoder"
                            ? input_.input.decoder_input_ids
                            : input_.input.input_ids;
    if (ids.defined())
      measures["induction"] = induction_score(weights, ids.to_vector<int64_t>(), places);
  }

  // Maps of single heads over long inputs, which the first pass only measured.
  void keep_long_maps() {
    std::vector<std::string> names;
    for (Report::Attention& attention : report_.attentions) {
      if (!by_itself(attention)) continue;
      names.push_back(attention.name + ".weights");
      attention.kept_heads = options_.heads;
    }
    if (names.empty()) return;
    Capture capture(names, options_.heads);
    model_(input_.input, {.probe = &capture});
    for (const std::string& name : names) report_.tensors[name] = reported(capture.value(name));
  }

  const Model& model_;
  const LookInput& input_;
  const LookOptions& options_;
  std::vector<Stack> stacks_;
  std::vector<std::string> seen_;
  Report report_;
};

}  // namespace

Report look(const Model& model, const LookInput& input, const LookOptions& options) {
  return Look(model, input, options).run();
}

}  // namespace glassformer
