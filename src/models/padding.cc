#include "models/padding.h"

#include <algorithm>

#include "base/check.h"
#include "glassformer/ops/copy.h"
#include "glassformer/ops/view.h"
#include "tensor/shape_format.h"

namespace glassformer {

AttentionOptions padding_of(const char* name, const Tensor& mask, int64_t batch, int64_t keys) {
  AttentionOptions options;
  if (!mask.defined()) return options;
  require<ShapeError>(mask.shape() == Shape({batch, keys}), "{}: expected [{}, {}], found {}", name,
                      batch, keys, mask.shape());
  const std::vector<float> values = mask.to_vector<float>();
  std::vector<int64_t> lengths;
  bool on_the_right = true;
  for (int64_t b = 0; b < batch; ++b) {
    const auto row = values.begin() + b * keys;
    const auto end = std::find(row, row + keys, 0.0F);
    on_the_right = on_the_right && std::all_of(end, row + keys, [](float v) { return v == 0; });
    lengths.push_back(end - row);
  }
  if (!on_the_right)
    options.mask = unsqueeze(unsqueeze(cast(mask, DType::kBool), 1), 1);
  else if (std::any_of(lengths.begin(), lengths.end(), [&](int64_t n) { return n != keys; }))
    options.key_lengths = to(from_vector(lengths, {batch}), mask.device());
  return options;
}

}  // namespace glassformer
