#pragma once

#include <optional>
#include <span>

#include "glassformer/inspect/look.h"

namespace glassformer {

// The likeliest of a row of logits, with their probabilities (their softmax), best first.
Report::Guesses top_guesses(std::span<const float> logits, int64_t top,
                            const std::function<std::string(int64_t)>& text);

// The name of a predicted id: a label of the model's, or a token of the input's.
std::function<std::string(int64_t)> names_of_outputs(const Model& model, const LookInput& input);

// What the output says, by the kind of the model's head; nothing where it has none.
std::optional<Report::Prediction> prediction_of(const Model& model, const LookInput& input,
                                                const TransformerOutput& output, int64_t top);

// The tokens that a decoder is shown to have said, each with its probability after those before it
// and what else was likely there; nothing where the input has none.
std::optional<Report::Generation> said_tokens(const Model& model, const LookInput& input,
                                              const TransformerOutput& output, int64_t top);

}  // namespace glassformer
