#pragma once

#include <cstdint>
#include <string>

namespace glassformer {

// What a model is trained to do.
enum class Task : uint8_t {
  kCausalLm,
  kMaskedLm,
  kSequenceToSequence,
  kSequenceClassification,
  kTokenClassification,
  kEmbedding,  // of whole texts, by contrast
  kImageClassification,
  kTable,  // an MLP on rows of numbers
};

Task task_of(const std::string& name);  // "causal_lm", ...; throws ValueError with what there is
const char* name_of(Task task);

}  // namespace glassformer
