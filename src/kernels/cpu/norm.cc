#include "kernels/norm.h"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/norm.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "kernels/cpu/math-inl.h"
#include "kernels/cpu/row-inl.h"

HWY_BEFORE_NAMESPACE();
namespace glassformer::cpu {
namespace HWY_NAMESPACE {

// A mean is carried as `centre` + `rest`: float32 has seven digits, and a row far from zero spends
// them on the distance. Differences from `centre` are exact or nearly so, and `rest` is their mean.
struct Centre {
  float centre = 0, rest = 0;
};

// While a row is summed up the next one is fetched: memory, busy with the result in the last pass,
// would stand idle in the others.

// The rest of the mean, and the variance, from differences to the centre.
template <class T>
HWY_INLINE void MomentsAround(const T* x, int64_t n, Centre& mean, float& variance) {
  const hn::ScalableTag<float> d;
  const float scale = 1.0F / static_cast<float>(n);
  const auto centre = hn::Set(d, mean.centre);
  Turns sum, squares;
  ClearTurns(sum);
  ClearTurns(squares);
  ForVectorsInTurn(n, [&](int64_t i, size_t count, int turn) HWY_ATTR {
    hwy::Prefetch(x + n + i);
    const auto away = FirstOf(d, hn::Sub(LoadSome(d, x + i, count), centre), count);
    sum[turn] = hn::Add(sum[turn], away);
    squares[turn] = hn::MulAdd(away, away, squares[turn]);
  });
  mean.rest = SumTurns(sum) * scale;
  variance = std::max(SumTurns(squares) * scale - mean.rest * mean.rest, 0.0F);
}

// In one pass: the mean is not known before its end, but that of the first numbers will do for a
// centre unless it is so far off that the difference above cancels. Then a second pass has the mean
// itself for one.
template <class T>
HWY_INLINE void LayerMoments(const T* x, int64_t n, Centre& mean, float& variance) {
  constexpr int64_t kFirst = 64;
  const hn::ScalableTag<float> d;
  const int64_t first = std::min(n, kFirst);
  Turns sum;
  ClearTurns(sum);
  ForVectorsInTurn(first, [&](int64_t i, size_t count, int turn) HWY_ATTR {
    sum[turn] = hn::Add(sum[turn], LoadSome(d, x + i, count));
  });
  mean.centre = SumTurns(sum) / static_cast<float>(first);
  MomentsAround(x, n, mean, variance);
  if (mean.rest * mean.rest <= variance || first == n) return;
  mean.centre += mean.rest;
  MomentsAround(x, n, mean, variance);
}

// An optional vector of n parameters in float32: where it lies, or a copy, which spares converting
// it for every row. Null where there is none.
class Parameters {
 public:
  Parameters(const Tensor& vector, int64_t n) {
    if (!vector.defined()) return;
    visit_memory_type(vector.dtype(), [&]<class T>(T*) HWY_ATTR {
      if constexpr (std::is_same_v<T, float>) {
        data_ = input<float>(vector);
      } else {
        copy_.resize(static_cast<size_t>(n));
        MapRow(input<T>(vector), copy_.data(), n, [](auto v, size_t) HWY_ATTR { return v; });
        data_ = copy_.data();
      }
    });
  }
  const float* data() const { return data_; }

