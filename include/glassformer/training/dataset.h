#pragma once

#include <cstdint>
#include <span>

#include "glassformer/base/random.h"
#include "glassformer/models/transformer.h"

namespace glassformer {

// A target that costs nothing.
inline constexpr int64_t kIgnoredTarget = -100;

// What one forward and backward takes.
struct Batch {
  TransformerInput input = {};  // of a Transformer; texts of one stack are packed, see `starts`
  Tensor features = {};         // of an MLP: [rows, features], float32
  // int64, shaped like the logits without their last axis, kIgnoredTarget where nothing is asked;
  // or float32 like the outputs, for a regression. Not defined where the task has none.
  Tensor targets = {};
  int64_t target_count = 0;  // of those that count: what a mean divides by
  int64_t tokens = 0;        // that went in, padding not counted; rows of a table, images
};

// Examples that can be put together into batches. Methods may run on several threads at once.
class Dataset {
 public:
  virtual ~Dataset() = default;
  virtual int64_t size() const = 0;
  // In tokens, of the longer side where there are two: what examples of like length are put
  // together by.
  virtual int64_t length(int64_t example) const = 0;
  // What is drawn for an example (masks, crops) depends on `key` and its number alone, not on the
  // others of the batch. Throws IndexError for an example that is not there.
  virtual Batch collate(std::span<const int64_t> examples, RandomKey key) const = 0;
};

}  // namespace glassformer
