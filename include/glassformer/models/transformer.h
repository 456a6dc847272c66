#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "glassformer/models/spec.h"

namespace glassformer {

// Named as Hugging Face names them. Ids are int64 [batch, length]; a mask is 1 (or true) where a
// token is there. What is not given is left undefined.
struct TransformerInput {
  Tensor input_ids = {}, attention_mask = {}, token_type_ids = {}, position_ids = {};
  Tensor inputs_embeds = {};  // floating [batch, length, width], in place of ids
  Tensor pixel_values = {};   // [batch, channels, height, width]
  Tensor decoder_input_ids = {}, decoder_attention_mask = {}, decoder_inputs_embeds = {};
  Tensor encoder_output = {};  // what encode() gave, in place of the encoder's input
  // Sequences end to end without padding: ids are [tokens], and sequence s is starts[s] to
  // starts[s + 1]. int64 [sequences + 1]. Only where there is one stack; results are packed too.
  Tensor starts = {};
};

// The next tokens of a sequence whose keys and values are kept.
struct CachedPart {
  CacheSequence* sequence;  // grows by them
  std::span<const int64_t> ids;
  const CacheSequence* source = nullptr;  // of a decoder behind an encoder
};

// How kept sequences are continued. One step gives the same bits whether it is run alone, with the
// next ones of its sequence, or with other sequences; a prompt is faster, and its bits depend on
// where it was cut, not on what else is run with it.
enum class Pass : uint8_t { kPrompt, kSteps };

struct TransformerOutput {
  Tensor logits = {};                         // by the head's kind
  Tensor start_logits = {}, end_logits = {};  // kQuestion, in place of logits
  Tensor cls_logits = {}, distillation_logits = {};
  Tensor pooler_output = {};
  Tensor last_hidden_state = {};
  Tensor encoder_last_hidden_state = {};  // where there are two stacks
};

// A whole model. Calls do not change it: any number of threads may run it at once.
class Transformer {
 public:
  // With `pack`, weights are also kept in the form that multiplies fastest: for inference.
  Transformer(const TransformerSpec& spec, WeightSource& source, bool pack = false);

  TransformerOutput operator()(const TransformerInput& input, const Context& context = {}) const;

  // The parts, for those who run them by themselves.
  Tensor encode(const TransformerInput& input, const Context& context = {}) const;
  Tensor decode(const TransformerInput& input, const Tensor& encoded,
                const Context& context = {}) const;

  // Decoding with kept keys and values. Caches hold so many tokens, in all sequences.
  std::unique_ptr<KvCache> make_cache(int64_t places) const;
  std::unique_ptr<KvCache> make_source_cache(int64_t places) const;
  // What the decoder attends to, of sources that encode() has run packed, `lengths` long: one
  // sequence each. Throws MemoryError where the cache has no room.
  std::vector<CacheSequence> keep_sources(const Tensor& encoded, std::span<const int64_t> lengths,
                                          KvCache& cache) const;
  // The decoder's hidden states [tokens, width] of all parts, end to end. Where it throws, the
  // sequences are as they were.
  Tensor decode(std::span<const CachedPart> parts, Pass pass, const Context& context = {}) const;

  // hidden: of the last stack; `starts` as in the input.
  TransformerOutput head(const Tensor& hidden, const Context& context = {},
                         const Tensor& starts = {}) const;

  const TransformerSpec& spec() const { return spec_; }
  // Every weight with its name, tied ones once.
  const std::vector<Parameter>& parameters() const { return parameters_; }
  TensorOptions options() const;  // what it computes in, and where

 private:
  struct Head {
    std::optional<Linear> dense, output, distillation;
    std::optional<Norm> norm;
  };
  Head make_head(const Weights& weights) const;
  Tensor transformed(const Tensor& x, const Context& context) const;
  Tensor run_cached(std::span<const CachedPart> parts, Pass pass, const Context& context) const;
  TransformerOutput classify(const Tensor& hidden, const Context& context,
                             const Tensor& starts) const;

  TransformerSpec spec_;
  std::vector<Parameter> parameters_;
  std::optional<ImageEmbedding> image_;
  std::optional<TokenEmbedding> tokens_, decoder_tokens_;
  std::optional<Stack> encoder_, decoder_;
  Head head_;
};

}  // namespace glassformer
