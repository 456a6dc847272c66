#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "glassformer/inspect/replace.h"
#include "glassformer/inspect/report.h"

namespace glassformer {

// One input, and what stands behind its numbers.
struct LookInput {
  TransformerInput input;  // a batch of one; a decoder behind an encoder has its ids too
  std::map<std::string, Report::Side> sides = {};  // "encoder", "decoder": a token an id
  std::optional<Report::Picture> picture = {};
  std::function<std::string(int64_t id)> token_text = {};  // of predicted ids; numbers unless given
  std::optional<int64_t> mask_id = {};  // [MASK]: a masked language model predicts there
  // Of a decoder: its tokens from here on were said by a model, or given as if they were.
  std::optional<int64_t> said_from = {};
};

struct LookOptions {
  // Whose weights and steps are kept; all unless given.
  std::vector<int64_t> layers = {}, heads = {};
  bool weights = true;                   // keep the attentions' weights
  bool steps = true;                     // keep the steps of one query
  std::optional<int64_t> row = {};       // that query, on the side of the output
  std::vector<std::string> probes = {};  // patterns of other steps to keep; see capture.h
  int64_t top = 5;                       // predictions to list

  enum class Rollout : uint8_t { kNone, kAttention, kGradient };
  Rollout rollout = Rollout::kNone;
  bool lens = false;
  enum class Saliency : uint8_t { kNone, kGradient, kIntegratedGradients };
  Saliency saliency = Saliency::kNone;  // of what is predicted
  // Look at the model without these; see Ablation.
  std::vector<std::string> ablate = {};
  Ablation::To ablate_to = Ablation::To::kZero;
};

// Runs the model on the path that it always runs on, and gathers what is there to see: its anatomy,
// the weights of every attention with what they are like, the equations for one query, the
// prediction, the alignment of words where there is a source, and what else is asked for. Throws
// ValueError for a pattern that fits no step and for weights that would take over 4 GiB, IndexError
// for layers, heads and rows that are not there, and what the model throws.
Report look(const Model& model, const LookInput& input, const LookOptions& options = {});

}  // namespace glassformer
