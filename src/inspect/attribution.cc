#include "glassformer/inspect/attribution.h"

#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "base/check.h"
#include "glassformer/autograd/no_grad.h"
#include "glassformer/inspect/capture.h"
#include "glassformer/ops/view.h"
#include "inspect/explained.h"
#include "inspect/weights_of.h"

namespace glassformer {
namespace {

using Vector = std::vector<double>;

// The residual stream at one token, as the sum of what each part wrote.
class Stream {
 public:
  struct Part {
    std::string name;
    Vector value;
  };

  void add(std::string name, Vector value) {
    parts_.push_back({std::move(name), std::move(value)});
  }

  // The norm of the whole, applied to each part; its bias is one part more.
  void normalise(const std::string& name, const NormSpec& norm, const Vector& weight,
                 const Vector& bias) {
    const size_t width = weight.size();
    Vector whole(width);
    for (const Part& part : parts_)
      for (size_t i = 0; i < width; ++i) whole[i] += part.value[i];
    const bool centred = norm.kind == NormSpec::Kind::kLayer;
    const double middle = centred ? mean_of(whole) : 0;
    double square = 0;
    for (const double x : whole) square += (x - middle) * (x - middle);
    const double scale = 1 / std::sqrt(square / static_cast<double>(width) + norm.epsilon);
    for (Part& part : parts_) {
      const double own = centred ? mean_of(part.value) : 0;
      for (size_t i = 0; i < width; ++i) part.value[i] = (part.value[i] - own) * scale * weight[i];
    }
    if (!bias.empty()) add(name, bias);
  }

  const std::vector<Part>& parts() const { return parts_; }

 private:
  static double mean_of(const Vector& x) {
    return std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size());
  }
  std::vector<Part> parts_;
};

Vector numbers(const Tensor& x) { return x.defined() ? x.to_vector<double>() : Vector(); }

class Attribution {
 public:
  Attribution(const Model& model, const TransformerInput& input)
      : model_(model),
        stack_(model.transformer().spec().last_stack()),
        name_(last_stack_name(model)),
        capture_(
            {last_embedding_name(model), name_ + ".*.*.heads", name_ + ".*.feed_forward.output"}) {
    output_ = model(input, {.probe = &capture_});
  }

  LogitAttribution run(Explained what) {
    LogitAttribution result;
    result.logit = explained_logit(output_, what).item();
    result.what = what;
    const bool whole = output_.logits.rank() == 2;  // a classifier's, by its first token
    row_ = whole ? 0 : what.position;
    const std::string embedding = last_embedding_name(model_);
    stream_.add(embedding, row_of(capture_.value(embedding)));
    for (size_t i = 0; i < stack_.blocks.size(); ++i)
      add_block(fmt::format("{}.{}", name_, i), stack_.blocks[i]);
    if (stack_.final_norm) normalise(name_ + ".norm", *stack_.final_norm);
    const HeadSpec& head = model_.transformer().spec().head;
    const Vector direction = numbers(select(output_matrix(), 0, what.output));
    for (const Stream::Part& part : stream_.parts())
      result.parts.push_back(
          {part.name, head.scale * std::inner_product(direction.begin(), direction.end(),
                                                      part.value.begin(), 0.0)});
    if (const Tensor bias = weight_of(model_, "head.output.bias"); bias.defined())
      result.parts.push_back({"head.bias", select(bias, 0, what.output).item()});
    return result;
  }

 private:
  Vector row_of(const Tensor& x) const { return numbers(select(select(x, 0, 0), 0, row_)); }

  void add_block(const std::string& place, const BlockSpec& block) {
    const auto normed = [&](int number) {
      if (!block.pre_norm) normalise(fmt::format("{}.norm_{}", place, number), block.norm);
    };
    add_attention(place + ".self_attention", block.self_attention);
    normed(1);
    if (block.cross_attention) {
      add_attention(place + ".cross_attention", *block.cross_attention);
      normed(2);
    }
    stream_.add(place + ".feed_forward", row_of(capture_.value(place + ".feed_forward.output")));
    normed(block.cross_attention ? 3 : 2);
  }

  // A head's part is its columns of W_O times what it gave.
  void add_attention(const std::string& place, const AttentionSpec& spec) {
    const Vector matrix = numbers(weight_of(model_, place + ".output.weight"));
    const Tensor heads = select(capture_.value(place + ".heads"), 0, 0);
    const auto size = static_cast<size_t>(spec.head_size), width = static_cast<size_t>(spec.width);
    const size_t inner = size * static_cast<size_t>(spec.heads);
    for (int64_t head = 0; head < spec.heads; ++head) {
      const Vector gave = numbers(select(select(heads, 0, head), 0, row_));
      Vector wrote(width);
      for (size_t i = 0; i < width; ++i)
        for (size_t d = 0; d < size; ++d)
          wrote[i] += matrix[i * inner + static_cast<size_t>(head) * size + d] * gave[d];
      stream_.add(fmt::format("{}.head.{}", place, head), std::move(wrote));
    }
    if (const Tensor bias = weight_of(model_, place + ".output.bias"); bias.defined())
      stream_.add(place + ".bias", numbers(bias));
  }

  void normalise(const std::string& name, const NormSpec& norm) {
    stream_.normalise(name, norm, numbers(weight_of(model_, name + ".weight")),
                      numbers(weight_of(model_, name + ".bias")));
  }

  // [outputs, width]
  Tensor output_matrix() const {
    const TransformerSpec& spec = model_.transformer().spec();
    if (!spec.head.tied) return weight_of(model_, "head.output.weight");
    const Tensor own = weight_of(model_, last_embedding_name(model_) + ".tokens.weight");
    return own.defined() ? own : weight_of(model_, "embedding.tokens.weight");
  }

  const Model& model_;
  const StackSpec& stack_;
  std::string name_;
  Capture capture_;
  TransformerOutput output_;
  int64_t row_ = 0;
  Stream stream_;
};

}  // namespace

LogitAttribution direct_logit_attribution(const Model& model, const TransformerInput& input,
                                          Explained what) {
  const NoGrad no_grad;
  const HeadSpec& head = model.transformer().spec().head;
  require<UnsupportedError>(!head.transform && !head.distillation,
                            "direct_logit_attribution: expected a head of one linear layer, found "
                            "{}",
                            head.transform ? "one with a layer before it" : "two classifiers");
  check_not_quantised("direct_logit_attribution", model);
  return Attribution(model, input).run(what);
}

}  // namespace glassformer
