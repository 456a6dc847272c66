#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "glassformer/tensor/tensor.h"

namespace glassformer {

// How the vectors of a sentence's tokens become one vector.
struct SentencePooling {
  enum class Mode : uint8_t { kFirst, kMean, kMax, kMeanSqrtLength, kWeightedMean, kLast };
  std::vector<Mode> modes{Mode::kMean};  // several are put next to each other
  bool normalize = false;                // to length 1
  int64_t max_length = 0;                // tokens of a sentence; 0 is the model's own limit

  // What a sentence-transformers folder says in modules.json and the files it names. The default
  // where there is none. Throws FileError for modules that are not there yet.
  static SentencePooling load(const std::filesystem::path& folder);
};

// hidden: packed [tokens, width]; sequence s is starts[s] to starts[s + 1], and none is empty.
// A new tensor [sequences, width * modes], float32. Passes gradients.
Tensor pool_sentences(const Tensor& hidden, const std::vector<int64_t>& starts,
                      const SentencePooling& pooling);

}  // namespace glassformer
