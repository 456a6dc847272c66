#include "glassformer/training/optimizer.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "base/named_choice.h"
#include "glassformer/autograd/no_grad.h"
#include "glassformer/ops/arithmetic.h"
#include "glassformer/ops/copy.h"
#include "glassformer/ops/create.h"
#include "glassformer/ops/pointwise.h"
#include "glassformer/ops/reduce.h"
#include "training/layer_rates.h"

namespace glassformer {
namespace {

using Kind = OptimizerOptions::Kind;

constexpr double kLargestUpdate = 1;     // of Adafactor: root of the mean square
constexpr double kSmallestScale = 1e-3;  // of Adafactor: of a parameter
constexpr double kSmallestSquare = std::numeric_limits<float>::epsilon();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool between(double value, double low, double high) { return value >= low && value < high; }

void check_options(const OptimizerOptions& options) {
  require<ValueError>(between(options.beta1, 0, 1) && between(options.beta2, 0, 1),
                      "optimizer: expected betas from 0 to below 1, found {} and {}", options.beta1,
                      options.beta2);
  require<ValueError>(options.epsilon >= 0, "optimizer: expected epsilon from 0, found {}",
                      options.epsilon);
  require<ValueError>(options.weight_decay >= 0,
                      "optimizer: expected weight_decay from 0, found {}", options.weight_decay);
  require<ValueError>(between(options.momentum, 0, 1),
                      "optimizer: expected momentum from 0 to below 1, found {}", options.momentum);
  require<ValueError>(options.layer_decay > 0 && options.layer_decay <= 1,
                      "optimizer: expected layer_decay above 0 to 1, found {}",
                      options.layer_decay);
  require<ValueError>(!options.stochastic_rounding || options.kind != Kind::kAdafactor,
                      "optimizer: adafactor has no stochastic_rounding");
}

double root_mean_square(const Tensor& x) {
  return std::sqrt(sum_of_squares(x) / static_cast<double>(std::max<int64_t>(1, x.count())));
}

// state = state + share · (fresh - state), in place.
void approach(const Tensor& state, const Tensor& fresh, double share) {
  copy_(state, state * (1 - share) + fresh * share);
}

// Each parameter goes to whoever has the least so far.
std::vector<int> share_out(const std::vector<Trained>& parameters, int ranks) {
  std::vector<int64_t> load(static_cast<size_t>(ranks));
  std::vector<int> owners;
  for (const Trained& one : parameters) {
    const auto least = std::min_element(load.begin(), load.end());
    owners.push_back(static_cast<int>(least - load.begin()));
    *least += one.value.count();
  }
  return owners;
}

}  // namespace

Optimizer::Optimizer(const std::vector<Trained>& parameters, const OptimizerOptions& options,
                     GradientExchange* shards)
    : options_(options), shards_(shards) {
  check_options(options);
  for (const Trained& one : parameters)
    if (one.value.requires_grad()) parameters_.push_back(one);
  states_.resize(parameters_.size());
  rates_ = layer_rates(parameters_, options.layer_decay);
  if (shards != nullptr) owners_ = share_out(parameters_, shards->size());
}

OptimizerOptions::Kind optimizer_kind(const std::string& name) {
  return named_choice<Kind>("optimizer", name,
                            {{"sgd", Kind::kSgd},
                             {"adam", Kind::kAdam},
                             {"adamw", Kind::kAdamW},
                             {"lion", Kind::kLion},
                             {"adafactor", Kind::kAdafactor}});
}

bool Optimizer::owns(size_t i) const { return shards_ == nullptr || owners_[i] == shards_->rank(); }

// Everybody gets what its owner has updated; masters too, which every process may have to save.
void Optimizer::share() {
  for (size_t i = 0; i < parameters_.size(); ++i) {
    Tensor value = parameters_[i].value.detach();
    shards_->start_broadcast(value, owners_[i]);
    if (parameters_[i].master.defined())
      shards_->start_broadcast(parameters_[i].master, owners_[i]);
  }
  shards_->wait();
}

double Optimizer::gradient_norm() const {
  double sum = 0;
  for (const Trained& one : parameters_)
    if (const Tensor gradient = one.value.grad(); gradient.defined())
      sum += sum_of_squares(gradient);
  return std::sqrt(sum);
}

void Optimizer::clear_gradients() {
  for (Trained& one : parameters_) one.value.set_grad({});
}

void Optimizer::step(double learning_rate, double gradient_scale) {
  const NoGrad no_grad;
  ++steps_;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    if (!parameters_[i].value.grad().defined() || !owns(i)) continue;
    make_state(i);
    update(i, learning_rate * rates_[i], gradient_scale);
  }
  if (shards_ != nullptr) share();
}

void Optimizer::make_state(size_t i) {
  State& state = states_[i];
  if (!state.first.defined()) state = fresh_state(parameters_[i].value);
}

