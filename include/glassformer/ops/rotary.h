#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "glassformer/tensor/tensor.h"

namespace glassformer {

// Rotary positions: pair i of a head's elements is turned by position · inverse_i, with
// inverse_i = theta^(-2i / dim), scaled for contexts longer than those trained on. Fields and rules
// are those of Hugging Face's `rope_parameters`.
struct RotarySpec {
  enum class Scaling : uint8_t { kNone, kLinear, kDynamic, kYarn, kLlama3 };

  int64_t dim = 0;  // elements of a head that turn, even; the rest of the head passes through
  double theta = 10000;
  Scaling scaling = Scaling::kNone;
  double factor = 1;
  // The context trained on. Needed by kDynamic (there it is `max_position_embeddings`), kYarn and
  // kLlama3.
  int64_t original_max_positions = 0;
  double low_freq_factor = 1, high_freq_factor = 4;        // kLlama3
  double beta_fast = 32, beta_slow = 1;                    // kYarn, as the rest
  std::optional<double> mscale = {}, mscale_all_dim = {};  // count only together, neither being 0
  std::optional<double> attention_factor = {};
  bool truncate = true;
  // Each inverse_i is divided by factor i where there are any, [dim/2]: scaling computed elsewhere.
  std::vector<float> factors = {};
};

// inverse: [dim/2], in the float32 steps that transformers takes. attention_scaling multiplies cos
// and sin.
struct RotaryFrequencies {
  std::vector<float> inverse;
  double attention_scaling = 1;
};

// `length` is that of the sequence at hand; only kDynamic looks at it, and only beyond the context
// trained on. Throws ValueError for numbers outside their domain.
RotaryFrequencies rotary_frequencies(const RotarySpec& spec, int64_t length = 0);

// cos and sin of position · inverse, times the attention scaling: [positions, dim/2].
struct RotaryTable {
  Tensor cos, sin;
};

// For positions 0 ... positions-1. In float32 the angle is rounded to float32 first, as
// transformers does; in float64 it is not.
RotaryTable rotary_table(const RotaryFrequencies& frequencies, int64_t positions,
                         TensorOptions options = {});
// With rotary_frequencies(spec, length), `length` being `positions` unless given.
RotaryTable rotary_table(const RotarySpec& spec, int64_t positions, TensorOptions options = {},
                         std::optional<int64_t> length = std::nullopt);

struct RotaryOptions {
  // Which elements are pair i of the first `dim`: i and i + dim/2 (Llama, GPT-NeoX), or 2i and
  // 2i + 1 (GPT-J).
  enum class Layout : uint8_t { kHalfSplit, kInterleaved };
  Layout layout = Layout::kHalfSplit;
  Tensor positions = {};  // int64 or int32, [T] or [B, T]; where undefined offset, offset + 1, ...
  int64_t offset = 0;     // not with `positions`
};

// (a, b) → (a cos - b sin, b cos + a sin) for every pair, with the row of the table at the token's
// position; elements beyond the table's dim are copied.
// x: [B, H, T, D], floating, of any strides (a transposed [B, T, H, D] is read in place).
// A new tensor of x's shape, whose memory is [B, T, H, D] if x's is, otherwise [B, H, T, D].
// table: float32, or float64 where x is; it carries no gradient.
// Throws ShapeError, DTypeError, DeviceError, and IndexError for a position outside the table.
Tensor apply_rotary(const Tensor& x, const RotaryTable& table, const RotaryOptions& options = {});

}  // namespace glassformer
