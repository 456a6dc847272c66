#include "glassformer/training/trainer.h"

#include <chrono>
#include <cmath>
#include <unordered_map>

#include "base/check.h"
#include "glassformer/autograd/no_grad.h"
#include "glassformer/checkpoint/safetensors.h"
#include "glassformer/ops/arithmetic.h"
#include "glassformer/ops/backward.h"
#include "glassformer/ops/copy.h"
#include "glassformer/ops/create.h"
#include "glassformer/ops/update.h"
#include "training/adversary.h"
#include "training/first_non_finite.h"

namespace glassformer {
namespace {

using Clock = std::chrono::steady_clock;

// Dropout of a step draws from streams of its own, so that a resumed run draws the same.
constexpr int kStepBits = 32, kRankBits = 20;

Tensor& weight_of(Trained& one) { return one.master.defined() ? one.master : one.value; }

void check_options(const TrainerOptions& options) {
  require<ValueError>(options.steps > 0 || options.epochs > 0,
                      "training: expected a number of steps or epochs, found neither");
  require<ValueError>(options.accumulate >= 1, "training: expected accumulate from 1, found {}",
                      options.accumulate);
  require<ValueError>(options.keep >= 1,
                      "training: expected to keep 1 checkpoint or more, found {}", options.keep);
  require<ValueError>(options.clip_norm >= 0, "training: expected clip_norm from 0, found {}",
                      options.clip_norm);
  require<ValueError>(options.objective.r_drop >= 0, "training: expected r_drop from 0, found {}",
                      options.objective.r_drop);
  require<ValueError>(options.objective.adversarial >= 0,
                      "training: expected adversarial from 0, found {}",
                      options.objective.adversarial);
  require<ValueError>(options.ema >= 0 && options.ema < 1,
                      "training: expected ema from 0 to below 1, found {}", options.ema);
}

}  // namespace

Trainer::Trainer(const Learner& learner, const Dataset& data, const Dataset* validation,
                 const TrainerOptions& options, GradientExchange& exchange)
    : learner_(learner),
      validation_(validation),
      options_(options),
      exchange_(exchange),
      optimizer_(learner.parameters(), options.optimizer,
                 options.shard_optimizer ? &exchange : nullptr) {
  check_options(options);
  make_loader_ = [this, &data](DataPosition start) {
    return std::make_unique<BatchLoader>(data, options_.batch, options_.seed, start,
                                         exchange_.rank(), exchange_.size());
  };
  loader_ = make_loader_({});
  int64_t& total = options_.schedule.total_steps;
  const int64_t steps_an_epoch =
      std::max<int64_t>(1, loader_->batches_in_epoch() / options_.accumulate);
  total = options_.steps > 0 ? options_.steps : options_.epochs * steps_an_epoch;
  if (options_.evaluate_every == 0) options_.evaluate_every = steps_an_epoch;
  if (options_.checkpoint_every == 0) options_.checkpoint_every = options_.evaluate_every;
  options_.schedule.check();
  if (options_.ema > 0)
    for (Trained one : optimizer_.parameters()) {
      const NoGrad no_grad;
      average_.push_back(clone(weight_of(one)));
    }
}

Trainer::~Trainer() = default;

void Trainer::resume(const std::filesystem::path& checkpoint) {
  const CheckpointInfo info = read_checkpoint(checkpoint);
  state_ = info.state;
  optimizer_.load(SafetensorsFile(checkpoint / "optimizer.safetensors"), info.optimizer_steps);
  if (!average_.empty()) {
    const SafetensorsFile stored(checkpoint / "average.safetensors");
    for (size_t i = 0; i < average_.size(); ++i)
      copy_(average_[i], stored.get(optimizer_.parameters()[i].name));
  }
  loader_ = make_loader_(state_.position);
}

RandomKey Trainer::step_key() const {
  return {options_.seed, static_cast<uint64_t>(state_.step + 1) << kStepBits |
                             static_cast<uint64_t>(exchange_.rank()) << kRankBits};
}

// Gradients of all ranks are summed while the rest of the backward runs.
void Trainer::backward_of(const Tensor& loss, bool last) {
  if (!last || exchange_.size() == 1) return backward(loss);
  std::unordered_map<const GradientState*, const Trained*> known;
  for (const Trained& one : optimizer_.parameters())
    known.emplace(one.value.gradient_state(), &one);
  backward(loss, [&](const GradientState* leaf) {
    const auto found = known.find(leaf);
    if (found == known.end()) return;
    Tensor gradient = found->second->value.grad();
    if (gradient.defined()) exchange_.start_sum(gradient);
  });
  exchange_.wait();
}

// The same where a rank has no examples, and so no backward.
void Trainer::exchange_gradients() {
  for (Trained one : optimizer_.parameters()) {
    if (!one.value.grad().defined()) one.value.set_grad(zeros_like(one.value.detach()));
    Tensor gradient = one.value.grad();
    exchange_.start_sum(gradient);
  }
  exchange_.wait();
}

Loss Trainer::loss_of_batch(const Context& context) const {
  const Objective& objective = options_.objective;
  const Tensor output = learner_(last_batch_, context);
  if (objective.r_drop == 0) return loss_of(objective, output, last_batch_);
  return loss_of_two(objective, output, learner_(last_batch_, context), last_batch_);
}

// How many rows a table of all tokens of the batches of all processes has, each of which asks.
int64_t Trainer::adversarial_rows() {
  int64_t largest = 0;
  if (const Tensor& ids = last_batch_.input.input_ids; ids.defined())
    for (const int64_t id : ids.to_vector<int64_t>()) largest = std::max(largest, id);
  int64_t rows = 1024;
  while (exchange_.any(largest >= rows)) rows *= 2;
  return rows;
}

// share · ‖x‖ / ‖g‖ over the batches of all processes, each of which asks. `gradient` becomes their
// sum; it is not defined where a process has no examples.
double Trainer::adversarial_factor(const Tensor& embedding, Tensor gradient, int64_t rows) {
  const bool mine = gradient.defined();
  const double width = exchange_.sum(mine ? static_cast<double>(gradient.size(1)) : 0);
  const double owners = exchange_.sum(mine ? 1 : 0);
  if (!mine) gradient = zeros({rows, std::llround(width / std::max(1.0, owners))});
  exchange_.start_sum(gradient);
  exchange_.wait();
  const double length = exchange_.sum(mine ? sum_of_squares(embedding) : 0);
  const double slope = sum_of_squares(gradient);
  return slope > 0 ? options_.objective.adversarial * std::sqrt(length / slope) : 0;
}

// Gradients of one batch, added to those there are. `last`: of this step, and so exchanged.
Loss Trainer::learn_batch(bool last) {
  const Objective& objective = options_.objective;
  Context context{.random = &random_, .recompute = options_.recompute};
  if (objective.adversarial == 0) {
    Loss loss = loss_of_batch(context);
    backward_of(loss.sum, last);
    return loss;
  }
  require<ValueError>(last_batch_.input.input_ids.defined(),
                      "training: adversarial: expected a model of tokens, found none in the batch");
  const int64_t rows = adversarial_rows();
  Adversary adversary(last_batch_.input.input_ids, rows);
  context.probe = &adversary;
  const Loss plain = loss_of_batch(context);
  backward_of(plain.sum * 0.5, false);
  adversary.turn(adversarial_factor(adversary.embedding(), adversary.gradient(), rows));
  const Loss moved = loss_of(objective, learner_(last_batch_, context), last_batch_);
  backward_of(moved.sum * 0.5, last);
  return {(plain.sum.detach() + moved.sum.detach()) * 0.5, plain.count};
}

Trainer::StepSums Trainer::forward_and_backward() {
  StepSums sums;
  optimizer_.clear_gradients();
  random_.set_state(step_key());
  step_start_ = loader_->position();
  for (int64_t i = 0; i < options_.accumulate; ++i) {
    last_batch_ = loader_->next();
    const bool last = i + 1 == options_.accumulate;
    const bool empty = last_batch_.target_count == 0 && last_batch_.tokens == 0;
    const bool uneven = last && exchange_.size() > 1 && exchange_.any(empty);
    if (!empty) {
      const Loss loss = learn_batch(last && !uneven);
      sums.loss += loss.sum.item();
      sums.targets += loss.count;
      sums.tokens += last_batch_.tokens;
    } else if (options_.objective.adversarial > 0) {
      adversarial_factor({}, {}, adversarial_rows());
    }
    if (uneven) exchange_gradients();
  }
  if (exchange_.size() > 1) {
    sums.loss = exchange_.sum(sums.loss);
    sums.targets = std::llround(exchange_.sum(static_cast<double>(sums.targets)));
    sums.tokens = std::llround(exchange_.sum(static_cast<double>(sums.tokens)));
  }
  return sums;
}

void Trainer::apply(StepSums& sums, StepReport& report) {
  const double count = static_cast<double>(std::max<int64_t>(1, sums.targets));
  report.loss = sums.loss / count;
  if (!std::isfinite(report.loss)) fail_non_finite("the loss");
  report.gradient_norm = optimizer_.gradient_norm() / count;
  if (!std::isfinite(report.gradient_norm)) fail_non_finite("the gradient");
  const bool clip = options_.clip_norm > 0 && report.gradient_norm > options_.clip_norm;
  const double kept = clip ? options_.clip_norm / (report.gradient_norm + 1e-6) : 1;
  report.learning_rate = options_.schedule.at(state_.step + 1);
  optimizer_.step(report.learning_rate, kept / count);
  update_average();
}

void Trainer::update_average() {
  const NoGrad no_grad;
  for (size_t i = 0; i < average_.size(); ++i) {
    Trained one = optimizer_.parameters()[i];
    copy_(average_[i], average_[i] * options_.ema + weight_of(one) * (1 - options_.ema));
  }
}

void Trainer::with_average(const std::function<void()>& f) {
  const NoGrad no_grad;
  std::vector<Tensor> own;
  for (size_t i = 0; i < average_.size(); ++i) {
    Trained one = optimizer_.parameters()[i];
    own.push_back(clone(weight_of(one)));
    copy_(weight_of(one), average_[i]);
  }
  f();
  for (size_t i = 0; i < own.size(); ++i) {
    Trained one = optimizer_.parameters()[i];
    copy_(weight_of(one), own[i]);
  }
}

bool Trainer::is_due(int64_t every) const {
  return state_.step % every == 0 || state_.step == options_.schedule.total_steps;
}

// True where training has stopped to help.
bool Trainer::evaluate_now(const TrainingObserver& observer) {
  if (validation_ == nullptr) return false;
  const Evaluation result = evaluate(learner_, *validation_, options_.objective, options_.batch);
  ++state_.evaluations_since_best;
  if (result.loss < state_.best_loss) {
    state_.best_loss = result.loss;
    state_.best_step = state_.step;
    state_.evaluations_since_best = 0;
  }
  if (observer.on_evaluation) observer.on_evaluation(state_.step, result);
  return options_.patience > 0 && state_.evaluations_since_best >= options_.patience;
}

void Trainer::checkpoint_now(const TrainingObserver& observer) {
  if (options_.output.empty()) return;
  CheckpointContent content{.learner = &learner_,
                            .optimizer = optimizer_.state(),
                            .optimizer_steps = optimizer_.steps(),
                            .state = state_};
  for (size_t i = 0; i < average_.size(); ++i)
    content.average.emplace_back(optimizer_.parameters()[i].name, average_[i]);
  if (exchange_.rank() == 0) {
    const std::filesystem::path path = write_checkpoint(options_.output, content);
    prune_checkpoints(options_.output, options_.keep, state_.best_step);
    if (observer.on_checkpoint) observer.on_checkpoint(path);
  }
  exchange_.barrier();
}

TrainingEnd Trainer::run(const TrainingObserver& observer) {
  const auto start = Clock::now();
  const int64_t first = state_.step;
  double tokens = 0;
  while (state_.step < options_.schedule.total_steps) {
    StepReport report;
    StepSums sums = forward_and_backward();
    apply(sums, report);
    ++state_.step;
    state_.position = loader_->position();
    tokens += static_cast<double>(sums.tokens);
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    report.step = state_.step;
    report.steps = options_.schedule.total_steps;
    report.epoch = step_start_.epoch;
    report.tokens_per_second = tokens / std::max(seconds, 1e-9);
    report.seconds_left = seconds / static_cast<double>(state_.step - first) *
                          static_cast<double>(report.steps - report.step);
    if (observer.on_step) observer.on_step(report);
    const bool stop = exchange_.any(observer.should_stop && observer.should_stop());
    const bool early = !stop && is_due(options_.evaluate_every) && evaluate_now(observer);
    if (stop || early || is_due(options_.checkpoint_every)) checkpoint_now(observer);
    if (stop) return TrainingEnd::kStopped;
    if (early) return TrainingEnd::kEarly;
  }
  return TrainingEnd::kFinished;
}

void Trainer::fail_non_finite(const char* what) {
  random_.set_state(step_key());
  const std::string where = first_non_finite(learner_, last_batch_, random_, optimizer_);
  throw ValueError(fmt::format(
      "training: {} is no longer finite at step {} (epoch {}, batch {}); first in: {}; a lower "
      "learning rate, a longer warm-up or clip_norm may help",
      what, state_.step + 1, step_start_.epoch, step_start_.batch, where));
}

}  // namespace glassformer
