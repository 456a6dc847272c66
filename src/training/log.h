#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include "base/json.h"
#include "glassformer/training/trainer.h"
#include "training/curve.h"
#include "training/event_file.h"

namespace glassformer {

// What a run leaves to be looked at, in its folder: log.jsonl (a line a step or evaluation),
// TensorBoard events, and at the end loss.svg. A resumed run goes on with the log from the step it
// starts at; one from step 0 starts log and events anew. Throws FileError.
class TrainingLog {
 public:
  TrainingLog(std::filesystem::path folder, int64_t from_step);
  void add(const StepReport& report);
  void add(int64_t step, const Evaluation& evaluation);
  void write_curve(const std::string& title) const;

 private:
  void read_back(int64_t from_step);
  void write_line(const Json& line);

  std::filesystem::path folder_;
  std::ofstream lines_;
  EventFile events_;
  Points training_, validation_;
};

}  // namespace glassformer
