#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

#include <fmt/format.h>

#include "base/check.h"
#include "base/json.h"
#include "cli/commands.h"
#include "cli/model_options.h"
#include "cli/numbers.h"
#include "cli/picture_input.h"
#include "cli/text_input.h"
#include "glassformer/decoding/model_tokenizer.h"

namespace glassformer {
namespace {

struct Options {
  ModelOptions model;
  std::vector<std::string> inputs;
  int top = 5;
  bool pairs = false, json = false;
};

struct Guess {
  std::string label;
  double probability;
};
using Guesses = std::vector<Guess>;

// A token and what it is, of a token classifier.
struct TokenGuess {
  std::string text;
  Guess guess;
};

enum class Kind { kOneLabel, kManyLabels, kNumber };

// How the logits are to be read: `problem_type`, or by their number where it is not given.
Kind kind_of(const Model& model) {
  const Json json = parse_json(model.config().json, "config.json");
  const std::string type = JsonFields(json, "config.json").text("problem_type", "");
  if (type == "multi_label_classification") return Kind::kManyLabels;
  const bool number = type == "regression" || (type.empty() && model.config().labels.size() == 1);
  return number ? Kind::kNumber : Kind::kOneLabel;
}

std::vector<double> probabilities(const float* logits, size_t count, Kind kind) {
  std::vector<double> values(logits, logits + count);
  if (kind == Kind::kNumber) return values;
  if (kind == Kind::kManyLabels) {
    for (double& value : values) value = 1 / (1 + std::exp(-value));
    return values;
  }
  const double largest = *std::max_element(values.begin(), values.end());
  for (double& value : values) value = std::exp(value - largest);
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  for (double& value : values) value /= sum;
  return values;
}

// The `top` likeliest, best first.
Guesses guesses_of(const Model& model, const float* logits, size_t count, Kind kind, int top) {
  const std::vector<double> values = probabilities(logits, count, kind);
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return values[a] > values[b]; });
  order.resize(std::min(count, static_cast<size_t>(top)));
  const std::vector<std::string>& labels = model.config().labels;
  Guesses guesses;
  for (const size_t i : order)
    guesses.push_back({i < labels.size() ? labels[i] : fmt::format("LABEL_{}", i), values[i]});
  return guesses;
}

std::vector<Guesses> classify_all(const Model& model, const Options& options,
                                  const std::vector<std::string>& inputs) {
  const Kind kind = kind_of(model);
  std::vector<Guesses> results(inputs.size());
  const auto add = [&](const std::vector<size_t>& numbers, const TransformerOutput& output) {
    const std::vector<float> logits = output.logits.to_vector<float>();
    const size_t count = logits.size() / numbers.size();
    for (size_t i = 0; i < numbers.size(); ++i)
      results[numbers[i]] = guesses_of(model, logits.data() + i * count, count, kind, options.top);
  };
  if (model.transformer().spec().image) {
    run_over_pictures(model, options.model.path, inputs, add);
    return results;
  }
  const std::vector<Encoding> encodings =
      encode_for(model, open_tokenizer(options.model.path), inputs, {.pairs = options.pairs});
  run_over_texts(model, encodings, [&](const TextBatch& batch, const TransformerOutput& output) {
    add(batch.texts, output);
  });
  return results;
}

std::vector<std::vector<TokenGuess>> classify_tokens(const Model& model, const Options& options,
                                                     const std::vector<std::string>& texts) {
  const std::vector<Encoding> encodings =
      encode_for(model, open_tokenizer(options.model.path), texts, {});
  std::vector<std::vector<TokenGuess>> results(texts.size());
  run_over_texts(model, encodings, [&](const TextBatch& batch, const TransformerOutput& output) {
    const std::vector<float> logits = output.logits.to_vector<float>();
    const size_t count = static_cast<size_t>(output.logits.size(-1));
    for (size_t t = 0; t < batch.texts.size(); ++t) {
      const Encoding& encoding = encodings[batch.texts[t]];
      for (size_t i = 0; i < encoding.ids.size(); ++i) {
        if (encoding.special_tokens_mask[i] != 0) continue;
        const float* row = logits.data() + (static_cast<size_t>(batch.starts[t]) + i) * count;
        const TextRange range = encoding.offsets[i];
        results[batch.texts[t]].push_back(
            {texts[batch.texts[t]].substr(range.begin, range.end - range.begin),
             guesses_of(model, row, count, Kind::kOneLabel, 1).front()});
      }
    }
  });
  return results;
}

Json to_json(const Guess& guess) {
  return {{"label", guess.label}, {"probability", guess.probability}};
}

void print_tokens(const Options& options, const std::vector<std::vector<TokenGuess>>& results) {
  Json json{{"results", Json::array()}};
  for (const auto& tokens : results) {
    Json list = Json::array();
    for (const TokenGuess& token : tokens) {
      Json one = to_json(token.guess);
      one["text"] = token.text;
      list.push_back(one);
      if (!options.json)
        fmt::print("{}\t{}\t{:.4f}\n", token.text, token.guess.label, token.guess.probability);
    }
    if (!options.json) fmt::print("\n");
    json["results"].push_back({{"tokens", list}});
  }
  if (options.json) fmt::print("{}\n", json.dump(2));
}

void print_labels(const Options& options, const std::vector<std::string>& inputs,
                  const std::vector<Guesses>& results) {
  Json json{{"results", Json::array()}};
  for (size_t i = 0; i < results.size(); ++i) {
    Json list = Json::array();
    if (!options.json) fmt::print("{}\n", inputs[i]);
    for (const Guess& guess : results[i]) {
      list.push_back(to_json(guess));
      if (!options.json) fmt::print("  {:.4f}  {}\n", guess.probability, guess.label);
    }
    json["results"].push_back({{"labels", list}});
  }
  if (options.json) fmt::print("{}\n", json.dump(2));
}

void run(const Options& options) {
  const Model model = options.model.open();
  const TransformerSpec& spec = model.transformer().spec();
  const bool tokens = spec.head.kind == HeadSpec::Kind::kTokens;
  require<ValueError>(tokens || spec.head.kind == HeadSpec::Kind::kClassification,
                      "{}: expected a model with a classification head, found {}",
                      options.model.path, model.config().architecture);
  const std::vector<std::string> inputs = spec.image ? options.inputs : texts_from(options.inputs);
  if (tokens)
    print_tokens(options, classify_tokens(model, options, inputs));
  else
    print_labels(options, inputs, classify_all(model, options, inputs));
}

}  // namespace

void add_classify(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("classify", "texts or pictures in, labels with probabilities out");
  auto options = std::make_shared<Options>();
  options->model.add_to(*command);
  command->add_option(
      "INPUT", options->inputs,
      "texts, or PNG and JPEG files for a vision model; lines of stdin unless given");
  command->add_option("--top-k", options->top, "how many labels to show")
      ->check(at_least_one())
      ->capture_default_str();
  command->add_flag("--pairs", options->pairs, "every text is two, parted by a tab");
  command->add_flag("--json", options->json, "for programs");
  command->callback([options] { run(*options); });
}

}  // namespace glassformer
