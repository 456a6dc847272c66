#include "kernels/quantised.h"

#include <algorithm>
#include <cmath>

#include "kernels/access.h"
#include "kernels/indices.h"
#include "kernels/ref/linear.h"
#include "kernels/ref/register.h"
#include "tensor/quantised_row.h"

namespace glassformer::ref {
namespace {

void quantise(const Tensor& weight, const QuantisedTensor& out) {
  for (int64_t i = 0; i < out.rows; ++i) write_row(input<float>(weight) + i * out.columns, i, out);
}

// There is no faster form: the packed weight is the weight.
void pack_quantised(const Tensor&, const QuantisedTensor& weight, PackedData& packed) {
  packed = std::make_shared<QuantisedTensor>(weight);
}

// x · w for float activations.
template <class T>
T float_product(const T* x, const QuantisedRow& w, int64_t count) {
  T sum = 0;
  for (int64_t k = 0; k < count; ++k) {
    const int64_t group = k / w.step_columns;
    const int code = w.codes[static_cast<size_t>(k)] - w.offset;
    sum += x[k] * (T(w.step(group)) * T(code) - T(w.base(group)));
  }
  return sum;
}

// A row of activations in groups:  x ≈ scale · code. Weights with one scale a row meet a group that
// is the whole row.
template <class T>
struct Activations {
  int64_t group;
  std::vector<int> codes;
  std::vector<T> scales;

  Activations(const T* x, int64_t count, QuantScheme scheme)
      : group(scheme == QuantScheme::kInt8 ? count : 32) {
    for (int64_t first = 0; first < count; first += group) {
      const int64_t end = std::min(count, first + group);
      T most = 0;
      for (int64_t k = first; k < end; ++k) most = std::max(most, std::abs(x[k]));
      scales.push_back(most / T(127));
      for (int64_t k = first; k < end; ++k)
        codes.push_back(most > 0 ? static_cast<int>(std::nearbyint(x[k] * (T(127) / most))) : 0);
    }
  }
};

// x · w for int8 activations: integers within the groups of the weight.
template <class T>
T integer_product(const Activations<T>& x, const QuantisedRow& w, int64_t count) {
  T sum = 0;
  for (int64_t first = 0; first < count; first += w.step_columns) {
    const int64_t end = std::min(count, first + w.step_columns);
    int dot = 0, total = 0;
    for (int64_t k = first; k < end; ++k) {
      const int code = x.codes[static_cast<size_t>(k)];
      dot += code * (w.codes[static_cast<size_t>(k)] - w.offset);
      total += code;
    }
    const int64_t group = first / w.step_columns;
    const T scale = x.scales[static_cast<size_t>(first / x.group)];
    sum += T(dot) * T(w.step(group)) * scale - T(total) * T(w.base(group)) * scale;
  }
  return sum;
}

template <class T>
void linear_quantised(const Tensor& x, const QuantisedOperand& weight, const Tensor& y,
                      const LinearEpilogue& epilogue) {
  int64_t column = 0;
  for (const PackedData& part : weight.parts) {
    const auto& w = *static_cast<const QuantisedTensor*>(part.get());
    const OpenMemory open(w);
    QuantisedRow row;
    for (int64_t j = 0; j < w.rows; ++j, ++column) {
      read_row(w, j, row);
      for (int64_t i = 0; i < x.size(0); ++i) {
        const T* from = input<T>(x) + i * x.strides()[0];
        output<T>(y)[i * y.size(1) + column] =
            weight.int8_activations
                ? integer_product(Activations<T>(from, w.columns, w.scheme), row, w.columns)
                : float_product(from, row, w.columns);
      }
    }
  }
  finish_linear<T>(y, epilogue);
}

void expand_rows(const Tensor&, const QuantisedTensor& weight, const Tensor& ids, const Tensor& y) {
  if (ids.defined()) check_indices(kExpandRows.name, "ids", ids, weight.rows);
  const int64_t* rows = ids.defined() ? input<int64_t>(ids) : nullptr;
  QuantisedRow scratch;
  for (int64_t i = 0; i < y.size(0); ++i)
    expand_row(weight, rows != nullptr ? rows[i] : i, scratch,
               output<float>(y) + i * weight.columns);
}

}  // namespace

void register_quantised(Device device) {
  add_kernel(kQuantise, device, DType::kFloat32, quantise);
  add_kernel(kPackQuantised, device, DType::kInt8, pack_quantised);
  add_kernel(kExpandRows, device, DType::kInt8, expand_rows);
  add_both(kLinearQuantised, device, linear_quantised<float>, linear_quantised<double>);
}

}  // namespace glassformer::ref
