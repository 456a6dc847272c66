#include "glassformer/decoding/options.h"

#include <cmath>
#include <limits>

#include "base/check.h"

namespace glassformer {
namespace {

struct Bound {
  const char* name;
  double value, low, high;
  bool low_open = false, high_open = false;
};

void check_bounds(const GenerationOptions& o) {
  constexpr double kMost = std::numeric_limits<double>::max();
  const Bound bounds[] = {
      {"temperature", o.temperature, 0, kMost, true},
      {"top_k", static_cast<double>(o.top_k), 0, kMost},
      {"top_p", o.top_p, 0, 1, true},
      {"min_p", o.min_p.value_or(0), 0, 1},
      {"typical_p", o.typical_p, 0, 1, true},
      {"epsilon_cutoff", o.epsilon_cutoff, 0, 1, false, true},
      {"eta_cutoff", o.eta_cutoff, 0, 1, false, true},
      {"repetition_penalty", o.repetition_penalty, 0, kMost, true},
      {"encoder_repetition_penalty", o.encoder_repetition_penalty, 0, kMost, true},
      {"presence_penalty", o.presence_penalty, -kMost, kMost},
      {"frequency_penalty", o.frequency_penalty, -kMost, kMost},
      {"length_penalty", o.length_penalty, -kMost, kMost},
      {"coverage_penalty", o.coverage_penalty, 0, kMost},
      {"diversity_penalty", o.diversity_penalty, 0, kMost},
      {"num_beams", static_cast<double>(o.num_beams), 1, 1024},
      {"num_beam_groups", static_cast<double>(o.num_beam_groups), 1, 1024},
      {"num_return_sequences", static_cast<double>(o.num_return_sequences), 1, 1024},
      {"no_repeat_ngram_size", static_cast<double>(o.no_repeat_ngram_size), 0, kMost},
      {"encoder_no_repeat_ngram_size", static_cast<double>(o.encoder_no_repeat_ngram_size), 0,
       kMost},
      {"max_new_tokens", static_cast<double>(o.max_new_tokens.value_or(1)), 1, kMost},
      {"max_length", static_cast<double>(o.max_length.value_or(1)), 1, kMost},
      {"min_new_tokens", static_cast<double>(o.min_new_tokens.value_or(0)), 0, kMost},
      {"min_length", static_cast<double>(o.min_length), 0, kMost},
  };
  for (const Bound& b : bounds) {
    const bool fits = std::isfinite(b.value) &&  //
                      (b.low_open ? b.value > b.low : b.value >= b.low) &&
                      (b.high_open ? b.value < b.high : b.value <= b.high);
    if (b.high < kMost)
      require<ValueError>(fits, "{} must be in {}{}, {}{}, found {}", b.name,
                          b.low_open ? '(' : '[', b.low, b.high, b.high_open ? ')' : ']', b.value);
    require<ValueError>(fits, "{} must be a number {} {}, found {}", b.name,
                        b.low_open ? "above" : "of at least", b.low, b.value);
  }
}

void check_phrases(const char* name, const std::vector<TokenIds>& phrases) {
  for (const TokenIds& phrase : phrases)
    require<ValueError>(!phrase.empty(), "{} has an empty phrase", name);
}

}  // namespace

void check(const GenerationOptions& o) {
  check_bounds(o);
  require<ValueError>(
      o.num_return_sequences == 1 || o.do_sample || o.num_beams > 1,
      "num_return_sequences {} with greedy decoding, which gives one: set do_sample "
      "or num_beams",
      o.num_return_sequences);
  require<ValueError>(o.num_beams == 1 || o.num_return_sequences <= o.num_beams,
                      "num_return_sequences {} is more than num_beams {}", o.num_return_sequences,
                      o.num_beams);
  require<ValueError>(o.num_beams % o.num_beam_groups == 0,
                      "num_beam_groups {} does not divide num_beams {}", o.num_beam_groups,
                      o.num_beams);
  require<ValueError>(o.num_beam_groups == 1 || !o.do_sample,
                      "num_beam_groups {} with do_sample: groups of beams are not sampled",
                      o.num_beam_groups);
  require<ValueError>(o.num_beam_groups > 1 || o.diversity_penalty == 0,
                      "diversity_penalty {} needs num_beam_groups above 1", o.diversity_penalty);
  require<ValueError>(o.coverage_penalty == 0 || o.num_beams > 1,
                      "coverage_penalty {} needs num_beams above 1", o.coverage_penalty);
  require<ValueError>(o.force_words_ids.empty() || o.num_beams > 1,
                      "force_words_ids needs num_beams above 1");
  require<ValueError>(o.force_words_ids.empty() || (o.num_beam_groups == 1 && !o.do_sample),
                      "force_words_ids goes with neither do_sample nor num_beam_groups");
  require<ValueError>(!o.max_new_tokens || o.min_new_tokens.value_or(0) <= *o.max_new_tokens,
                      "min_new_tokens {} is above max_new_tokens {}", o.min_new_tokens.value_or(0),
                      o.max_new_tokens.value_or(0));
  require<ValueError>(o.max_new_tokens || !o.max_length || o.min_length <= *o.max_length,
                      "min_length {} is above max_length {}", o.min_length,
                      o.max_length.value_or(0));
  require<ValueError>(o.regex.empty() || o.json_schema.empty(),
                      "regex and json_schema are both set; output follows one of them");
  check_phrases("bad_words_ids", o.bad_words_ids);
  for (const auto& [ids, bias] : o.sequence_bias)
    require<ValueError>(!ids.empty() && !std::isnan(bias),
                        "sequence_bias has {} for a phrase of {} ids", bias, ids.size());
  for (const auto& phrases : o.force_words_ids) {
    require<ValueError>(!phrases.empty(), "force_words_ids has an empty set of phrases");
    check_phrases("force_words_ids", phrases);
  }
  for (const std::string& stop : o.stop_strings)
    require<ValueError>(!stop.empty(), "stop_strings has an empty string");
}

}  // namespace glassformer
