#include "training/run.h"

#include "base/atomic_file.h"
#include "base/check.h"
#include "glassformer/base/threads.h"
#include "training/companions.h"
#include "training/data/open_dataset.h"
#include "training/model_setup.h"
#include "training/tokenizer_setup.h"

namespace glassformer {

namespace fs = std::filesystem;

TrainingRun::TrainingRun(const TrainConfig& config, GradientExchange& exchange,
                         const std::optional<fs::path>& resume,
                         const std::function<void(const std::string&)>& say)
    : config_(config), exchange_(exchange), resume_(resume), say_(say) {
  if (config.threads > 0) set_num_threads(config.threads);
  make_folders(config.trainer.output);
  data_fields_.emplace(config_.data, "data");
  data_fields_->reject_unknown({"train", "validation", "test", "labels", "max_length"});
  tokenizer_ = set_up_tokenizer(config_, exchange_, resume_.has_value(), say_);
  setup_.emplace(set_up_model(config_, tokenizer_ ? &*tokenizer_ : nullptr, resume_));
  data_ = open_split("train");
  if (data_fields_->has("validation")) validation_ = open_split("validation");
  trainer_ = std::make_unique<Trainer>(*setup_->learner, *data_, validation_.get(), config_.trainer,
                                       exchange_);
  if (resume_) trainer_->resume(*resume_);
}

TrainingRun::~TrainingRun() = default;

std::unique_ptr<Dataset> TrainingRun::open_split(const char* name) {
  say_(fmt::format("reading the {} data", name));
  DataContext context = data_context(config_, *setup_, tokenizer_ ? &*tokenizer_ : nullptr);
  if (const auto* table = dynamic_cast<const Table*>(data_.get())) context.scale = table->scale();
  return open_dataset(data_fields_->object(name), context);
}

TrainingEnd TrainingRun::run(const TrainingObserver& observer) { return trainer_->run(observer); }

void TrainingRun::write_result() {
  if (exchange_.rank() != 0) return;
  const fs::path& output = config_.trainer.output;
  write_companions(config_, *setup_);
  if (setup_->model && setup_->model->has_adapter()) {
    setup_->model->save(output);  // merged
    setup_->model->save_adapter(output / "adapter");
    return;
  }
  std::vector<fs::path> averaged;
  const auto checkpoints = checkpoints_of(output);
  if (config_.average_last > 0) {
    const size_t count = std::min(checkpoints.size(), static_cast<size_t>(config_.average_last));
    for (size_t i = checkpoints.size() - count; i < checkpoints.size(); ++i)
      averaged.push_back(checkpoints[i].second);
  } else if (config_.trainer.patience > 0) {
    for (const auto& [step, path] : checkpoints)
      if (step == trainer_->state().best_step) averaged = {path};
  }
  if (!averaged.empty())
    average_checkpoints(averaged, output);
  else
    trainer_->with_average([&] { setup_->learner->save(output); });
}

TrainingRun::Counts TrainingRun::parameter_counts() const {
  Counts counts;
  for (const Trained& one : setup_->learner->parameters()) {
    counts.all += one.value.count();
    if (one.value.requires_grad()) counts.trained += one.value.count();
  }
  return counts;
}

}  // namespace glassformer
