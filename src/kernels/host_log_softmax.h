#pragma once

#include <span>

// The log-softmax of rows in host memory, where searches look at scores: no tensors, no threads.

namespace glassformer {

// The parts of a row's log-softmax: log p_i = (x_i − max) − log_sum, as PyTorch rounds it. A row
// without a number above −∞ has max −∞.
struct LogSum {
  float max;
  float log_sum;
};
LogSum log_sum_exp(std::span<const float> row);

// In place. A row without a number above −∞ stays as it is.
void log_softmax(std::span<float> row);

// exp(row − max), in place; returns the sum.
double exp_in_place(std::span<float> row, float max);

// The largest that is not NaN; −∞ where there is none.
float row_max(std::span<const float> row);

}  // namespace glassformer
