#pragma once

#include <cstdint>
#include <memory>
#include <mutex>

#include "glassformer/ops/positions.h"
#include "glassformer/ops/rotary.h"

namespace glassformer {

// How a stack knows the order of its input.
struct PositionSpec {
  enum class Kind : uint8_t { kNone, kSinusoidal, kLearned, kRotary, kAlibi, kRelative };
  Kind kind = Kind::kNone;
  // kLearned: rows of the table, and the row of position 0 (BART skips two, RoBERTa those up to its
  // padding id). kSinusoidal: no limit unless given.
  int64_t max_positions = 0, first_row = 0;
  // Tokens that are padding get the row first_row - 1 and are not counted (RoBERTa).
  bool skip_padding = false;
  SinusoidalOptions::Layout sinusoidal = SinusoidalOptions::Layout::kInterleaved;
  RotarySpec rotary = {};
  RotaryOptions::Layout rotary_layout = RotaryOptions::Layout::kHalfSplit;
  // kRelative: T5's buckets.
  int64_t num_buckets = 32, max_distance = 128;
};

// Rotary tables, made once and grown when a longer sequence comes. Safe to use from many threads.
class RotaryTables {
 public:
  explicit RotaryTables(const RotarySpec& spec) : spec_(spec) {}
  // For positions 0 ... length-1 at least.
  std::shared_ptr<const RotaryTable> get(int64_t length, TensorOptions options);

 private:
  RotarySpec spec_;
  std::mutex mutex_;
  std::shared_ptr<const RotaryTable> table_;
  int64_t length_ = 0;
  TensorOptions options_;
};

// The same for sinusoidal positions.
class SinusoidalTable {
 public:
  SinusoidalTable(int64_t width, SinusoidalOptions::Layout layout)
      : width_(width), layout_(layout) {}
  // [length at least, width].
  Tensor get(int64_t length, TensorOptions options);

 private:
  int64_t width_;
  SinusoidalOptions::Layout layout_;
  std::mutex mutex_;
  Tensor table_;
};

}  // namespace glassformer
