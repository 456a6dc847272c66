#include <algorithm>
#include <cstdlib>
#include <memory>
#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/check.h"
#include "base/json.h"
#include "cli/commands.h"
#include "cli/model_options.h"
#include "cli/text_input.h"
#include "glassformer/decoding/model_tokenizer.h"
#include "text/utf8.h"

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

// A part of the user's text; what would break the line is written as a picture of itself.
std::string visible(std::string_view text) {
  std::string shown;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n')
      shown += "⏎";
    else if (c == '\t')
      shown += "⇥";
    else if (byte < 0x20 || byte == 0x7F)
      append_utf8(shown, byte == 0x7F ? 0x2421 : 0x2400 + byte);
    else
      shown += c;
  }
  return shown;
}

// The text itself on grounds that take turns with its tokens, and their ids on the same grounds
// below. Special tokens are dim, text that has no token is on red. A token that ends inside a
// character, or stands for nothing of the text, has only a narrow field: the character is shown
// once.
void print_in_colour(const std::string& text, const Encoding& encoding,
                     std::optional<int64_t> unknown) {
  constexpr int kGrounds[] = {24, 53, 58, 23, 60};
  constexpr int kUnknown = 124;
  const std::string_view view = text;
  std::string pieces;
  std::string ids;
  uint32_t shown = 0;  // bytes of the text
  for (size_t i = 0; i < encoding.ids.size(); ++i) {
    const int64_t id = encoding.ids[i];
    if (encoding.special_tokens_mask[i] != 0) {
      pieces += fmt::format("\033[2m{}\033[0m", encoding.tokens[i]);
      ids += fmt::format("\033[2m{}\033[0m ", id);
      continue;
    }
    const uint32_t begin = std::max(encoding.offsets[i].begin, shown);
    const uint32_t end = std::max(encoding.offsets[i].end, begin);
    const int ground = unknown == id ? kUnknown : kGrounds[i % std::size(kGrounds)];
    const std::string part = begin == end ? "·" : visible(view.substr(begin, end - begin));
    pieces += visible(view.substr(shown, begin - shown));
    pieces += fmt::format("\033[48;5;{}m\033[97m{}\033[0m", ground, part);
    ids += fmt::format("\033[48;5;{}m\033[97m{}\033[0m ", ground, id);
    shown = end;
  }
  fmt::print("{}{}\n{}\033[2m({} tokens)\033[0m\n\n", pieces, visible(view.substr(shown)), ids,
             encoding.ids.size());
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
  const std::vector<Encoding> encodings = tokenizer.encode_batch(texts, encode);
  for (size_t i = 0; i < texts.size(); ++i) {
    if (options.json)
      fmt::print("{}\n", Json(encodings[i].ids).dump());
    else if (in_colour())
      print_in_colour(texts[i], encodings[i], tokenizer.special_ids().unk);
    else
      print_table(encodings[i]);
  }
}

}  // namespace

void add_tokenize(CLI::App& app) {
  CLI::App* command = app.add_subcommand("tokenize", "text to ids and back, with offsets");
  auto options = std::make_shared<Options>();
  add_model_argument(*command, options->path,
                     "a Hugging Face folder, a tokenizer file or a .gguf file");
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
