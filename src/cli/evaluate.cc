#include <memory>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/config_overrides.h"
#include "glassformer/training/metrics.h"
#include "training/data/line_reader.h"
#include "training/model_setup.h"

namespace glassformer {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::string config, model, split, hypotheses, tokenize = "13a";
  std::vector<std::string> references;
  bool lowercase = false, json = false;
};

std::vector<std::string> lines_of(const std::string& path) {
  std::vector<std::string> lines;
  LineReader reader{fs::path(path)};
  for (std::string line; reader.next(line);) lines.push_back(line);
  return lines;
}

// Translations against references, as sacreBLEU scores them.
Json score_texts(const Options& options) {
  using Tokenizer = BleuOptions::Tokenizer;
  BleuOptions how{.lowercase = options.lowercase};
  if (options.tokenize == "intl") how.tokenizer = Tokenizer::kIntl;
  if (options.tokenize == "none") how.tokenizer = Tokenizer::kNone;
  if (options.tokenize == "char") how.tokenizer = Tokenizer::kChar;
  const std::vector<std::string> hypotheses = lines_of(options.hypotheses);
  std::vector<std::vector<std::string>> references;
  for (const std::string& path : options.references) references.push_back(lines_of(path));
  const BleuScore b = bleu(hypotheses, references, how);
  const ChrfScore c = chrf(hypotheses, references, {.lowercase = options.lowercase});
  return {{"bleu", b.score},
          {"bleu_signature", b.signature},
          {"chrf", c.score},
          {"chrf_signature", c.signature},
          {"brevity_penalty", b.brevity_penalty}};
}

// The model's losses and choices on one part of the data of a training configuration.
Json score_model(const Options& options, const Overrides& overrides) {
  const TrainConfig config = read_train_config(options.config, overrides);
  const fs::path folder = options.model.empty() ? config.trainer.output : fs::path(options.model);
  std::optional<Tokenizer> tokenizer;
  if (config.task != Task::kTable && config.task != Task::kImageClassification)
    tokenizer = Tokenizer::open(folder);
  const Tokenizer* words = tokenizer ? &*tokenizer : nullptr;
  const ModelSetup setup = open_trained(config, folder);
  const JsonFields data(config.data, "data");
  const std::string split = !options.split.empty() ? options.split
                            : data.has("test")     ? "test"
                                                   : "validation";
  const std::unique_ptr<Dataset> examples =
      open_dataset(data.object(split), data_context(config, setup, words));
  const Objective objective{config.task, 0, config.trainer.objective.temperature};
  const bool classes = config.task != Task::kCausalLm && config.task != Task::kMaskedLm &&
                       config.task != Task::kSequenceToSequence && config.task != Task::kEmbedding;
  const Evaluation result =
      evaluate(*setup.learner, *examples, objective, config.trainer.batch, classes);
  Json json{{"split", split}, {"targets", result.count}, {"loss", result.loss}};
  if (!classes) json["perplexity"] = perplexity(result.loss);
  if (!result.has_accuracy) return json;
  json["accuracy"] = result.accuracy;
  if (!classes) return json;
  const Average average = setup.classes == 2 ? Average::kBinary : Average::kMacro;
  const ClassScores scores = class_scores(result.predictions, result.targets, average);
  json["precision"] = scores.precision;
  json["recall"] = scores.recall;
  json["f1"] = scores.f1;
  json["average"] = setup.classes == 2 ? "binary" : "macro";
  return json;
}

void print(const Json& json, bool as_json) {
  if (as_json) {
    fmt::print("{}\n", json.dump(2));
    return;
  }
  for (auto field = json.begin(); field != json.end(); ++field)
    if (field->is_number_float())
      fmt::print("{:<16} {:.4f}\n", field.key(), field->get<double>());
    else
      fmt::print("{:<16} {}\n", field.key(),
                 field->is_string() ? field->get<std::string>() : field->dump());
}

void run(const Options& options, const Overrides& overrides) {
  const bool texts = !options.hypotheses.empty() || !options.references.empty();
  if (texts == !options.config.empty())
    throw CLI::ValidationError(
        "expected a training configuration, or --hypotheses and --references");
  if (texts && (options.hypotheses.empty() || options.references.empty()))
    throw CLI::ValidationError("expected both --hypotheses and --references");
  print(texts ? score_texts(options) : score_model(options, overrides), options.json);
}

}  // namespace

void add_evaluate(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "evaluate", "loss, perplexity, accuracy and F1 of a model, or BLEU and chrF of translations");
  auto options = std::make_shared<Options>();
  command->add_option("CONFIG", options->config, "the configuration that the model was trained by");
  command->add_option("--model", options->model,
                      "the model; the configuration's output unless given");
  command->add_option("--split", options->split,
                      "which data of the configuration; test, or else validation, unless given");
  command->add_option("--hypotheses", options->hypotheses, "translations, a line each, to score");
  command->add_option("--references", options->references,
                      "what they should be; several files are several references");
  command->add_option("--tokenize", options->tokenize, "how BLEU parts words")
      ->check(CLI::IsMember({"13a", "intl", "none", "char"}))
      ->capture_default_str();
  command->add_flag("--lowercase", options->lowercase, "score without regard to case");
  command->add_flag("--json", options->json, "for programs");
  command->allow_extras();
  command->footer("Any other --FIELD VALUE sets a field of the configuration.");
  command->callback([options, command] { run(*options, overrides_of(command->remaining())); });
}

}  // namespace glassformer
