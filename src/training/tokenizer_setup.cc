#include "training/tokenizer_setup.h"

#include <array>

#include "base/atomic_file.h"
#include "base/check.h"
#include "base/named_choice.h"
#include "glassformer/text/train_tokenizer.h"
#include "training/data/line_reader.h"

namespace glassformer {
namespace {

namespace fs = std::filesystem;

// Everything that a folder's tokenizer may be made of.
constexpr std::array kFiles{"tokenizer.json",
                            "tokenizer_config.json",
                            "special_tokens_map.json",
                            "added_tokens.json",
                            "vocab.json",
                            "vocab.txt",
                            "merges.txt",
                            "source.spm",
                            "target.spm",
                            "tokenizer.model",
                            "spiece.model",
                            "chat_template.jinja"};

// Roles in the order of their ids.
constexpr std::array<std::string_view, 7> kRoles{"pad", "unk", "bos", "eos", "cls", "sep", "mask"};

void copy_tokenizer(const fs::path& from, const fs::path& to) {
  require<FileError>(fs::is_directory(from), "{}: expected a folder with a model, found none",
                     from.string());
  bool found = false;
  for (const char* name : kFiles) {
    if (!fs::exists(from / name)) continue;
    std::error_code error;
    fs::copy_file(from / name, to / name, fs::copy_options::overwrite_existing, error);
    require<FileError>(!error, "{}: expected to copy it to {}, found: {}", (from / name).string(),
                       to.string(), error.message());
    found = true;
  }
  require<FileError>(found, "{}: expected a tokenizer in this folder, found none", from.string());
}

// The files of the training data, as far as their lines are text.
std::vector<fs::path> training_files(const TrainConfig& config, const JsonFields& training) {
  std::vector<fs::path> files;
  const auto add = [&](const Json& value) {
    for (const Json& one : value.is_array() ? value : Json::array({value}))
      if (one.is_string()) files.push_back(config.folder / one.get<std::string>());
  };
  if (training.has("files")) {
    add(training.at("files"));
    return files;
  }
  const JsonFields all(config.data, "data");
  const JsonFields data = all.object("train");
  const std::string format = data.text("format");
  if (format == "text" && data.has("files")) add(data.at("files"));
  if (format == "parallel") add(data.at("source")), add(data.at("target"));
  require<ValueError>(!files.empty(),
                      "tokenizer: train: expected files to learn from, since the training data are "
                      "no plain text");
  return files;
}

std::vector<std::string> lines_of(const std::vector<fs::path>& files) {
  std::vector<std::string> lines;
  for (const fs::path& path : files) {
    LineReader reader(path);
    // A line keeps its end, which is text to a tokenizer of bytes.
    for (std::string line; reader.next(line);) lines.push_back(line + "\n");
  }
  return lines;
}

struct Roles {
  Json config = Json::object();  // "pad_token": "<pad>", …
  std::vector<std::string> tokens;
  std::string of(const char* role) const {
    return config.value(std::string(role) + "_token", std::string());
  }
};

Roles roles_of(const JsonFields& training) {
  Roles roles;
  if (!training.has("special_tokens")) return roles;
  const JsonFields special = training.object("special_tokens");
  special.reject_unknown(kRoles);
  for (const std::string_view role : kRoles) {
    if (!special.has(role)) continue;
    const std::string token = special.text(role);
    roles.config[std::string(role) + "_token"] = token;
    roles.tokens.push_back(token);
  }
  return roles;
}

TokenizerTraining options_of(const JsonFields& fields, const Roles& roles, Task task) {
  using Kind = TokenizerTraining::Kind;
  fields.reject_unknown(
      {"kind", "vocab_size", "files", "lowercase", "min_frequency", "special_tokens"});
  TokenizerTraining options;
  options.kind = named_choice<Kind>("tokenizer: train: kind", fields.text("kind"),
                                    {{"byte_level_bpe", Kind::kByteLevelBpe},
                                     {"bpe", Kind::kBpe},
                                     {"word_piece", Kind::kWordPiece},
                                     {"unigram", Kind::kUnigram}});
  options.vocab_size = fields.integer("vocab_size", options.vocab_size);
  options.lowercase = fields.boolean("lowercase", false);
  options.min_frequency = fields.integer("min_frequency", 0);
  options.special_tokens = roles.tokens;
  if (options.kind != Kind::kByteLevelBpe) options.unknown_token = roles.of("unk");
  const std::string cls = roles.of("cls"), sep = roles.of("sep"), eos = roles.of("eos");
  if (!cls.empty() && !sep.empty()) {
    options.single = fmt::format("{} $A {}", cls, sep);
    options.pair = fmt::format("{} $A {} $B:1 {}:1", cls, sep, sep);
  } else if (!eos.empty() && task == Task::kSequenceToSequence) {
    options.single = fmt::format("$A {}", eos);
  }
  return options;
}

void write(const fs::path& path, const std::string& text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

void train(const TrainConfig& config, const JsonFields& fields,
           const std::function<void(const std::string&)>& say) {
  const Roles roles = roles_of(fields);
  const TokenizerTraining options = options_of(fields, roles, config.task);
  say(fmt::format("training a tokenizer of {} tokens", options.vocab_size));
  const std::vector<std::string> lines = lines_of(training_files(config, fields));
  const fs::path& output = config.trainer.output;
  Json about = roles.config;
  about["tokenizer_class"] = "PreTrainedTokenizerFast";
  about["clean_up_tokenization_spaces"] = false;
  write(output / "tokenizer_config.json", about.dump(2) + "\n");
  write(output / "tokenizer.json", train_tokenizer(lines, options));
}

bool reads_text(Task task) { return task != Task::kImageClassification && task != Task::kTable; }

}  // namespace

std::optional<Tokenizer> set_up_tokenizer(const TrainConfig& config, GradientExchange& exchange,
                                          bool resumed,
                                          const std::function<void(const std::string&)>& say) {
  if (!reads_text(config.task)) return {};
  const fs::path& output = config.trainer.output;
  const JsonFields fields(config.tokenizer.is_null() ? config.model : config.tokenizer,
                          config.tokenizer.is_null() ? "model" : "tokenizer");
  if (!config.tokenizer.is_null()) fields.reject_unknown({"from", "train"});
  if (exchange.rank() == 0 && !(resumed && fs::exists(output / "tokenizer.json"))) {
    if (!config.tokenizer.is_null() && fields.has("train"))
      train(config, fields.object("train"), say);
    else
      copy_tokenizer(config.folder / fields.text("from"), output);
  }
  exchange.barrier();
  return Tokenizer::open(output);
}

}  // namespace glassformer
