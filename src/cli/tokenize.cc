#include <cstdlib>
#include <memory>
#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/check.h"
#include "base/json.h"
#include "cli/commands.h"
#include "cli/text_input.h"
#include "glassformer/decoding/model_tokenizer.h"

namespace glassformer {
namespace {

struct Options {
  std::string path, chat;
  std::vector<std::string> inputs;
  bool no_special = false, decode = false, target = false, json = false;
};

// Numbers of one line: a JSON list, or parted by spaces and commas.
std::vector<int64_t> ids_of(const std::string& line) {
  std::string list = line;
  if (list.find('[') == std::string::npos) {
    for (char& c : list)
      if (c == ' ' || c == '\t') c = ',';
    list = "[" + list + "]";
  }
  const Json json = parse_json(list, "ids");
  std::vector<int64_t> ids;
  require<ValueError>(json.is_array(), "expected a list of ids, found \"{}\"", line);
  for (const Json& id : json) {
    require<ValueError>(id.is_number_integer(), "expected a list of ids, found \"{}\"", line);
    ids.push_back(id.get<int64_t>());
  }
  return ids;
}

bool in_colour() {
  const char* no_color = std::getenv("NO_COLOR");
  return isatty(STDOUT_FILENO) != 0 && (no_color == nullptr || *no_color == '\0');
}

// The pieces of a text on grounds that take turns, special ones dimmed, and their ids below.
void print_in_colour(const Encoding& encoding) {
  constexpr int kGrounds[] = {24, 53, 58, 23, 60};
  for (size_t i = 0; i < encoding.ids.size(); ++i) {
    if (encoding.special_tokens_mask[i] != 0)
      fmt::print("\033[2m{}\033[0m", encoding.tokens[i]);
    else
      fmt::print("\033[48;5;{}m\033[97m{}\033[0m", kGrounds[i % 5], encoding.tokens[i]);
  }
  fmt::print("\n\033[2m{}\033[0m\n", fmt::join(encoding.ids, " "));
}

// A token a line: id, token, and the bytes of the text that it stands for.
void print_table(const Encoding& encoding) {
  for (size_t i = 0; i < encoding.ids.size(); ++i)
    fmt::print("{}\t{}\t{}\t{}\n", encoding.ids[i], encoding.tokens[i], encoding.offsets[i].begin,
               encoding.offsets[i].end);
  fmt::print("\n");
}

// The conversation of a JSON file as the model's template writes it.
std::string chat_text(const Tokenizer& tokenizer, const std::string& path) {
  Json variables = read_json(path);
  if (variables.is_array()) variables = {{"messages", variables}, {"add_generation_prompt", true}};
  require<FileError>(variables.is_object() && variables.contains("messages"),
                     "{}: expected a list of messages, or an object with `messages`, found {}",
                     path, describe(variables));
  return tokenizer.chat_template().render_json(variables.dump());
}

void run(const Options& options) {
  const Tokenizer tokenizer = open_tokenizer(options.path, options.target);
  if (options.decode) {
    for (const std::string& line : texts_from(options.inputs)) {
      const std::string text = tokenizer.decode(ids_of(line), options.no_special);
      fmt::print("{}\n", options.json ? Json(text).dump() : text);
    }
    return;
  }
  EncodeOptions encode;
  encode.special_tokens = !options.no_special;
  encode.tokens = !options.json;
  encode.file_settings = false;
  std::vector<std::string> texts;
  if (options.chat.empty()) {
    texts = texts_from(options.inputs);
  } else {
    texts.push_back(chat_text(tokenizer, options.chat));
    encode.special_tokens = false;  // the template writes them itself
    if (!options.json) fmt::print("{}\n", texts.front());
  }
  for (const Encoding& encoding : tokenizer.encode_batch(texts, encode)) {
    if (options.json)
      fmt::print("{}\n", Json(encoding.ids).dump());
    else if (in_colour())
      print_in_colour(encoding);
    else
      print_table(encoding);
  }
}

}  // namespace

void add_tokenize(CLI::App& app) {
  CLI::App* command = app.add_subcommand("tokenize", "text to ids and back, with offsets");
  auto options = std::make_shared<Options>();
  command
      ->add_option("MODEL", options->path,
                   "a Hugging Face folder, a tokenizer file or a .gguf file")
      ->required();
  command->add_option("TEXT", options->inputs, "texts; lines of stdin unless given");
  command->add_flag("--no-special", options->no_special, "without special tokens");
  command->add_flag("--decode", options->decode, "ids in, text out");
  command->add_option("--chat", options->chat,
                      "a JSON file of messages, written as the model's chat template says");
  command->add_flag("--target", options->target, "for the target language of a translation model");
  command->add_flag("--json", options->json, "one list of ids a line");
  command->callback([options] { run(*options); });
}

}  // namespace glassformer
