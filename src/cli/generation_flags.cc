#include "cli/generation_flags.h"

#include <filesystem>

#include "base/check.h"
#include "base/json.h"

namespace glassformer {
namespace {

enum class Kind : uint8_t { kInteger, kNumber, kBoolean, kText, kTexts, kEarlyStopping };

struct Flag {
  const char *names, *field;
  Kind kind;
  const char* help;
};

constexpr Flag kFlags[] = {
    {"--max-new-tokens,-n", "max_new_tokens", Kind::kInteger, "at most so many new tokens"},
    {"--max-length", "max_length", Kind::kInteger, "the same with the prompt"},
    {"--min-new-tokens", "min_new_tokens", Kind::kInteger, "at least so many new tokens"},
    {"--min-length", "min_length", Kind::kInteger, "the same with the prompt"},
    {"--stop-strings,--stop", "stop_strings", Kind::kTexts, "end where one of these is said"},
    {"--num-beams,-b", "num_beams", Kind::kInteger, "width of the beam search; 1: none"},
    {"--num-beam-groups", "num_beam_groups", Kind::kInteger, "groups of beams that differ"},
    {"--diversity-penalty", "diversity_penalty", Kind::kNumber, "how much groups differ"},
    {"--length-penalty", "length_penalty", Kind::kNumber, "scores are over length^this"},
    {"--coverage-penalty", "coverage_penalty", Kind::kNumber,
     "for leaving words of the source out (translation)"},
    {"--early-stopping", "early_stopping", Kind::kEarlyStopping, "true, false or never"},
    {"--num-return-sequences", "num_return_sequences", Kind::kInteger, "results an input"},
    {"--do-sample", "do_sample", Kind::kBoolean, "draw tokens by their probability"},
    {"--seed", "seed", Kind::kInteger, "the same seed draws the same tokens"},
    {"--temperature", "temperature", Kind::kNumber, "above 1 evens probabilities out"},
    {"--top-k", "top_k", Kind::kInteger, "draw from the k likeliest; 0: all"},
    {"--top-p", "top_p", Kind::kNumber, "draw from the likeliest with this mass"},
    {"--min-p", "min_p", Kind::kNumber, "draw from those with this share of the likeliest"},
    {"--typical-p", "typical_p", Kind::kNumber, "draw from the most typical with this mass"},
    {"--epsilon-cutoff", "epsilon_cutoff", Kind::kNumber, "draw from those above this"},
    {"--eta-cutoff", "eta_cutoff", Kind::kNumber, "the same, by the entropy"},
    {"--repetition-penalty", "repetition_penalty", Kind::kNumber, "above 1: against repeating"},
    {"--presence-penalty", "presence_penalty", Kind::kNumber, "off what was said"},
    {"--frequency-penalty", "frequency_penalty", Kind::kNumber, "off what was said, each time"},
    {"--no-repeat-ngram-size", "no_repeat_ngram_size", Kind::kInteger, "no such phrase twice"},
    {"--encoder-no-repeat-ngram-size", "encoder_no_repeat_ngram_size", Kind::kInteger,
     "no such phrase of the source"},
    {"--renormalize-logits", "renormalize_logits", Kind::kBoolean, "after all penalties"},
    {"--forced-bos-token-id", "forced_bos_token_id", Kind::kInteger,
     "the first new token (the language of a multilingual model)"},
    {"--regex", "regex", Kind::kText, "the text fits this regular expression"},
};

// The JSON text of what the user wrote. CLI11 shows the message of a ValidationError.
std::string json_of(Kind kind, const std::vector<std::string>& given) {
  const std::string& text = given.front();
  switch (kind) {
    case Kind::kText: return Json(text).dump();
    case Kind::kTexts: return Json(given).dump();
    case Kind::kEarlyStopping: return text == "never" ? "\"never\"" : text;
    default: return text;
  }
}

CLI::Validator validator_for(Kind kind) {
  if (kind == Kind::kInteger) return CLI::TypeValidator<int64_t>("INT");
  if (kind == Kind::kNumber) return CLI::TypeValidator<double>("NUMBER");
  return CLI::IsMember({"true", "false", "never"});
}

// The special ids inside a .gguf file are in the model's configuration.
GenerationOptions defaults_of(const Model& model, const std::string& path) {
  if (std::filesystem::is_directory(path)) return read_generation_options(path);
  GenerationOptions options;
  options.bos_token_id = model.config().begin;
  options.eos_token_id = model.config().end;
  options.pad_token_id = model.config().padding;
  return options;
}

TokenIds ids_of(const Tokenizer& tokenizer, const std::string& text) {
  EncodeOptions encode;
  encode.special_tokens = false;
  encode.file_settings = false;
  return tokenizer.encode(text, encode).ids;
}

}  // namespace

void GenerationFlags::add_to(CLI::App& command) {
  const char* group = "Generation (as the model's folder says unless given)";
  for (const Flag& flag : kFlags) {
    std::string& value = values_[flag.field];
    if (flag.kind == Kind::kBoolean) {
      command
          .add_flag_function(
              flag.names, [&value](int64_t count) { value = count > 0 ? "true" : "false"; },
              flag.help)
          ->group(group);
      continue;
    }
    CLI::Option* option = command.add_option_function<std::vector<std::string>>(
        flag.names,
        [&value, kind = flag.kind](const std::vector<std::string>& given) {
          value = json_of(kind, given);
        },
        flag.help);
    option->group(group)->allow_extra_args(false);  // what follows its value is the text
    if (flag.kind == Kind::kTexts) continue;
    option->expected(1);
    if (flag.kind != Kind::kText) option->check(validator_for(flag.kind));
  }
  command.add_option("--bad-words", bad_words_, "never say this; may be repeated")
      ->allow_extra_args(false)
      ->group(group);
  command.add_option("--force-words", force_words_, "say this (with beams); may be repeated")
      ->allow_extra_args(false)
      ->group(group);
  command.add_option("--prefix", prefix_, "the new text begins with this")->group(group);
  command
      .add_option("--json-schema", json_schema_file_, "the text is JSON that fits this schema file")
      ->check(CLI::ExistingFile)
      ->group(group);
}

GenerationOptions GenerationFlags::read(const Model& model, const std::string& path,
                                        const Tokenizer* tokenizer) const {
  GenerationOptions options = defaults_of(model, path);
  std::string changes;
  for (const auto& [field, value] : values_)
    if (!value.empty())
      changes += fmt::format("{}\"{}\": {}", changes.empty() ? "" : ", ", field, value);
  update(options, "{" + changes + "}", "the command line");
  if (!json_schema_file_.empty()) options.json_schema = read_json(json_schema_file_).dump();
  const bool words = !bad_words_.empty() || !force_words_.empty() || !prefix_.empty();
  require<ValueError>(!words || tokenizer != nullptr, "words need a model with a tokenizer");
  for (const std::string& word : bad_words_) {
    // In the middle of a text, and at its beginning.
    options.bad_words_ids.push_back(ids_of(*tokenizer, " " + word));
    options.bad_words_ids.push_back(ids_of(*tokenizer, word));
  }
  for (const std::string& word : force_words_)
    options.force_words_ids.push_back({ids_of(*tokenizer, " " + word)});
  if (!prefix_.empty()) options.prefix_ids = ids_of(*tokenizer, prefix_);
  return options;
}

}  // namespace glassformer
