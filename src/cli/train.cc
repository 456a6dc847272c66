#include <memory>

#include <fmt/format.h>

#include "base/check.h"
#include "cli/commands.h"
#include "cli/config_overrides.h"
#include "cli/interrupt.h"
#include "cli/progress.h"
#include "training/log.h"
#include "training/run.h"

namespace glassformer {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::string config, checkpoint;
  bool resume = false, overwrite = false;
};

// The checkpoint to go on from: the one that was named, or the newest.
std::optional<fs::path> start_of(const Options& options, const fs::path& output) {
  if (!options.checkpoint.empty()) return options.checkpoint;
  const auto found = checkpoints_of(output);
  if (options.resume) {
    if (found.empty()) return {};  // killed before the first one
    return found.back().second;
  }
  require<ValueError>(found.empty() || options.overwrite,
                      "{}: has checkpoints of an earlier run; go on with --resume, start anew with "
                      "--overwrite, or choose another --output",
                      output.string());
  return {};
}

std::string note_of(const StepReport& report) {
  return fmt::format(", loss {:.4f}, lr {:.2e}, {:.0f} tokens/s", report.loss, report.learning_rate,
                     report.tokens_per_second);
}

std::string text_of(const Evaluation& result, Task task) {
  std::string text = fmt::format("validation loss {:.4f}", result.loss);
  const bool language =
      task == Task::kCausalLm || task == Task::kMaskedLm || task == Task::kSequenceToSequence;
  if (language) text += fmt::format(", perplexity {:.2f}", std::exp(result.loss));
  if (result.has_accuracy) text += fmt::format(", accuracy {:.2f} %", 100 * result.accuracy);
  return text;
}

void train(const TrainConfig& config, const Options& options, GradientExchange& exchange) {
  const bool speaks = exchange.rank() == 0;
  const auto say = [&](const std::string& text) {
    if (speaks) fmt::print(stderr, "{}\n", text);
  };
  const std::optional<fs::path> start = start_of(options, config.trainer.output);
  TrainingRun run(config, exchange, start, say);
  const int64_t first = run.trainer().state().step, steps = run.trainer().steps();
  if (start) say(fmt::format("going on from {}", start->string()));
  if (options.overwrite && speaks)  // not before all was found in order
    prune_checkpoints(config.trainer.output, /*keep=*/0, /*best=*/-1);
  const auto [trained, all] = run.parameter_counts();
  say(fmt::format("training {}{} parameters for {} steps", trained,
                  trained == all ? "" : fmt::format(" of {}", all), steps));
  std::optional<TrainingLog> log;
  if (speaks) log.emplace(config.trainer.output, first);
  const Interrupt interrupt;
  TrainingEnd end;
  {
    std::optional<Progress> progress;
    if (speaks) progress.emplace("steps", steps, first);
    end = run.run({.on_step =
                       [&](const StepReport& report) {
                         if (!speaks) return;
                         log->add(report);
                         progress->update(report.step, note_of(report));
                       },
                   .on_evaluation =
                       [&](int64_t step, const Evaluation& result) {
                         if (!speaks) return;
                         log->add(step, result);
                         progress->say(
                             fmt::format("step {}: {}", step, text_of(result, config.task)));
                       },
                   .should_stop = [&] { return interrupt.asked(); }});
  }
  if (speaks) log->write_curve(config.trainer.output.filename().string());
  if (end == TrainingEnd::kStopped) {
    say(fmt::format("stopped after step {}; go on with --resume", run.trainer().state().step));
    throw Interrupted();
  }
  if (end == TrainingEnd::kEarly)
    say(fmt::format("stopped early: the best step was {}", run.trainer().state().best_step));
  run.write_result();
  if (speaks) fmt::print("{}\n", config.trainer.output.string());
}

}  // namespace

void add_train(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "train", "trains or fine-tunes what a .json or .yaml file describes; writes a model folder");
  auto options = std::make_shared<Options>();
  command
      ->add_option("CONFIG", options->config, "model, data and how to train; see docs/training.md")
      ->required();
  CLI::Option* resume = command->add_flag("--resume", options->resume,
                                          "go on from the newest checkpoint of the output");
  CLI::Option* checkpoint =
      command->add_option("--checkpoint", options->checkpoint, "go on from this checkpoint");
  command
      ->add_flag("--overwrite", options->overwrite,
                 "start anew where the output has an earlier run, whose checkpoints are removed")
      ->excludes(resume)
      ->excludes(checkpoint);
  command->allow_extras();
  command->footer("Any other --FIELD VALUE sets a field of the configuration: --optimizer.lr 3e-4");
  command->callback([options, command] {
    const TrainConfig config =
        read_train_config(options->config, overrides_of(command->remaining()));
    const std::unique_ptr<GradientExchange> exchange = make_exchange();
    train(config, *options, *exchange);
  });
}

}  // namespace glassformer
