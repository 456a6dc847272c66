#include "glassformer/ops/dropout.h"

#include "glassformer/ops/create.h"
#include "kernels/dropout.h"
#include "ops/common.h"

namespace glassformer {
namespace {

Tensor compute(const Tensor& x_in, double p, RandomKey key) {
  if (p == 1) return zeros_like(x_in);  // none is kept, and 1 / (1 - p) is no number
  const Tensor x = contiguous(x_in);
  Tensor y = empty_like(x);
  call(kDropout, x, y, p, key);
  return y;
}

}  // namespace

Tensor dropout(const Tensor& x, double p, RandomKey key) {
  check_floating("dropout", "x", x);
  require<ValueError>(p >= 0 && p <= 1, "dropout: expected p from 0 to 1, found {}", p);
  if (p == 0) return x;
  Tensor y = compute(x, p, key);
  if (needs_grad(x))
    record("dropout", {x}, {y},
           [p, key](const std::vector<Tensor>& dy) { return std::vector{compute(dy[0], p, key)}; });
  return y;
}

}  // namespace glassformer
