#include "glassformer/nn/positions.h"

#include <algorithm>

namespace glassformer {

std::shared_ptr<const RotaryTable> RotaryTables::get(int64_t length, TensorOptions options) {
  // Dynamic scaling changes every row once the sequence is longer than the context trained on.
  const bool dynamic = spec_.scaling == RotarySpec::Scaling::kDynamic;
  const std::lock_guard lock(mutex_);
  const bool fits = table_ && options.dtype == options_.dtype &&
                    options.device == options_.device &&
                    (dynamic ? length == length_ : length <= length_);
  if (fits) return table_;
  length_ = dynamic ? length : std::max<int64_t>({length, 2 * length_, 256});
  options_ = options;
  table_ = std::make_shared<const RotaryTable>(rotary_table(spec_, length_, options));
  return table_;
}

Tensor SinusoidalTable::get(int64_t length, TensorOptions options) {
  const std::lock_guard lock(mutex_);
  const bool fits = table_.defined() && table_.dtype() == options.dtype &&
                    table_.device() == options.device && length <= table_.size(0);
  if (!fits) {
    const int64_t held = table_.defined() ? table_.size(0) : 0;
    const int64_t rows = std::max<int64_t>({length, 2 * held, 256});
    table_ = sinusoidal_positions(rows, width_, {.layout = layout_, .tensor = options});
  }
  return table_;
}

}  // namespace glassformer
