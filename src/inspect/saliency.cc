#include "glassformer/inspect/saliency.h"

#include <cmath>
#include <map>

#include <fmt/format.h>

#include "base/check.h"
#include "glassformer/autograd/no_grad.h"
#include "glassformer/inspect/capture.h"
#include "glassformer/ops/arithmetic.h"
#include "glassformer/ops/backward.h"
#include "glassformer/ops/copy.h"
#include "glassformer/ops/create.h"
#include "glassformer/ops/pointwise.h"
#include "glassformer/ops/reduce.h"
#include "glassformer/ops/view.h"
#include "inspect/explained.h"
#include "tensor/shape_format.h"

namespace glassformer {
namespace {

// Puts a tensor in the place of the embedding.
class Embedded : public Probe {
 public:
  explicit Embedded(Tensor value) : value_(std::move(value)) {}
  ProbeWish wish(const std::string& name) override {
    return {name == "embedding" ? ProbeWish::Kind::kReplace : ProbeWish::Kind::kNothing};
  }
  void read(const std::string&, const Tensor&) override {}
  Tensor replace(const std::string&, const Tensor&) override { return value_; }

 private:
  Tensor value_;
};

// Adds zeros that ask for a gradient to the weights of attentions: what reaches them is the
// gradient by the weights, with all that depends on these.
class AddedZeros : public Probe {
 public:
  ProbeWish wish(const std::string& name) override {
    return {matches("*.*.*.weights", name) ? ProbeWish::Kind::kReplace : ProbeWish::Kind::kNothing};
  }
  void read(const std::string&, const Tensor&) override {}
  Tensor replace(const std::string& name, const Tensor& value) override {
    met.push_back({name, value.detach(), zeros_like(value).set_requires_grad()});
    return value + met.back().added;
  }

  struct Met {
    std::string name;
    Tensor weights, added;
  };
  std::vector<Met> met;
};

Tensor embedding_of(const Model& model, const TransformerInput& input) {
  const NoGrad no_grad;
  Capture capture({"embedding"});
  model(input, {.probe = &capture});
  return capture.value("embedding");
}

struct GradientAt {
  Tensor gradient;
  double output;
};

// ∂ logit / ∂ embedding where the embedding is x.
GradientAt gradient_at(const Model& model, const TransformerInput& input, const Tensor& x,
                       Explained& what) {
  const GradScope recording(true);
  Tensor leaf = clone(x.detach()).set_requires_grad();
  Embedded embedded(leaf);
  const Tensor logit = explained_logit(model(input, {.probe = &embedded}), what);
  const double value = logit.item();
  backward(logit);
  return {leaf.grad().defined() ? leaf.grad() : zeros_like(leaf), value};
}

// The points in [0, 1] and their weights, by Newton's method on Legendre's polynomials.
std::vector<std::pair<double, double>> quadrature(int64_t count) {
  std::vector<std::pair<double, double>> points;
  const auto n = static_cast<double>(count);
  for (int64_t i = 0; i < count; ++i) {
    double x = std::cos(M_PI * (static_cast<double>(i) + 0.75) / (n + 0.5)), slope = 1;
    for (int round = 0; round < 50; ++round) {
      double before = 1, here = x;
      for (int64_t k = 2; k <= count; ++k) {
        const auto degree = static_cast<double>(k);
        const double next = ((2 * degree - 1) * x * here - (degree - 1) * before) / degree;
        before = here, here = next;
      }
      slope = n * (x * here - before) / (x * x - 1);
      const double step = here / slope;
      x -= step;
      if (std::abs(step) < 1e-15) break;
    }
    points.emplace_back((1 - x) / 2, 1 / ((1 - x * x) * slope * slope));
  }
  return points;
}

Tensor on_host(const Tensor& x) { return contiguous(cast(to(x, Device::kCpu), DType::kFloat32)); }

}  // namespace

void check_not_quantised(const char* op, const Model& model) {
  for (const Parameter& parameter : model.transformer().parameters())
    require<UnsupportedError>(!parameter.quantised.defined(),
                              "{}: expected weights that are not quantised, found {} as {}; opened "
                              "in float64 (--dtype float64) they are plain numbers",
                              op, parameter.name, name_of(parameter.quantised.scheme));
}

Tensor explained_logit(const TransformerOutput& output, Explained& what) {
  require<ValueError>(output.logits.defined(), "expected a model that gives logits");
  Tensor row = select(output.logits, 0, 0);
  if (row.rank() == 2) {
    const int64_t count = row.size(0);
    if (what.position < 0) what.position += count;
    require<IndexError>(what.position >= 0 && what.position < count,
                        "expected a position from 0 to {}, found {}", count - 1, what.position);
    row = select(row, 0, what.position);
  }
  if (what.output < 0) what.output = argmax(row.detach(), 0).to_vector<int64_t>().front();
  require<IndexError>(what.output < row.size(0), "expected an output from 0 to {}, found {}",
                      row.size(0) - 1, what.output);
  return select(row, 0, what.output);
}

Tensor gradient_saliency(const Model& model, const TransformerInput& input, Explained what) {
  check_not_quantised("gradient_saliency", model);
  const Tensor gradient = gradient_at(model, input, embedding_of(model, input), what).gradient;
  const NoGrad no_grad;
  return on_host(sqrt(sum(square(select(gradient, 0, 0)), {-1})));
}

IntegratedGradients integrated_gradients(const Model& model, const TransformerInput& input,
                                         const TransformerInput& baseline, Explained what,
                                         int64_t points) {
  check_not_quantised("integrated_gradients", model);
  require<ValueError>(points >= 1 && points <= 4096,
                      "integrated_gradients: expected 1 to 4096 points, found {}", points);
  const Tensor end = embedding_of(model, input), start = embedding_of(model, baseline);
  require<ShapeError>(
      end.shape() == start.shape(),
      "integrated_gradients: expected a baseline as long as the input, {}, found {}", end.shape(),
      start.shape());
  IntegratedGradients result;
  result.output = gradient_at(model, input, end, what).output;  // says which output, too
  result.baseline_output = gradient_at(model, input, start, what).output;
  const NoGrad no_grad;
  const Tensor way = end - start;
  Tensor total = zeros_like(way);
  for (const auto& [at, weight] : quadrature(points))
    add_(total, gradient_at(model, input, start + way * at, what).gradient * weight);
  result.tokens = on_host(sum(select(total * way, 0, 0), {-1}));
  return result;
}

GradientsByWeights attention_gradients(const Model& model, const TransformerInput& input,
                                       Explained what) {
  check_not_quantised("attention_gradients", model);
  const GradScope recording(true);
  AddedZeros probe;
  const Tensor logit = explained_logit(model(input, {.probe = &probe}), what);
  backward(logit);
  GradientsByWeights result;
  for (const auto& [name, weights, added] : probe.met) {
    WeightGradients& of = name.ends_with(".cross_attention.weights") ? result.cross
                          : name.starts_with("encoder.")             ? result.encoder
                                                                     : result.decoder;
    of.weights.push_back(on_host(select(weights, 0, 0)));
    const Tensor gradient = added.grad();
    of.gradients.push_back(gradient.defined() ? on_host(select(gradient, 0, 0))
                                              : zeros_like(of.weights.back()));
  }
  return result;
}

}  // namespace glassformer
