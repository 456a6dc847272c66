#include "inspect/prediction.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace glassformer {
namespace {

// ln Σ e^x.
double log_sum_of(std::span<const float> logits) {
  const double largest = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float x : logits) sum += std::exp(x - largest);
  return largest + std::log(sum);
}

std::vector<double> softmax_of(const std::vector<float>& logits) {
  const double sum = log_sum_of(logits);
  std::vector<double> values;
  values.reserve(logits.size());
  for (const float x : logits) values.push_back(std::exp(x - sum));
  return values;
}

// The likeliest span of an answer, and its text.
Report::Prediction answer_of(const LookInput& input, const TransformerOutput& output) {
  const std::vector<double> starts = softmax_of(output.start_logits.to_vector<float>());
  const std::vector<double> ends = softmax_of(output.end_logits.to_vector<float>());
  size_t first = 0, last = 0;
  for (size_t i = 0, best = 0; i < ends.size(); ++i) {
    if (starts[i] > starts[best]) best = i;  // the best start up to here
    if (starts[best] * ends[i] > starts[first] * ends[last]) first = best, last = i;
  }
  std::string text;
  const auto side = input.sides.find("encoder");
  if (side != input.sides.end() && last < side->second.tokens.size()) {
    const auto& [tokens, whole] = side->second;
    const auto from = static_cast<size_t>(tokens[first].start);
    const auto to = static_cast<size_t>(tokens[last].end);
    if (from < to && to <= whole.size()) text = whole.substr(from, to - from);
  }
  return {"answer",
          {{static_cast<int64_t>(first),
            {{text, static_cast<int64_t>(last), starts[first] * ends[last]}}}}};
}

// The positions that the logits of every token are worth showing at.
std::vector<int64_t> positions_of(const Model& model, const LookInput& input, int64_t count) {
  const TransformerSpec& spec = model.transformer().spec();
  if (spec.decoder) return {count - 1};
  std::vector<int64_t> positions;
  const auto side = input.sides.find("encoder");
  const bool masks = spec.head.kind == HeadSpec::Kind::kLanguageModel;
  for (int64_t i = 0; i < count; ++i) {
    const bool masked = input.mask_id && side != input.sides.end() &&
                        side->second.tokens[static_cast<size_t>(i)].id == *input.mask_id;
    if (!masks || masked) positions.push_back(i);
  }
  return positions;
}

}  // namespace

Report::Guesses top_guesses(std::span<const float> logits, int64_t top,
                            const std::function<std::string(int64_t)>& text) {
  // Of equal ones the first; most of a vocabulary is never among the best so far.
  std::vector<int64_t> best;
  for (size_t i = 0; i < logits.size(); ++i) {
    if (static_cast<int64_t>(best.size()) == top &&
        !(logits[i] > logits[static_cast<size_t>(best.back())]))
      continue;
    const auto at = std::find_if(best.begin(), best.end(), [&](int64_t other) {
      return logits[i] > logits[static_cast<size_t>(other)];
    });
    best.insert(at, static_cast<int64_t>(i));
    if (static_cast<int64_t>(best.size()) > top) best.pop_back();
  }
  const double sum = log_sum_of(logits);
  Report::Guesses guesses;
  for (const int64_t id : best)
    guesses.push_back({text(id), id, std::exp(logits[static_cast<size_t>(id)] - sum)});
  return guesses;
}

std::function<std::string(int64_t)> names_of_outputs(const Model& model, const LookInput& input) {
  const HeadSpec::Kind kind = model.transformer().spec().head.kind;
  if (kind == HeadSpec::Kind::kClassification || kind == HeadSpec::Kind::kTokens)
    return [labels = model.config().labels](int64_t id) {
      const auto at = static_cast<size_t>(id);
      return at < labels.size() ? labels[at] : fmt::format("LABEL_{}", id);
    };
  if (input.token_text) return input.token_text;
  return [](int64_t id) { return std::to_string(id); };
}

std::optional<Report::Prediction> prediction_of(const Model& model, const LookInput& input,
                                                const TransformerOutput& output, int64_t top) {
  const TransformerSpec& spec = model.transformer().spec();
  if (output.start_logits.defined()) return answer_of(input, output);
  if (!output.logits.defined()) return std::nullopt;
  const auto names = names_of_outputs(model, input);
  const std::vector<float> logits = output.logits.to_vector<float>();
  const auto outputs = static_cast<size_t>(output.logits.size(-1));
  const std::span<const float> all(logits);
  if (spec.head.kind == HeadSpec::Kind::kClassification)
    return Report::Prediction{"classification", {{0, top_guesses(all, top, names)}}};
  Report::Prediction prediction;
  prediction.kind = spec.head.kind == HeadSpec::Kind::kTokens ? "tokens"
                    : spec.decoder                            ? "next_token"
                                                              : "masked";
  for (const int64_t i : positions_of(model, input, static_cast<int64_t>(logits.size() / outputs)))
    prediction.rows.push_back(
        {i, top_guesses(all.subspan(static_cast<size_t>(i) * outputs, outputs), top, names)});
  if (prediction.rows.empty()) return std::nullopt;
  return prediction;
}

std::optional<Report::Generation> said_tokens(const Model& model, const LookInput& input,
                                              const TransformerOutput& output, int64_t top) {
  const bool behind = model.transformer().spec().encoder.has_value();
  const Tensor& ids = behind ? input.input.decoder_input_ids : input.input.input_ids;
  if (!input.said_from || !output.logits.defined() || !ids.defined()) return std::nullopt;
  const std::vector<int64_t> list = ids.to_vector<int64_t>();
  const std::vector<float> logits = output.logits.to_vector<float>();
  const auto outputs = static_cast<size_t>(output.logits.size(-1));
  const auto names = names_of_outputs(model, input);
  Report::Generation generation;
  for (auto i = static_cast<size_t>(std::max<int64_t>(*input.said_from, 1)); i < list.size(); ++i) {
    const auto row = std::span(logits).subspan((i - 1) * outputs, outputs);
    const double score = row[static_cast<size_t>(list[i])] - log_sum_of(row);
    generation.tokens.push_back(
        {{names(list[i]), list[i], std::exp(score)}, top_guesses(row, top, names)});
  }
  return generation;
}

}  // namespace glassformer
