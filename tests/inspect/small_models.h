#pragma once

#include <numeric>
#include <vector>

#include "glassformer/models/model.h"

namespace glassformer::testing {

// Small models with large random weights, so that nothing in them is nearly linear.
inline constexpr const char* kGpt2 = R"({"model_type": "gpt2", "vocab_size": 40, "n_embd": 24,
    "n_layer": 3, "n_head": 3, "n_positions": 64, "initializer_range": 0.3})";
inline constexpr const char* kLlama = R"({"model_type": "llama", "vocab_size": 40,
    "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
    "intermediate_size": 48, "max_position_embeddings": 64, "initializer_range": 0.3})";
inline constexpr const char* kBart = R"({"model_type": "bart", "vocab_size": 40, "d_model": 24,
    "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 3,
    "decoder_attention_heads": 3, "encoder_ffn_dim": 32, "decoder_ffn_dim": 32,
    "max_position_embeddings": 64, "init_std": 0.3})";
inline Tensor row_of(const std::vector<int64_t>& ids) {
  return from_vector(ids, {1, static_cast<int64_t>(ids.size())});
}

// One sequence, and a shorter one for a decoder behind an encoder; `shift` makes another.
inline TransformerInput small_input(const Model& model, int64_t shift = 0) {
  TransformerInput input;
  input.input_ids = row_of({5 + shift, 16, 7 + shift, 28, 9 + shift, 7});
  const TransformerSpec& spec = model.transformer().spec();
  if (spec.encoder && spec.decoder) input.decoder_input_ids = row_of({2, 15 + shift, 6, 33});
  return input;
}

}  // namespace glassformer::testing
