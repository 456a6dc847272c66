#include "decoding/constraint.h"

#include <algorithm>
#include <limits>

#include "base/check.h"
#include "decoding/json_schema.h"
#include "decoding/regex_pattern.h"

namespace glassformer {
namespace {

constexpr size_t kMostMasks = 512;
constexpr float kNever = -std::numeric_limits<float>::infinity();

}  // namespace

Constraint::Constraint(const PatternPtr& pattern, const TokenVocabulary& vocabulary, TokenIds eos,
                       size_t prompt)
    : automaton_(pattern), vocabulary_(vocabulary), eos_(std::move(eos)), prompt_(prompt) {}

void Constraint::apply(std::span<float> scores, std::span<const int64_t> ids) {
  int32_t state = automaton_.start();
  for (const int64_t id : ids.subspan(prompt_))
    for (const char c : vocabulary_.bytes(id)) {
      if (state == Automaton::kDead) break;
      state = automaton_.next(state, static_cast<uint8_t>(c));
    }
  if (state == Automaton::kDead) {
    std::fill(scores.begin(), scores.end(), kNever);
    return;
  }
  std::vector<std::pair<size_t, float>> ends;
  if (automaton_.accepts(state))
    for (const int64_t id : eos_)
      if (id >= 0 && id < static_cast<int64_t>(scores.size()))
        ends.emplace_back(id, scores[static_cast<size_t>(id)]);
  const Mask& mask = mask_of(state);
  for (size_t i = 0; i < scores.size(); ++i) {
    const bool lets = i / 64 < mask.size() && (mask[i / 64] >> i % 64 & 1) != 0;
    scores[i] = lets ? scores[i] : kNever;
  }
  for (const auto& [id, score] : ends) scores[id] = score;
}

// Walks the sorted tokens; what a token shares with the one before has been walked already.
const Constraint::Mask& Constraint::mask_of(int32_t state) {
  if (const auto known = masks_.find(state); known != masks_.end()) return known->second;
  if (masks_.size() == kMostMasks) masks_.clear();
  Mask mask((static_cast<size_t>(vocabulary_.size()) + 63) / 64, 0);
  path_.assign(1, state);  // path_[n]: the state after n bytes of the token
  for (const auto& [id, shared, bytes] : vocabulary_.sorted()) {
    // The last one died inside what this one shares with it.
    if (path_.back() == Automaton::kDead && path_.size() <= shared + 1) continue;
    path_.resize(std::min<size_t>(path_.size(), shared + 1));
    while (path_.size() <= bytes.size() && path_.back() != Automaton::kDead)
      path_.push_back(automaton_.next(path_.back(), static_cast<uint8_t>(bytes[path_.size() - 1])));
    if (path_.back() != Automaton::kDead)
      mask[static_cast<size_t>(id) / 64] |= uint64_t{1} << static_cast<size_t>(id) % 64;
  }
  return masks_[state] = std::move(mask);
}

void add_constraint(ProcessorChain& chain, const GenerationOptions& o, const SearchInput& input) {
  if (o.regex.empty() && o.json_schema.empty()) return;
  require<ValueError>(input.vocabulary != nullptr, "{} needs a tokenizer, and there is none",
                      o.regex.empty() ? "json_schema" : "regex");
  PatternPtr pattern = o.regex.empty() ? parse_json_schema(o.json_schema) : parse_regex(o.regex);
  if (input.begins_text && input.vocabulary->drops_first_space())
    pattern = sequence({optional(literal(" ")), pattern});
  chain.push_back(std::make_unique<Constraint>(pattern, *input.vocabulary, o.eos_token_id,
                                               input.prompt.size()));
}

}  // namespace glassformer
