#include "glassformer/ops/quantise.h"

#include "glassformer/ops/view.h"
#include "kernels/quantised.h"
#include "ops/common.h"

namespace glassformer {
namespace {

// `count` rows of a checked weight as float32: those of ids, or all.
Tensor expand(const QuantisedTensor& weight, int64_t count, const Tensor& ids) {
  Tensor y = empty({count, weight.columns}, {DType::kFloat32, weight.device()});
  call(kExpandRows, weight.codes, weight, ids, y);
  return y;
}

}  // namespace

QuantisedTensor quantise(const Tensor& weight, QuantScheme scheme, int64_t group) {
  constexpr const char* kOp = "quantise";
  check_floating(kOp, "weight", weight);
  check_rank(kOp, "weight", weight, 2);
  require<ValueError>(scheme == QuantScheme::kInt8 || scheme == QuantScheme::kInt4,
                      "{}: expected int8 or int4, found {}, which is only read", kOp,
                      name_of(scheme));
  require<ValueError>(group > 0 && group % 32 == 0,
                      "{}: expected groups of a multiple of 32, found {}", kOp, group);
  const Tensor source = contiguous(cast(weight.detach(), DType::kFloat32));
  const bool int4 = scheme == QuantScheme::kInt4;
  const int64_t rows = weight.size(0), columns = weight.size(1);
  QuantisedTensor out;
  out.scheme = scheme;
  out.rows = rows;
  out.columns = columns;
  out.group = int4 ? group : 0;
  out.codes = empty({rows, row_bytes(scheme, columns)}, {DType::kInt8, weight.device()});
  out.scales = empty(int4 ? Shape{rows, (columns + group - 1) / group} : Shape{rows},
                     {int4 ? DType::kFloat16 : DType::kFloat32, weight.device()});
  call(kQuantise, source, out);
  return out;
}

Tensor dequantise(const QuantisedTensor& weight, DType dtype) {
  check_quantised(weight, "dequantise");
  return cast(expand(weight, weight.rows, {}), dtype);
}

Tensor embedding(const QuantisedTensor& weight, const Tensor& ids_in, DType dtype) {
  constexpr const char* kOp = "embedding";
  check_quantised(weight, kOp);
  check_index_type(kOp, "ids", ids_in);
  check_same_device(kOp, {{"weight", weight.codes}, {"ids", ids_in}});
  const Tensor ids = contiguous(cast(ids_in, DType::kInt64));
  Shape shape = ids.shape();
  shape.push_back(weight.columns);
  return reshape(cast(expand(weight, ids.count(), ids), dtype), shape);
}

QuantisedTensor to(const QuantisedTensor& x, Device device) {
  QuantisedTensor moved = x;
  moved.codes = to(x.codes, device);
  if (x.scales.defined()) moved.scales = to(x.scales, device);
  return moved;
}

}  // namespace glassformer
