#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace glassformer {

using TokenIds = std::vector<int64_t>;

// When a beam search ends, once it has num_beams finished hypotheses.
enum class EarlyStopping : uint8_t {
  kFalse,  // when no live hypothesis, at its present length, scores above the worst finished one
  kTrue,   // at once
  kNever   // as kFalse, but at the length that would favour the live ones most
};

// How text is generated. Names and defaults are those of Hugging Face's generation configuration;
// fields that it does not have say so. "Length" counts the prompt, "new tokens" do not.
struct GenerationOptions {
  // Lengths. With neither maximum, 20 new tokens; max_new_tokens wins over max_length, and
  // min_new_tokens over min_length.
  std::optional<int64_t> max_new_tokens = {}, max_length = {}, min_new_tokens = {};
  int64_t min_length = 0;
  std::vector<std::string> stop_strings = {};

  // Greedy unless do_sample or several beams say otherwise.
  bool do_sample = false;
  uint64_t seed = 0;  // ours: the same seed gives the same tokens
  int64_t num_return_sequences = 1;
  int64_t num_beams = 1;
  int64_t num_beam_groups = 1;
  double diversity_penalty = 0;  // off a token's score, for each earlier group that chose it now
  double length_penalty = 1;     // α: score = sum of log-probabilities / new tokens^α
  double coverage_penalty = 0;  // ours, β: + β Σ over the source of log(min(attention on it, 1))
  EarlyStopping early_stopping = EarlyStopping::kFalse;

  // The distribution that is sampled from.
  double temperature = 1;
  int64_t top_k = 50;  // 0: all
  double top_p = 1, typical_p = 1;
  std::optional<double> min_p = {};
  double epsilon_cutoff = 0, eta_cutoff = 0;
  bool renormalize_logits = false;
  bool remove_invalid_values = false;

  // Penalties on what was said. The prompt counts for repetition, only new tokens for the other
  // two, which are OpenAI's and not Hugging Face's.
  double repetition_penalty = 1, encoder_repetition_penalty = 1;
  double presence_penalty = 0, frequency_penalty = 0;
  int64_t no_repeat_ngram_size = 0, encoder_no_repeat_ngram_size = 0;
  std::optional<std::pair<int64_t, double>> exponential_decay_length_penalty = {};  // start, factor

  // Words.
  std::vector<std::pair<TokenIds, double>> sequence_bias = {};  // added to the last token's score
  std::vector<TokenIds> bad_words_ids = {};
  std::vector<std::vector<TokenIds>> force_words_ids = {};  // of each set, one of the phrases
  TokenIds suppress_tokens = {}, begin_suppress_tokens = {};
  TokenIds prefix_ids = {};  // ours: the new tokens begin with these, at the model's own scores

  // Constrained output, ours: the text of the new tokens is in the language of the regular
  // expression, or is JSON that fits the schema. Empty: none. See docs/generation.md.
  std::string regex = {}, json_schema = {};

  std::optional<int64_t> bos_token_id = {}, pad_token_id = {}, decoder_start_token_id = {};
  TokenIds eos_token_id = {};
  std::optional<int64_t> forced_bos_token_id = {};
  TokenIds forced_eos_token_id = {};

  bool return_tree = false;  // ours: keep every hypothesis, for Search::tree()
};

// What a model's folder says: generation_config.json, or where there is none the same fields in
// config.json, where older folders keep them; special ids that the former leaves out come from the
// latter. Fields that do not concern us are passed over. Throws FileError, naming the field, what
// was expected and what was found.
GenerationOptions read_generation_options(const std::filesystem::path& folder);
// The same from the text of such a file; `where` names it in messages.
GenerationOptions parse_generation_options(const std::string& json, const std::string& where);

// Fields of such a text over what is there; those that are ours have the names of ours.
void update(GenerationOptions& options, const std::string& json, const std::string& where);

// Throws ValueError for values outside their domain and for options that contradict each other.
void check(const GenerationOptions& options);

}  // namespace glassformer
