#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <unistd.h>

#include <fmt/format.h>

#include "base/check.h"
#include "cli/commands.h"
#include "cli/generation_run.h"
#include "glassformer/decoding/stop_text.h"
#include "glassformer/text/decode_stream.h"

namespace glassformer {
namespace {

struct Options {
  GenerationRunOptions run;
  std::vector<std::string> prompts;
  std::string file, system, chat;
  bool raw = false, stream = false;
};

std::string whole(std::istream& in) {
  std::string text{std::istreambuf_iterator<char>(in), {}};
  if (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

// Each argument is a prompt; so is a whole file, or all of stdin.
std::vector<std::string> prompts_of(const Options& options) {
  if (options.file.empty())
    return options.prompts.empty() ? std::vector{whole(std::cin)} : options.prompts;
  require<ValueError>(options.prompts.empty(), "expected a prompt or --file, found both");
  std::ifstream in(options.file, std::ios::binary);
  require<FileError>(in.good(), "{}: cannot be read", options.file);
  return {whole(in)};
}

// A conversation as the model's template writes it; its special tokens are in it.
TokenIds chat_ids(const Tokenizer& tokenizer, const Json& messages) {
  const Json variables{{"messages", messages}, {"add_generation_prompt", true}};
  const std::string text = tokenizer.chat_template().render_json(variables.dump());
  EncodeOptions encode;
  encode.special_tokens = encode.file_settings = false;
  return tokenizer.encode(text, encode).ids;
}

TokenIds ids_of(const Tokenizer& tokenizer, const Options& options, const std::string& prompt) {
  if (tokenizer.has_chat_template() && !options.raw) {
    Json messages = Json::array();
    if (!options.system.empty())
      messages.push_back({{"role", "system"}, {"content", options.system}});
    messages.push_back({{"role", "user"}, {"content", prompt}});
    return chat_ids(tokenizer, messages);
  }
  require<ValueError>(options.system.empty(), "--system: this model has no chat template");
  EncodeOptions encode;
  encode.file_settings = false;
  return tokenizer.encode(prompt, encode).ids;
}

std::vector<GenerationRequest> requests_of(const GenerationRun& run, const Options& options) {
  if (!options.run.ids.empty()) return run.requests_from_ids();
  const Tokenizer& tokenizer = run.source_tokenizer();
  if (!options.chat.empty()) return {run.request(chat_ids(tokenizer, read_json(options.chat)))};
  std::vector<GenerationRequest> requests;
  for (const std::string& prompt : prompts_of(options))
    requests.push_back(run.request(ids_of(tokenizer, options, prompt)));
  return requests;
}

void print(const GenerationRun& run, const std::vector<GenerationResult>& results, bool json) {
  if (json) {
    Json all = Json::array();
    for (const GenerationResult& result : results) all.push_back(run.json_of(result));
    fmt::print("{}\n", Json{{"results", std::move(all)}}.dump());
    return;
  }
  for (const GenerationResult& result : results)
    for (const Hypothesis& one : result.hypotheses) {
      const std::string text = run.target_tokenizer() ? run.text_of(one) : Json(one.ids).dump();
      if (result.hypotheses.size() > 1)
        fmt::print("{:.4f}\t{}\n", one.score, text);
      else
        fmt::print("{}\n", text);
    }
}

// Text appears as it is made.
class Streamer {
 public:
  Streamer(const Tokenizer& tokenizer, std::vector<std::string> stops)
      : stream_(tokenizer), stop_(std::move(stops)) {}

  void add(int64_t token) { show(stop_.add(stream_.add(token))); }
  void finish() {
    show(stop_.add(stream_.finish()));
    show(stop_.finish() + "\n");
  }

 private:
  static void show(const std::string& text) {
    fmt::print("{}", text);
    std::fflush(stdout);
  }

  DecodeStream stream_;
  StopText stop_;
};

void run(const Options& options) {
  const GenerationRun run(options.run);
  std::vector<GenerationRequest> requests = requests_of(run, options);
  const GenerationOptions& o = run.defaults();
  const bool can_stream = requests.size() == 1 && o.num_beams == 1 && o.num_return_sequences == 1 &&
                          !options.run.json && run.target_tokenizer();
  require<ValueError>(!options.stream || can_stream,
                      "--stream: expected one prompt with one result (no beams, no --json)");
  std::optional<Streamer> streamer;
  if (can_stream && (options.stream || isatty(STDOUT_FILENO) != 0)) {
    streamer.emplace(*run.target_tokenizer(), o.stop_strings);
    requests.front().on_token = [&](int64_t token) {
      streamer->add(token);
      return true;
    };
  }
  const Interrupt interrupt;
  const std::vector<GenerationResult> results = run.run(std::move(requests), interrupt, "prompts");
  if (streamer)
    streamer->finish();
  else
    print(run, results, options.run.json);
  run.write_trees(results);
  if (interrupt.asked()) throw Interrupted();
}

}  // namespace

void add_generate(CLI::App& app) {
  CLI::App* command = app.add_subcommand("generate", "continues texts: greedy, beams or sampled");
  auto options = std::make_shared<Options>();
  options->run.add_to(*command);
  command->add_option("PROMPT", options->prompts, "prompts; all of stdin unless given");
  command->add_option("--file", options->file, "the prompt is what this file holds");
  command->add_option("--system", options->system, "what a chat model is told first");
  command->add_option("--chat", options->chat, "a JSON file of messages, in place of a prompt");
  command->add_flag("--raw", options->raw, "the prompt as it is, without the chat template");
  command->add_flag("--stream", options->stream, "show the text while it is made");
  command->callback([options] { run(*options); });
}

}  // namespace glassformer
