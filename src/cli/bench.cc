#include <algorithm>
#include <chrono>
#include <memory>

#include <fmt/format.h>

#include "base/check.h"
#include "base/json.h"
#include "cli/commands.h"
#include "cli/model_options.h"
#include "cli/numbers.h"
#include "glassformer/autograd/no_grad.h"
#include "glassformer/base/threads.h"
#include "glassformer/decoding/engine.h"
#include "glassformer/inspect/anatomy.h"

namespace glassformer {
namespace {

struct Options {
  ModelOptions model;
  int64_t prompt = 512, tokens = 64, batch = 1, repeats = 3;
  bool json = false;
};

double seconds_of(const std::function<void()>& body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

// Ids that any vocabulary has.
TokenIds some_ids(int64_t count, int64_t vocabulary) {
  TokenIds ids;
  for (int64_t i = 0; i < count; ++i) ids.push_back((i * 7919 + 11) % vocabulary);
  return ids;
}

// Medians, in seconds: of the prompts, and of one step of all sequences after them.
struct Times {
  double prompt = 0, step = 0;
};

Times measure(const Transformer& transformer, const Options& options) {
  const NoGrad no_grad;
  const int64_t vocabulary = transformer.spec().head.outputs;
  const TokenIds ids = some_ids(options.prompt, vocabulary), next{ids.front()};
  const auto cache = transformer.make_cache(options.batch * (options.prompt + options.tokens));
  std::vector<double> prompts, steps;
  for (int64_t i = 0; i <= options.repeats; ++i) {
    std::vector<CacheSequence> sequences;
    for (int64_t b = 0; b < options.batch; ++b) sequences.emplace_back(*cache);
    std::vector<CachedPart> parts;
    parts.reserve(sequences.size());
    for (CacheSequence& one : sequences) parts.push_back({&one, ids});
    const double prompt = seconds_of([&] { transformer.decode(parts, Pass::kPrompt); });
    for (CachedPart& part : parts) part.ids = next;
    std::vector<double> own;
    for (int64_t t = 0; t < options.tokens; ++t)
      own.push_back(seconds_of([&] { transformer.head(transformer.decode(parts, Pass::kSteps)); }));
    if (i == 0) continue;  // warm-up
    prompts.push_back(prompt);
    steps.push_back(median(own));
  }
  return {median(prompts), median(steps)};
}

// What a step reads: every weight but the embeddings, of which it takes a few rows; the table of
// tokens counts where it is the output layer too.
int64_t step_bytes(const Model& model) {
  int64_t bytes = 0;
  const bool tied = model.transformer().spec().head.tied;
  for (const Anatomy::Weight& weight : anatomy_of(model).weights) {
    const bool embedding = weight.name.find("embedding.") != std::string::npos;
    if (!embedding || (tied && weight.name.ends_with("tokens.weight"))) bytes += weight.bytes;
  }
  return bytes;
}

void run(const Options& options) {
  const Model model = options.model.open();
  const TransformerSpec& spec = model.transformer().spec();
  require<ValueError>(
      spec.decoder && !spec.encoder && spec.head.kind == HeadSpec::Kind::kLanguageModel,
      "bench decode: expected a decoder that generates text, found {}",
      model.config().architecture);
  const Times times = measure(model.transformer(), options);
  const auto batch = static_cast<double>(options.batch);
  const double prompt_rate = batch * static_cast<double>(options.prompt) / times.prompt;
  const double rate = batch / times.step;
  const double gigabytes = static_cast<double>(step_bytes(model)) * 1e-9;
  if (options.json) {
    const Json report = {
        {"prompt_tokens", options.prompt}, {"batch", options.batch},
        {"threads", num_threads()},        {"prompt_tokens_per_second", prompt_rate},
        {"step_seconds", times.step},      {"tokens_per_second", rate},
        {"step_gigabytes", gigabytes},     {"gigabytes_per_second", gigabytes / times.step}};
    fmt::print("{}\n", report.dump());
    return;
  }
  fmt::print("prompt of {} tokens: {:.1f} tokens/s\n", options.prompt, prompt_rate);
  fmt::print("decode, batch {}: {:.2f} tokens/s, {:.2f} ms a step\n", options.batch, rate,
             times.step * 1e3);
  fmt::print("weights: {:.3f} GB a step, read at {:.1f} GB/s\n", gigabytes, gigabytes / times.step);
}

}  // namespace

void add_bench(CLI::App& app) {
  CLI::App* command = app.add_subcommand("bench", "measures how fast this machine is");
  command->require_subcommand(1);
  CLI::App* decode = command->add_subcommand("decode", "prompts and steps of a decoder");
  auto options = std::make_shared<Options>();
  options->model.add_to(*decode);
  decode->add_option("--prompt", options->prompt, "tokens of the prompt")
      ->check(at_least_one())
      ->capture_default_str();
  decode->add_option("--tokens", options->tokens, "steps after it")
      ->check(at_least_one())
      ->capture_default_str();
  decode->add_option("--batch", options->batch, "sequences at once")
      ->check(at_least_one())
      ->capture_default_str();
  decode->add_option("--repeats", options->repeats, "the median of so many is given")
      ->check(at_least_one())
      ->capture_default_str();
  decode->add_flag("--json", options->json, "for programs");
  decode->callback([options] { run(*options); });
}

}  // namespace glassformer
