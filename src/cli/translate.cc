#include <fstream>
#include <iostream>
#include <memory>

#include <fmt/format.h>

#include "base/check.h"
#include "cli/commands.h"
#include "cli/generation_run.h"
#include "cli/text_input.h"

namespace glassformer {
namespace {

struct Options {
  GenerationRunOptions run;
  std::vector<std::string> lines;
  std::string score;
};

// Without text there is nothing to translate: an empty line stays one.
bool is_blank(const std::string& line) {
  return line.find_first_not_of(" \t\r") == std::string::npos;
}

std::vector<TokenIds> ids_of(const Tokenizer& tokenizer, const std::vector<std::string>& lines) {
  EncodeOptions encode;
  encode.file_settings = false;
  std::vector<TokenIds> ids;
  for (Encoding& encoding : tokenizer.encode_batch(lines, encode))
    ids.push_back(std::move(encoding.ids));
  return ids;
}

void print(const GenerationRun& run, const GenerationResult& result, size_t line) {
  if (result.hypotheses.empty()) {
    fmt::print("\n");
    return;
  }
  // Several as Moses and Marian list them.
  for (const Hypothesis& one : result.hypotheses) {
    const std::string text = run.target_tokenizer() ? run.text_of(one) : Json(one.ids).dump();
    if (result.hypotheses.size() > 1)
      fmt::print("{} ||| {} ||| {:.4f}\n", line, text, one.score);
    else
      fmt::print("{}\n", text);
  }
}

void print_all(const GenerationRun& run, const std::vector<GenerationResult>& results, bool json) {
  if (!json) {
    for (size_t i = 0; i < results.size(); ++i) print(run, results[i], i);
    return;
  }
  Json all = Json::array();
  for (const GenerationResult& result : results) all.push_back(run.json_of(result));
  fmt::print("{}\n", Json{{"results", std::move(all)}}.dump());
}

// The model's own score of translations that are given, line by line.
void score(const GenerationRun& run, const Options& options,
           const std::vector<std::string>& sources) {
  std::ifstream in(options.score);
  require<FileError>(in.good(), "{}: cannot be read", options.score);
  std::vector<std::string> targets;
  for (std::string line; std::getline(in, line);) targets.push_back(line);
  require<ValueError>(targets.size() == sources.size(),
                      "--score: expected a line for each of {} sources, found {}", sources.size(),
                      targets.size());
  const std::vector<TokenIds> from = ids_of(run.source_tokenizer(), sources);
  const std::vector<TokenIds> to = ids_of(*run.target_tokenizer(), targets);
  Json results = Json::array();
  for (size_t i = 0; i < from.size(); ++i) {
    const Hypothesis one = score_target(run.model(), run.request(from[i]), to[i]);
    if (options.run.json)
      results.push_back({{"score", one.score}, {"token_scores", one.token_scores}});
    else
      fmt::print("{:.4f}\n", one.score);
  }
  if (options.run.json) fmt::print("{}\n", Json{{"results", std::move(results)}}.dump());
}

void run(const Options& options) {
  const GenerationRun run(options.run);
  require<ValueError>(run.model().transformer().spec().encoder.has_value(),
                      "translate: expected a model with encoder and decoder, found {}; try: "
                      "glassformer generate",
                      run.model().config().architecture);
  std::vector<GenerationRequest> requests;
  std::vector<size_t> line_of;  // each request's
  size_t count = 0;
  if (!options.run.ids.empty()) {
    requests = run.requests_from_ids();
    count = requests.size();
    for (size_t i = 0; i < count; ++i) line_of.push_back(i);
  } else {
    const std::vector<std::string> lines = texts_from(options.lines);
    if (!options.score.empty()) return score(run, options, lines);
    const std::vector<TokenIds> ids = ids_of(run.source_tokenizer(), lines);
    count = lines.size();
    for (size_t i = 0; i < count; ++i) {
      if (is_blank(lines[i])) continue;
      requests.push_back(run.request(ids[i]));
      line_of.push_back(i);
    }
  }
  const Interrupt interrupt;
  std::vector<GenerationResult> results(count);
  std::vector<GenerationResult> found = run.run(std::move(requests), interrupt, "lines");
  for (size_t i = 0; i < found.size(); ++i) results[line_of[i]] = std::move(found[i]);
  print_all(run, results, options.run.json);
  run.write_trees(results);
  if (interrupt.asked()) throw Interrupted();
}

}  // namespace

void add_translate(CLI::App& app) {
  CLI::App* command = app.add_subcommand("translate", "lines in, translated lines out, in order");
  auto options = std::make_shared<Options>();
  options->run.add_to(*command);
  command->add_option("LINE", options->lines, "lines; those of stdin unless given");
  command->add_option("--score", options->score,
                      "score the translations in this file, line by line, instead");
  command->callback([options] { run(*options); });
}

}  // namespace glassformer
