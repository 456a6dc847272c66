#include "training/log.h"

#include <cerrno>
#include <cstring>

#include "base/atomic_file.h"
#include "base/check.h"

namespace glassformer {
namespace {

constexpr const char* kLog = "log.jsonl";

EventFile open_events(const std::filesystem::path& folder, int64_t from_step) {
  if (from_step == 0) remove_event_files(folder);
  return EventFile(folder);
}

}  // namespace

TrainingLog::TrainingLog(std::filesystem::path folder, int64_t from_step)
    : folder_(std::move(folder)), events_(open_events(folder_, from_step)) {
  read_back(from_step);
  lines_.open(folder_ / kLog, std::ios::app);
  require<FileError>(lines_.good(), "{}: cannot be written", (folder_ / kLog).string());
}

// Keeps what was written up to the step; a last line may have been cut.
void TrainingLog::read_back(int64_t from_step) {
  std::ifstream in(folder_ / kLog);
  std::string kept;
  for (std::string line; from_step > 0 && std::getline(in, line);) {
    const Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!json.is_object() || json.value("step", from_step + 1) > from_step) continue;
    kept += line + "\n";
    const auto step = json.value("step", 0.0);
    if (json.contains("loss")) training_.emplace_back(step, json.value("loss", 0.0));
    if (json.contains("validation_loss"))
      validation_.emplace_back(step, json.value("validation_loss", 0.0));
  }
  AtomicFile file(folder_ / kLog);
  file.write(kept);
  file.commit();
}

// A run that is killed leaves the lines of its checkpoints.
void TrainingLog::write_line(const Json& line) {
  lines_ << line.dump() << std::endl;
  require<FileError>(lines_.good(), "{}: cannot be written: {}", (folder_ / kLog).string(),
                     std::strerror(errno));
}

void TrainingLog::add(const StepReport& report) {
  write_line({{"step", report.step},
              {"epoch", report.epoch},
              {"loss", report.loss},
              {"learning_rate", report.learning_rate},
              {"gradient_norm", report.gradient_norm},
              {"tokens_per_second", report.tokens_per_second}});
  training_.emplace_back(report.step, report.loss);
  events_.add("train/loss", report.step, report.loss);
  events_.add("train/learning_rate", report.step, report.learning_rate);
  events_.add("train/gradient_norm", report.step, report.gradient_norm);
}

void TrainingLog::add(int64_t step, const Evaluation& evaluation) {
  Json line{{"step", step}, {"validation_loss", evaluation.loss}};
  if (evaluation.has_accuracy) line["validation_accuracy"] = evaluation.accuracy;
  write_line(line);
  validation_.emplace_back(step, evaluation.loss);
  events_.add("validation/loss", step, evaluation.loss);
  if (evaluation.has_accuracy) events_.add("validation/accuracy", step, evaluation.accuracy);
  events_.flush();
}

void TrainingLog::write_curve(const std::string& title) const {
  AtomicFile file(folder_ / "loss.svg");
  file.write(loss_curve_svg(title, training_, validation_));
  file.commit();
}

}  // namespace glassformer
