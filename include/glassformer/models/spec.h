#pragma once

#include <optional>

#include "glassformer/nn/image_embedding.h"
#include "glassformer/nn/stack.h"
#include "glassformer/nn/token_embedding.h"

namespace glassformer {

// What stands on top of the last layer.
struct HeadSpec {
  enum class Kind : uint8_t {
    kNone,            // the hidden states themselves
    kPooler,          // a vector made from the first token
    kLanguageModel,   // a score for every token of the vocabulary, at every position
    kClassification,  // of the whole input, by its first token
    kTokens,          // of every token
    kQuestion         // start and end of an answer
  };
  // dense + activation (+ norm), before the output layer.
  struct Transform {
    Activation activation = Activation::kTanh;
    std::optional<NormSpec> norm = {};
  };
  Kind kind = Kind::kNone;
  std::optional<Transform> transform = {};
  int64_t outputs = 0;
  bool bias = true;
  bool tied = false;          // the output layer is the token table
  bool fixed_bias = false;    // of a tied one: training leaves it as it is
  double scale = 1;           // of what goes into the output layer
  bool distillation = false;  // DeiT: a second classifier on the second token; the mean of both
  double dropout = 0;         // before the output layer
  Initial initial = {};
};

// The one Transformer. At least one of the stacks is there: an encoder (BERT, ViT), a decoder
// (GPT-2, Llama), or both, the decoder attending to the encoder (Marian, T5).
struct TransformerSpec {
  std::optional<StackSpec> encoder, decoder;
  std::optional<TokenEmbeddingSpec> tokens = {};          // of the encoder, or the only stack
  std::optional<TokenEmbeddingSpec> decoder_tokens = {};  // of a decoder behind an encoder
  bool shared_tokens = false;                             // both use one table
  std::optional<ImageEmbeddingSpec> image = {};           // in place of tokens
  HeadSpec head = {};

  const StackSpec& last_stack() const { return decoder ? *decoder : *encoder; }
};

}  // namespace glassformer
