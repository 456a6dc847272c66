#pragma once

#include <functional>
#include <string>
#include <vector>

#include "glassformer/models/model.h"
#include "glassformer/text/tokenizer.h"

namespace glassformer {

// The texts given as arguments, or the lines of the standard input where there are none. What is
// not UTF-8 becomes U+FFFD.
std::vector<std::string> texts_from(const std::vector<std::string>& arguments);

struct TextBatch {
  std::vector<size_t> texts;    // their numbers
  std::vector<int64_t> starts;  // text i of the batch is tokens starts[i] to starts[i + 1]
  TransformerInput input;       // packed, or one text of [1, length] where a model cannot
};

struct TextRunOptions {
  bool pairs = false;      // a tab parts two texts
  int64_t max_length = 0;  // 0: what the model can take
};

// Runs the model over the texts, those of like length together and without padding, and calls
// `take` for each batch; batches come in any order of texts. Hidden states and logits of tokens are
// [tokens, width] there. The encodings stay with the texts' numbers.
void run_over_texts(const Model& model, const std::vector<Encoding>& encodings,
                    const std::function<void(const TextBatch&, const TransformerOutput&)>& take);

// Each text's ids and offsets, cut to what the model can take. Throws ValueError for an empty one.
std::vector<Encoding> encode_for(const Model& model, const Tokenizer& tokenizer,
                                 const std::vector<std::string>& texts,
                                 const TextRunOptions& options);

}  // namespace glassformer
