#include <algorithm>

#include "base/parallel.h"
#include "kernels/access.h"
#include "kernels/cpu/channel_gemm.h"
#include "kernels/cpu/linear_output.h"
#include "kernels/cpu/quantised.h"
#include "kernels/cpu/register.h"
#include "kernels/indices.h"
#include "kernels/quantised.h"
#include "tensor/quantised_row.h"

namespace glassformer::cpu {
namespace {

void quantise(const Tensor& weight, const QuantisedTensor& out) {
  parallel_ranges(out.rows, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) write_row(input<float>(weight) + i * out.columns, i, out);
  });
}

void pack_quantised(const Tensor&, const QuantisedTensor& weight, PackedData& packed) {
  packed = std::make_shared<CodePanels>(pack_codes(weight));
}

void linear_quantised(const Tensor& x, const QuantisedOperand& weight, const Tensor& y,
                      const LinearEpilogue& epilogue) {
  thread_local std::vector<const CodePanels*> parts;  // kept, so that a steady state allocates none
  parts.clear();
  for (const PackedData& part : weight.parts)
    parts.push_back(static_cast<const CodePanels*>(part.get()));
  const MatrixRef a = matrix(x, 0, 1);
  const GemmOutput out = output_of(y, epilogue);
  if (!weight.int8_activations) return expanded_gemm(y.size(0), a, parts, out);
  // x is quantised by whole rows for parts with steps of whole columns, in groups for others: runs
  // of either kind, nearly always one.
  const auto whole = [](const CodePanels* part) { return part->format == CodeFormat::kChannel8; };
  int64_t column = 0;
  for (auto begin = parts.begin(); begin != parts.end();) {
    const auto end = std::find_if(
        begin, parts.end(), [&](const CodePanels* part) { return whole(part) != whole(*begin); });
    (whole(*begin) ? channel_gemm : quantised_gemm)(y.size(0), a, {begin, end},
                                                    out.from_column(column));
    for (; begin != end; ++begin) column += static_cast<int64_t>((*begin)->n);
  }
}

void expand_rows(const Tensor&, const QuantisedTensor& weight, const Tensor& ids, const Tensor& y) {
  if (ids.defined()) check_indices(kExpandRows.name, "ids", ids, weight.rows);
  const int64_t* rows = ids.defined() ? input<int64_t>(ids) : nullptr;
  const int64_t grain = 8192 / (weight.columns + 1) + 1;  // rows that are worth a thread
  parallel_ranges(y.size(0), grain, [&](int64_t begin, int64_t end) {
    thread_local QuantisedRow scratch;
    for (int64_t i = begin; i < end; ++i)
      expand_row(weight, rows != nullptr ? rows[i] : i, scratch,
                 output<float>(y) + i * weight.columns);
  });
}

}  // namespace

void register_linear_quantised() {
  add_kernel(kQuantise, Device::kCpu, DType::kFloat32, quantise);
  add_kernel(kPackQuantised, Device::kCpu, DType::kInt8, pack_quantised);
  add_kernel(kExpandRows, Device::kCpu, DType::kInt8, expand_rows);
  for (DType dtype : {DType::kFloat32, DType::kBFloat16})
    add_kernel(kLinearQuantised, Device::kCpu, dtype, linear_quantised);
}

}  // namespace glassformer::cpu