 private:
  const float* data_ = nullptr;
  std::vector<float> copy_;
};

template <class T>
HWY_INLINE float MeanSquare(const T* x, int64_t n) {
  const hn::ScalableTag<float> d;
  Turns squares;
  ClearTurns(squares);
  ForVectorsInTurn(n, [&](int64_t i, size_t count, int turn) HWY_ATTR {
    hwy::Prefetch(x + n + i);
    const auto v = LoadSome(d, x + i, count);
    squares[turn] = hn::MulAdd(v, v, squares[turn]);
  });
  return SumTurns(squares) / static_cast<float>(n);
}

// y = (x - mean) rstd weight + bias for one row; weight and bias may be null.
template <class T>
HWY_INLINE void Normalize(const T* x, const float* weight, const float* bias, Centre mean,
                          float rstd, T* y, int64_t n, bool stream) {
  const hn::ScalableTag<float> d;
  const auto centre = hn::Set(d, mean.centre), scale = hn::Set(d, rstd);
  const auto shift = hn::Set(d, -mean.rest * rstd);
  WriteRow(y, n, stream, [&](int64_t i, size_t count) HWY_ATTR {
    auto v = hn::MulAdd(hn::Sub(LoadSome(d, x + i, count), centre), scale, shift);
    if (weight != nullptr && bias != nullptr)
      return hn::MulAdd(v, LoadSome(d, weight + i, count), LoadSome(d, bias + i, count));
    if (weight != nullptr) v = hn::Mul(v, LoadSome(d, weight + i, count));
    if (bias != nullptr) v = hn::Add(v, LoadSome(d, bias + i, count));
    return v;
  });
}

HWY_INLINE float* OutputOrNull(const Tensor& y) { return y.defined() ? output<float>(y) : nullptr; }

// Floor: one read and one write of the row from memory; it stays in the cache between the passes.
void LayerNorm(const Tensor& x_in, const Tensor& weight_in, const Tensor& bias_in,
               const Tensor& y_out, const Tensor& mean_out, const Tensor& rstd_out,
               double epsilon) {
  const bool stream = Streams(y_out);
  const Parameters weight(weight_in, width_of(x_in)), bias(bias_in, width_of(x_in));
  float *means = OutputOrNull(mean_out), *rstds = OutputOrNull(rstd_out);
  const auto of_row = [&]<class T>(int64_t n, int64_t row, const T* x, T* y) HWY_ATTR {
    Centre mean;
    float variance;
    LayerMoments(x, n, mean, variance);
    const float rstd = 1.0F / std::sqrt(variance + static_cast<float>(epsilon));
    Normalize(x, weight.data(), bias.data(), mean, rstd, y, n, stream);
    if (means != nullptr) means[row] = mean.centre + mean.rest;
    if (rstds != nullptr) rstds[row] = rstd;
  };
  ForRows(of_row, x_in, y_out);
}

void RmsNorm(const Tensor& x_in, const Tensor& weight_in, const Tensor& y_out,
             const Tensor& rstd_out, double epsilon) {
  const bool stream = Streams(y_out);
  const Parameters weight(weight_in, width_of(x_in));
  float* rstds = OutputOrNull(rstd_out);
  const auto of_row = [&]<class T>(int64_t n, int64_t row, const T* x, T* y) HWY_ATTR {
    const float rstd = 1.0F / std::sqrt(MeanSquare(x, n) + static_cast<float>(epsilon));
    Normalize(x, weight.data(), nullptr, Centre{}, rstd, y, n, stream);
    if (rstds != nullptr) rstds[row] = rstd;
  };
  ForRows(of_row, x_in, y_out);
}

// What a row's dx needs: with h = (x - mean) rstd, dx = rstd (g - sum_g/n - h sum_gh/n).
struct RowSums {
  Centre mean;
  float mean_g = 0, mean_gh = 0;
};

// One pass gives the rest of the mean too, as sum (x - centre); sum g h follows from it.
template <class T>
HWY_INLINE RowSums Sums(const T* dy, const T* x, const float* weight, float centre, float rstd,
                        bool centred, int64_t n) {
  const hn::ScalableTag<float> d;
  const auto middle = hn::Set(d, centre);
  Turns sum_g, sum_ga, sum_a;
  ClearTurns(sum_g);
  ClearTurns(sum_ga);
  ClearTurns(sum_a);
  ForVectorsInTurn(n, [&](int64_t i, size_t count, int turn) HWY_ATTR {
    auto g = LoadSome(d, dy + i, count);  // zero beyond the row, which leaves the rest of x out
    if (weight != nullptr) g = hn::Mul(g, LoadSome(d, weight + i, count));
    const auto away = FirstOf(d, hn::Sub(LoadSome(d, x + i, count), middle), count);
    sum_g[turn] = hn::Add(sum_g[turn], g);
    sum_ga[turn] = hn::MulAdd(g, away, sum_ga[turn]);
    sum_a[turn] = hn::Add(sum_a[turn], away);
  });
  const float scale = 1.0F / static_cast<float>(n);
  RowSums sums;
  const float mean_g = SumTurns(sum_g) * scale;
  sums.mean.centre = centre;
  if (centred) {
    sums.mean.rest = SumTurns(sum_a) * scale;
    sums.mean_g = mean_g;
  }
  sums.mean_gh = (SumTurns(sum_ga) * scale - sums.mean.rest * mean_g) * rstd;
  return sums;
}

// One row's share of dweight and dbias added to the sums, and its dx; each may be null.
template <class T>
HWY_INLINE void RowBackward(const T* dy, const T* x, const float* weight, const RowSums& sums,
                            float rstd, T* dx, float* dweight, float* dbias, int64_t n,
                            bool stream) {
  const hn::ScalableTag<float> d;
  const auto centre = hn::Set(d, sums.mean.centre), scale = hn::Set(d, rstd);
  const auto shift = hn::Set(d, -sums.mean.rest * rstd);
  const auto mean_g = hn::Set(d, sums.mean_g), mean_gh = hn::Set(d, sums.mean_gh);
  const auto at = [&](int64_t i, size_t count) HWY_ATTR {
    hwy::Prefetch(dy + n + i);
    hwy::Prefetch(x + n + i);
    auto g = LoadSome(d, dy + i, count);
    const auto h = hn::MulAdd(hn::Sub(LoadSome(d, x + i, count), centre), scale, shift);
    if (dweight != nullptr)
      StoreSome(hn::MulAdd(g, h, LoadSome(d, dweight + i, count)), d, dweight + i, count);
    if (dbias != nullptr) StoreSome(hn::Add(g, LoadSome(d, dbias + i, count)), d, dbias + i, count);
    if (weight != nullptr) g = hn::Mul(g, LoadSome(d, weight + i, count));
    return hn::Mul(scale, hn::NegMulAdd(h, mean_gh, hn::Sub(g, mean_g)));
  };
  if (dx != nullptr) {
    WriteRow(dx, n, stream, at);
  } else {
    ForVectors(n, at);
  }
}

// y[j] = sum over the blocks, in order, of partial[block][j].
template <class T>
HWY_INLINE void AddBlocks(const float* partial, int64_t blocks, int64_t stride, T* y, int64_t n) {
  const hn::ScalableTag<float> d;
  ForVectors(n, [&](int64_t i, size_t count) HWY_ATTR {
    auto sum = hn::Zero(d);
    for (int64_t block = 0; block < blocks; ++block)
      sum = hn::Add(sum, LoadSome(d, partial + block * stride + i, count));
    StoreSome(sum, d, y + i, count);
  });
}

// Floor: one read of x and dy, one write of dx. Rows go in blocks whose number depends on the
// shape alone; each sums its own dweight and dbias, and the blocks are added in order.
template <class T>
HWY_INLINE void Backward(const T* /*type*/, const Tensor& dy_in, const Tensor& x_in,
                         const Tensor& weight_in, const Tensor& mean_in, const Tensor& rstd_in,
                         const Tensor& dx_out, const Tensor& dweight_out, const Tensor& dbias_out) {
  const int64_t n = width_of(x_in), rows = rows_of(x_in);
  const int64_t per_block = std::max<int64_t>(16, (rows + 127) / 128);
  const int64_t blocks = (rows + per_block - 1) / per_block;
  const bool sum_weight = dweight_out.defined(), sum_bias = dbias_out.defined();
  const int64_t stride = n * (int{sum_weight} + int{sum_bias});
  const Tensor scratch = empty({blocks, stride}, {DType::kFloat32, x_in.device()});
  float* partial = output<float>(scratch);
  const Parameters weight(weight_in, n);
  const bool stream = dx_out.defined() && Streams(dx_out);
  const float* mean = mean_in.defined() ? input<float>(mean_in) : nullptr;
  const float* rstd = input<float>(rstd_in);
  const T *x_rows = input<T>(x_in), *dy_rows = input<T>(dy_in);
  T* dx_rows = dx_out.defined() ? output<T>(dx_out) : nullptr;
  parallel_tasks(blocks, [&](int64_t block) HWY_ATTR HWY_FLATTEN {
    float* sums = partial + block * stride;
    std::fill(sums, sums + stride, 0.0F);
    float* dweight = sum_weight ? sums : nullptr;
    float* dbias = sum_bias ? sums + (sum_weight ? n : 0) : nullptr;
    for (int64_t row = block * per_block; row < std::min(rows, (block + 1) * per_block); ++row) {
      const T *x = x_rows + row * n, *dy = dy_rows + row * n;
      const float centre = mean == nullptr ? 0.0F : mean[row];
      RowBackward(dy, x, weight.data(),
                  Sums(dy, x, weight.data(), centre, rstd[row], mean != nullptr, n), rstd[row],
                  dx_rows == nullptr ? nullptr : dx_rows + row * n, dweight, dbias, n, stream);
    }
    hwy::FlushStream();
  });
  constexpr int64_t kColumns = 256;
  parallel_ranges((n + kColumns - 1) / kColumns, 4, [&](int64_t begin, int64_t end) HWY_ATTR {
    const int64_t first = begin * kColumns, count = std::min(n, end * kColumns) - first;
    if (sum_weight)
      AddBlocks(partial + first, blocks, stride, output<T>(dweight_out) + first, count);
    if (sum_bias)
      AddBlocks(partial + (sum_weight ? n : 0) + first, blocks, stride,
                output<T>(dbias_out) + first, count);
  });
}

void LayerNormBackward(const Tensor& dy, const Tensor& x, const Tensor& weight, const Tensor& mean,
                       const Tensor& rstd, const Tensor& dx, const Tensor& dweight,
                       const Tensor& dbias) {
  visit_memory_type(x.dtype(), [&](auto* type) HWY_ATTR {
    Backward(type, dy, x, weight, mean, rstd, dx, dweight, dbias);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace glassformer::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "kernels/cpu/register.h"

namespace glassformer::cpu {

HWY_EXPORT(LayerNorm);
HWY_EXPORT(LayerNormBackward);
HWY_EXPORT(RmsNorm);

void register_norm() {
  add_fast(kLayerNorm, [](const Tensor& x, const Tensor& weight, const Tensor& bias,
                          const Tensor& y, const Tensor& mean, const Tensor& rstd, double epsilon) {
    HWY_DYNAMIC_DISPATCH(LayerNorm)(x, weight, bias, y, mean, rstd, epsilon);
  });
  add_fast(kLayerNormBackward,
           [](const Tensor& dy, const Tensor& x, const Tensor& weight, const Tensor& mean,
              const Tensor& rstd, const Tensor& dx, const Tensor& dweight, const Tensor& dbias) {
             HWY_DYNAMIC_DISPATCH(LayerNormBackward)(dy, x, weight, mean, rstd, dx, dweight, dbias);
           });
  add_fast(kRmsNorm, [](const Tensor& x, const Tensor& weight, const Tensor& y, const Tensor& rstd,
                        double epsilon) {
    HWY_DYNAMIC_DISPATCH(RmsNorm)(x, weight, y, rstd, epsilon);
  });
  add_fast(kRmsNormBackward, [](const Tensor& dy, const Tensor& x, const Tensor& weight,
                                const Tensor& rstd, const Tensor& dx, const Tensor& dweight) {
    HWY_DYNAMIC_DISPATCH(LayerNormBackward)(dy, x, weight, Tensor(), rstd, dx, dweight, Tensor());
  });
}

}  // namespace glassformer::cpu

#endif  // HWY_ONCE
