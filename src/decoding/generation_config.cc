#include "base/check.h"
#include "base/json.h"
#include "glassformer/decoding/options.h"

namespace glassformer {
namespace {

TokenIds ids_of(const JsonFields& fields, const char* name) {
  if (fields.at(name).is_array()) return fields.integers(name);
  if (!fields.at(name).is_number_integer()) fields.fail(name, "an id or a list of ids");
  return {fields.integer(name)};
}

// What a file does not say stays as it is; null says that there is none.
void read_integer(const JsonFields& fields, const char* name, std::optional<int64_t>& value) {
  if (fields.has(name)) value = fields.integer(name);
}
void read_id_list(const JsonFields& fields, const char* name, TokenIds& ids) {
  if (fields.has(name)) ids = ids_of(fields, name);
}

// A list of whole numbers inside the field `name`.
TokenIds phrase_of(const JsonFields& fields, const char* name, const Json& list) {
  const Json wrapped = {{name, list}};
  return JsonFields(wrapped, fields.where()).integers(name);
}

std::vector<TokenIds> phrases_of(const JsonFields& fields, const char* name, const Json& list) {
  if (!list.is_array()) fields.fail(name, "a list of lists of ids");
  std::vector<TokenIds> phrases;
  for (const Json& phrase : list) phrases.push_back(phrase_of(fields, name, phrase));
  return phrases;
}

EarlyStopping early_stopping_of(const JsonFields& fields) {
  const char* name = "early_stopping";
  if (fields.at(name) == "never") return EarlyStopping::kNever;
  if (!fields.at(name).is_boolean()) fields.fail(name, "true, false or \"never\"");
  return fields.boolean(name) ? EarlyStopping::kTrue : EarlyStopping::kFalse;
}

void read_words(const JsonFields& fields, GenerationOptions& o) {
  if (const Json* words = fields.find("bad_words_ids"))
    o.bad_words_ids = phrases_of(fields, "bad_words_ids", *words);
  if (const Json* words = fields.find("force_words_ids")) {
    if (!words->is_array()) fields.fail("force_words_ids", "a list of phrases");
    o.force_words_ids.clear();
    for (const Json& one : *words) {
      // One phrase, or a list of phrases of which one has to be said.
      const bool several = one.is_array() && !one.empty() && one[0].is_array();
      if (several) {
        o.force_words_ids.push_back(phrases_of(fields, "force_words_ids", one));
      } else {
        o.force_words_ids.push_back({phrase_of(fields, "force_words_ids", one)});
      }
    }
  }
  if (const Json* biases = fields.find("sequence_bias")) {
    if (!biases->is_array()) fields.fail("sequence_bias", "a list of [ids, bias]");
    o.sequence_bias.clear();
    for (const Json& pair : *biases) {
      if (!pair.is_array() || pair.size() != 2 || !pair[1].is_number())
        fields.fail("sequence_bias", "a list of [ids, bias]");
      o.sequence_bias.emplace_back(phrase_of(fields, "sequence_bias", pair[0]),
                                   pair[1].get<double>());
    }
  }
  if (fields.has("stop_strings"))
    o.stop_strings = fields.at("stop_strings").is_string()
                         ? std::vector{fields.text("stop_strings")}
                         : fields.texts("stop_strings");
  read_id_list(fields, "suppress_tokens", o.suppress_tokens);
  read_id_list(fields, "begin_suppress_tokens", o.begin_suppress_tokens);
  read_id_list(fields, "prefix_ids", o.prefix_ids);
  o.regex = fields.text("regex", o.regex);
  o.json_schema = fields.text("json_schema", o.json_schema);
}

void read_lengths(const JsonFields& fields, GenerationOptions& o) {
  read_integer(fields, "max_new_tokens", o.max_new_tokens);
  read_integer(fields, "max_length", o.max_length);
  read_integer(fields, "min_new_tokens", o.min_new_tokens);
  o.min_length = fields.integer("min_length", o.min_length);
  if (const Json* decay = fields.find("exponential_decay_length_penalty")) {
    if (!decay->is_array() || decay->size() != 2 || !(*decay)[0].is_number_integer() ||
        !(*decay)[1].is_number())
      fields.fail("exponential_decay_length_penalty", "[start, factor]");
    o.exponential_decay_length_penalty = {(*decay)[0].get<int64_t>(), (*decay)[1].get<double>()};
  }
}

void read_numbers(const JsonFields& fields, GenerationOptions& o) {
  const std::pair<const char*, double*> numbers[] = {
      {"diversity_penalty", &o.diversity_penalty},
      {"length_penalty", &o.length_penalty},
      {"coverage_penalty", &o.coverage_penalty},
      {"temperature", &o.temperature},
      {"top_p", &o.top_p},
      {"typical_p", &o.typical_p},
      {"epsilon_cutoff", &o.epsilon_cutoff},
      {"eta_cutoff", &o.eta_cutoff},
      {"repetition_penalty", &o.repetition_penalty},
      {"encoder_repetition_penalty", &o.encoder_repetition_penalty},
      {"presence_penalty", &o.presence_penalty},
      {"frequency_penalty", &o.frequency_penalty}};
  for (const auto& [name, value] : numbers) *value = fields.number(name, *value);
  if (fields.has("min_p")) o.min_p = fields.number("min_p");
  const std::pair<const char*, int64_t*> integers[] = {
      {"num_return_sequences", &o.num_return_sequences},
      {"num_beams", &o.num_beams},
      {"num_beam_groups", &o.num_beam_groups},
      {"top_k", &o.top_k},
      {"no_repeat_ngram_size", &o.no_repeat_ngram_size},
      {"encoder_no_repeat_ngram_size", &o.encoder_no_repeat_ngram_size}};
  for (const auto& [name, value] : integers) *value = fields.integer(name, *value);
  const std::pair<const char*, bool*> flags[] = {
      {"do_sample", &o.do_sample},
      {"renormalize_logits", &o.renormalize_logits},
      {"remove_invalid_values", &o.remove_invalid_values}};
  for (const auto& [name, value] : flags) *value = fields.boolean(name, *value);
}

void read_ids(const JsonFields& fields, GenerationOptions& o) {
  read_integer(fields, "bos_token_id", o.bos_token_id);
  read_integer(fields, "pad_token_id", o.pad_token_id);
  read_integer(fields, "decoder_start_token_id", o.decoder_start_token_id);
  read_id_list(fields, "eos_token_id", o.eos_token_id);
}

void read_all(const JsonFields& fields, GenerationOptions& o) {
  read_lengths(fields, o);
  read_numbers(fields, o);
  read_words(fields, o);
  read_ids(fields, o);
  if (fields.has("early_stopping")) o.early_stopping = early_stopping_of(fields);
  if (fields.has("seed")) {
    const int64_t seed = fields.integer("seed");
    if (seed < 0) fields.fail("seed", "0 or more");
    o.seed = static_cast<uint64_t>(seed);
  }
  read_integer(fields, "forced_bos_token_id", o.forced_bos_token_id);
  read_id_list(fields, "forced_eos_token_id", o.forced_eos_token_id);
}

}  // namespace

void update(GenerationOptions& options, const std::string& json, const std::string& where) {
  const Json parsed = parse_json(json, where);
  read_all(JsonFields(parsed, where), options);
}

GenerationOptions parse_generation_options(const std::string& json, const std::string& where) {
  GenerationOptions options;
  update(options, json, where);
  return options;
}

GenerationOptions read_generation_options(const std::filesystem::path& folder) {
  const auto path = folder / "generation_config.json";
  const auto config_path = folder / "config.json";
  GenerationOptions options;
  const Json config = read_json(config_path);
  const JsonFields config_fields(config, config_path.string());
  if (std::filesystem::exists(path)) {
    read_ids(config_fields, options);
    const Json json = read_json(path);
    read_all(JsonFields(json, path.string()), options);
  } else {
    read_all(config_fields, options);
  }
  return options;
}

}  // namespace glassformer
