#pragma once

#include <map>
#include <string>
#include <vector>

#include "glassformer/models/model.h"

namespace glassformer {

struct NamedPassOptions {
  bool attentions = false;     // attentions.N, or encoder_, decoder_ and cross_attentions.N
  bool hidden_states = false;  // hidden_states.N: the embedding, then what every layer gave
  std::vector<std::string> probes = {};  // patterns of other steps; see capture.h
};

using NamedTensors = std::map<std::string, Tensor>;

// One pass with the names that Hugging Face uses: `input_ids`, `attention_mask`, `token_type_ids`,
// `position_ids`, `inputs_embeds`, `pixel_values`, `decoder_input_ids`, `decoder_attention_mask`,
// `decoder_inputs_embeds` in; `logits`, `last_hidden_state`, `pooler_output`,
// `encoder_last_hidden_state`, `start_logits`, `end_logits`, ... out. Integers may be of any width.
// Throws ValueError for an input of another name, and for a probe that fits no step.
NamedTensors named_pass(const Model& model, const NamedTensors& inputs,
                        const NamedPassOptions& options = {});

}  // namespace glassformer