Optimizer::State Optimizer::fresh_state(const Tensor& value) const {
  const TensorOptions sums{value.dtype() == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32,
                           value.device()};
  const Shape& shape = value.shape();
  const int rank = value.rank();
  switch (options_.kind) {
    case Kind::kSgd:
      if (options_.momentum == 0) return {};
      return {.first = zeros(shape, sums)};
    case Kind::kAdam:
    case Kind::kAdamW: return {zeros(shape, sums), zeros(shape, sums)};
    case Kind::kLion: return {.first = zeros(shape, sums)};
    case Kind::kAdafactor:
      if (rank < 2) return {.first = zeros(shape, sums)};
      return {zeros(shape.with(rank - 1, 1), sums), zeros(shape.with(rank - 2, 1), sums)};
  }
  return {};
}

UpdateCommon Optimizer::common(size_t i, double learning_rate, double gradient_scale) const {
  const Tensor& value = parameters_[i].value;
  const bool decays = options_.decay == OptimizerOptions::Decay::kAll || value.rank() >= 2;
  UpdateCommon common{.rate = learning_rate,
                      .decay = decays ? options_.weight_decay : 0,
                      .gradient_scale = gradient_scale};
  if (options_.stochastic_rounding && value.dtype() == DType::kBFloat16)
    common.rounding = RandomKey{static_cast<uint64_t>(steps_), i};
  return common;
}

void Optimizer::update(size_t i, double learning_rate, double gradient_scale) {
  const Trained& one = parameters_[i];
  const UpdateTensors tensors{one.value, one.value.grad(), one.master, states_[i].first,
                              states_[i].second};
  const UpdateCommon shared = common(i, learning_rate, gradient_scale);
  switch (options_.kind) {
    case Kind::kSgd: return sgd_update(tensors, {shared, options_.momentum, options_.nesterov});
    case Kind::kAdam:
    case Kind::kAdamW:
      return adam_update(tensors, {shared, options_.beta1, options_.beta2, options_.epsilon,
                                   options_.kind == Kind::kAdamW, steps_});
    case Kind::kLion: return lion_update(tensors, {shared, options_.beta1, options_.beta2});
    case Kind::kAdafactor: return adafactor(i, learning_rate, gradient_scale);
  }
}

// With t the step, share = t^-0.8 and R, C the running means of g² over rows and columns:
//   u = g / sqrt(R Cᵀ / mean(R)),  w −= max(1e-3, rms(w)) · min(η, 1/√t) · u / max(1, rms(u))
void Optimizer::adafactor(size_t i, double learning_rate, double gradient_scale) {
  const Trained& one = parameters_[i];
  const Tensor weight = one.master.defined() ? one.master : one.value.detach();
  const Tensor gradient = cast(one.value.grad(), weight.dtype()) * gradient_scale;
  const auto step = static_cast<double>(steps_);
  const double share = std::pow(step, -0.8);
  const double rate = std::max(kSmallestScale, root_mean_square(weight)) *
                      std::min(learning_rate, 1 / std::sqrt(step));
  const Tensor squares = square(gradient);
  Tensor variance = states_[i].first;
  if (gradient.rank() < 2) {
    approach(variance, squares, share);
  } else {
    const Tensor& rows = states_[i].first;
    const Tensor& columns = states_[i].second;
    approach(rows, mean(squares, {-1}, true), share);
    approach(columns, mean(squares, {-2}, true), share);
    variance = rows * columns / clamp(mean(rows, {-2}, true), kSmallestSquare, kInfinity);
  }
  const Tensor direction =
      gradient / sqrt(clamp(variance, kSmallestSquare * kSmallestSquare, kInfinity));
  const double size = rate / std::max(1.0, root_mean_square(direction) / kLargestUpdate);
  const double kept = 1 - learning_rate * common(i, learning_rate, 1).decay;
  copy_(weight, weight * kept - direction * size);
  if (one.master.defined()) copy_(one.value, one.master);
}

std::vector<std::pair<std::string, Tensor>> Optimizer::state() const {
  std::vector<State> states = states_;
  if (shards_ != nullptr) {
    for (size_t i = 0; i < states.size(); ++i) {
      if (!owns(i)) states[i] = fresh_state(parameters_[i].value);
      if (states[i].first.defined()) shards_->start_broadcast(states[i].first, owners_[i]);
      if (states[i].second.defined()) shards_->start_broadcast(states[i].second, owners_[i]);
    }
    shards_->wait();
  }
  std::vector<std::pair<std::string, Tensor>> named;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    if (states[i].first.defined())
      named.emplace_back("first." + parameters_[i].name, states[i].first);
    if (states[i].second.defined())
      named.emplace_back("second." + parameters_[i].name, states[i].second);
  }
  return named;
}

void Optimizer::load(const StoredTensors& stored, int64_t steps) {
  const NoGrad no_grad;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    if (!owns(i)) continue;
    make_state(i);
    for (const auto& [prefix, state] :
         {std::pair{"first.", states_[i].first}, std::pair{"second.", states_[i].second}}) {
      if (!state.defined()) continue;
      const std::string name = prefix + parameters_[i].name;
      require<FileError>(stored.find(name) != nullptr, "{}: expected tensor '{}', found none",
                         stored.where(), name);
      const Tensor kept = stored.get(name);
      require<FileError>(kept.shape() == state.shape() && kept.dtype() == state.dtype(),
                         "{}: tensor '{}' does not fit its parameter", stored.where(), name);
      copy_(state, to(kept, state.device()));
    }
  }
  steps_ = steps;
}

}  // namespace glassformer
