#include "kernels/batch_norm.h"

#include <algorithm>
#include <cmath>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/batch_norm.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/cpu/math-inl.h"
#include "kernels/cpu/row-inl.h"
#include "kernels/cpu/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace glassformer::cpu {
namespace HWY_NAMESPACE {

// Two ways through [N, C, S]. With S > 1 a channel is N rows of S elements, and one thread takes
// whole channels. With S = 1 the channels lie side by side, and one thread takes a strip of them
// down all N rows. ChannelSums within a row, or a block of rows, are float32; they are put together
// in double and in order.

constexpr int64_t kStrip = 64;       // channels
constexpr int64_t kBlock = 64;       // rows: a strip of a block fits the first cache
constexpr int64_t kTaskSize = 8192;  // elements worth a task

struct Sizes {
  int64_t n, c, s;
};
HWY_INLINE Sizes SizesOf(const Tensor& x) { return {x.size(0), x.size(1), x.size(2)}; }

// body(c) for every channel, over the threads.
template <class F>
HWY_INLINE void ForChannels(Sizes size, F&& body) {
  const int64_t grain = kTaskSize / std::max<int64_t>(size.n * size.s, 1) + 1;
  parallel_ranges(size.c, grain, [&](int64_t begin, int64_t end) HWY_ATTR {
    for (int64_t c = begin; c < end; ++c) body(c);
  });
}

// body(first channel, channels) for every strip, over the threads.
template <class F>
HWY_INLINE void ForStrips(Sizes size, F&& body) {
  const int64_t grain = kTaskSize / (kStrip * std::max<int64_t>(size.n, 1)) + 1;
  parallel_ranges((size.c + kStrip - 1) / kStrip, grain, [&](int64_t begin, int64_t end) HWY_ATTR {
    for (int64_t strip = begin; strip < end; ++strip)
      body(strip * kStrip, std::min(kStrip, size.c - strip * kStrip));
  });
}

// Mean and sum of squared distances, joined group by group (Chan's formula): no sum of raw squares
// is ever formed, so a mean far from zero costs no digits.
struct Moments {
  double count = 0, mean = 0, squares = 0;
  void Join(double more, double sum, double their_squares) {
    const double their_mean = sum / more, gap = their_mean - mean, both = count + more;
    squares += their_squares + gap * gap * count * more / both;
    mean += gap * more / both;
    count = both;
  }
};

// ChannelSums of one row of S elements: x, then from its mean the squares. The rest of the mean,
// which float32 cannot hold, is taken out of both.
template <class T>
HWY_INLINE void JoinRow(const T* x, int64_t s, Moments& moments) {
  const hn::ScalableTag<float> d;
  auto total = hn::Zero(d);
  ReadRow(x, s, [&](auto v, size_t) HWY_ATTR { total = hn::Add(total, v); });
  const float centre = SumLanes(d, total) / static_cast<float>(s);
  auto sum = hn::Zero(d), squares = hn::Zero(d);
  ReadRow(x, s, [&](auto v, size_t count) HWY_ATTR {
    const auto away = FirstOf(d, hn::Sub(v, hn::Set(d, centre)), count);
    sum = hn::Add(sum, away);
    squares = hn::MulAdd(away, away, squares);
  });
  const double rest = SumLanes(d, sum), n = static_cast<double>(s);
  moments.Join(n, centre * n + rest, SumLanes(d, squares) - rest * rest / n);
}

// The same for the columns of a block of rows, `stride` apart.
template <class T>
HWY_INLINE void JoinColumns(const T* x, int64_t rows, int64_t stride, int64_t columns,
                            Moments* moments) {
  const hn::ScalableTag<float> d;
  const auto scale = hn::Set(d, 1.0F / static_cast<float>(rows));
  ForVectors(columns, [&](int64_t i, size_t count) HWY_ATTR {
    auto total = hn::Zero(d), sum = hn::Zero(d), squares = hn::Zero(d);
    for (int64_t row = 0; row < rows; ++row)
      total = hn::Add(total, LoadSome(d, x + row * stride + i, count));
    const auto centre = hn::Mul(total, scale);
    for (int64_t row = 0; row < rows; ++row) {
      const auto away = hn::Sub(LoadSome(d, x + row * stride + i, count), centre);
      sum = hn::Add(sum, away);
      squares = hn::MulAdd(away, away, squares);
    }
    HWY_ALIGN float lanes[3][hn::MaxLanes(hn::ScalableTag<float>())];
    hn::Store(centre, d, lanes[0]);
    hn::Store(sum, d, lanes[1]);
    hn::Store(squares, d, lanes[2]);
    const double n = static_cast<double>(rows);
    for (size_t k = 0; k < count; ++k) {
      const double rest = lanes[1][k];
      moments[i + static_cast<int64_t>(k)].Join(n, lanes[0][k] * n + rest,
                                                lanes[2][k] - rest * rest / n);
    }
  });
}

void BatchNormStatistics(const Tensor& x_in, const Tensor& mean, const Tensor& variance) {
  const Sizes size = SizesOf(x_in);
  const auto finish = [&](int64_t c, const Moments& moments) {
    output<float>(mean)[c] = static_cast<float>(moments.mean);
    output<float>(variance)[c] = static_cast<float>(moments.squares / moments.count);
  };
  visit_memory_type(x_in.dtype(), [&]<class T>(T*) HWY_ATTR {
    const T* x = input<T>(x_in);
    if (size.s > 1) {
      ForChannels(size, [&](int64_t c) HWY_ATTR {
        Moments moments;
        for (int64_t n = 0; n < size.n; ++n)
          JoinRow(x + (n * size.c + c) * size.s, size.s, moments);
        finish(c, moments);
      });
    } else {
      ForStrips(size, [&](int64_t first, int64_t columns) HWY_ATTR {
        Moments moments[kStrip];
        for (int64_t n = 0; n < size.n; n += kBlock)
          JoinColumns(x + n * size.c + first, std::min(kBlock, size.n - n), size.c, columns,
                      moments);
        for (int64_t c = 0; c < columns; ++c) finish(first + c, moments[c]);
      });
    }
  });
}

template <class T>
HWY_INLINE float ChannelValue(const Tensor& vector, int64_t c, float fallback) {
  if (!vector.defined()) return fallback;
  const hn::CappedTag<float, 1> d;
  return hn::GetLane(LoadF32N(d, input<T>(vector) + c, 1));
}

void BatchNorm(const Tensor& x_in, const Tensor& weight, const Tensor& bias, const Tensor& mean_in,
               const Tensor& variance, const Tensor& y_out, const Tensor& rstd_out,
               double epsilon) {
  const Sizes size = SizesOf(x_in);
  const float* mean = input<float>(mean_in);
  float* rstd = output<float>(rstd_out);
  const hn::ScalableTag<float> d;
  visit_memory_type(x_in.dtype(), [&]<class T>(T*) HWY_ATTR {
    std::vector<float> scale(static_cast<size_t>(size.c)), shift(static_cast<size_t>(size.c));
    for (int64_t c = 0; c < size.c; ++c) {
      rstd[c] = 1.0F / std::sqrt(input<float>(variance)[c] + static_cast<float>(epsilon));
      scale[static_cast<size_t>(c)] = rstd[c] * ChannelValue<T>(weight, c, 1.0F);
      shift[static_cast<size_t>(c)] = ChannelValue<T>(bias, c, 0.0F);
    }
    const int64_t width = size.s > 1 ? size.s : size.c;
    const int64_t rows = width == 0 ? 0 : x_in.count() / width;
    parallel_ranges(rows, row_grain(width), [&](int64_t begin, int64_t end) HWY_ATTR {
      for (int64_t row = begin; row < end; ++row) {
        const T* x = input<T>(x_in) + row * width;
        T* y = output<T>(y_out) + row * width;
        if (size.s > 1) {
          const auto c = static_cast<size_t>(row % size.c);
          const auto m = hn::Set(d, mean[c]), f = hn::Set(d, scale[c]), b = hn::Set(d, shift[c]);
          MapRow(x, y, width,
                 [&](auto v, size_t) HWY_ATTR { return hn::MulAdd(hn::Sub(v, m), f, b); });
        } else {
          ForVectors(width, [&](int64_t i, size_t count) HWY_ATTR {
            const auto away = hn::Sub(LoadSome(d, x + i, count), LoadSome(d, mean + i, count));
            StoreSome(hn::MulAdd(away, LoadSome(d, scale.data() + i, count),
                                 LoadSome(d, shift.data() + i, count)),
                      d, y + i, count);
          });
        }
      }
    });
  });
}

// Per channel: sum dy and sum dy (x - mean), in double.
struct ChannelSums {
  double dy = 0, dy_away = 0;
};

template <class T>
HWY_INLINE void AddRow(const T* dy, const T* x, float mean, int64_t s, ChannelSums& sums) {
  const hn::ScalableTag<float> d;
  auto sum = hn::Zero(d), sum_away = hn::Zero(d);
  ForVectors(s, [&](int64_t i, size_t count) HWY_ATTR {
    const auto g = LoadSome(d, dy + i, count);  // zero beyond the row
    sum = hn::Add(sum, g);
    sum_away = hn::MulAdd(g, hn::Sub(LoadSome(d, x + i, count), hn::Set(d, mean)), sum_away);
  });
  sums.dy += SumLanes(d, sum);
  sums.dy_away += SumLanes(d, sum_away);
}

template <class T>
HWY_INLINE void AddColumns(const T* dy, const T* x, const float* mean, int64_t rows, int64_t stride,
                           int64_t columns, ChannelSums* sums) {
  const hn::ScalableTag<float> d;
  ForVectors(columns, [&](int64_t i, size_t count) HWY_ATTR {
    const auto m = LoadSome(d, mean + i, count);
    auto sum = hn::Zero(d), sum_away = hn::Zero(d);
    for (int64_t row = 0; row < rows; ++row) {
      const auto g = LoadSome(d, dy + row * stride + i, count);
      sum = hn::Add(sum, g);
      sum_away = hn::MulAdd(g, hn::Sub(LoadSome(d, x + row * stride + i, count), m), sum_away);
    }
    HWY_ALIGN float lanes[2][hn::MaxLanes(hn::ScalableTag<float>())];
    hn::Store(sum, d, lanes[0]);
    hn::Store(sum_away, d, lanes[1]);
    for (size_t k = 0; k < count; ++k) {
      sums[i + static_cast<int64_t>(k)].dy += lanes[0][k];
      sums[i + static_cast<int64_t>(k)].dy_away += lanes[1][k];
    }
  });
}

// dx = dy_factor dy + away_factor (x - mean) + shift, the three numbers being the channel's.
struct Line {
  float dy_factor, away_factor, shift;
};

void BatchNormBackward(const Tensor& dy_in, const Tensor& x_in, const Tensor& weight,
                       const Tensor& mean_in, const Tensor& rstd_in, const Tensor& dx_out,
                       const Tensor& dweight, const Tensor& dbias, bool own_statistics) {
  const Sizes size = SizesOf(x_in);
  const float* mean = input<float>(mean_in);
  const hn::ScalableTag<float> d;
  visit_memory_type(x_in.dtype(), [&]<class T>(T*) HWY_ATTR {
    const T* x = input<T>(x_in);
    const T* dy = input<T>(dy_in);
    const auto finish = [&](int64_t c, const ChannelSums& sums) HWY_ATTR {
      const hn::CappedTag<float, 1> d1;
      const float rstd = input<float>(rstd_in)[c];
      const auto sum_h = static_cast<float>(sums.dy_away * rstd);
      if (dweight.defined()) StoreF32N(hn::Set(d1, sum_h), d1, output<T>(dweight) + c, 1);
      if (dbias.defined())
        StoreF32N(hn::Set(d1, static_cast<float>(sums.dy)), d1, output<T>(dbias) + c, 1);
      const float a = rstd * ChannelValue<T>(weight, c, 1.0F);
      if (!own_statistics) return Line{a, 0, 0};
      const double share = a / static_cast<double>(size.n * size.s);
      return Line{a, static_cast<float>(-share * sum_h * rstd),
                  static_cast<float>(-share * sums.dy)};
    };
    if (size.s > 1) {
      ForChannels(size, [&](int64_t c) HWY_ATTR {
        ChannelSums sums;
        for (int64_t n = 0; n < size.n; ++n) {
          const int64_t at = (n * size.c + c) * size.s;
          AddRow(dy + at, x + at, mean[c], size.s, sums);
        }
        const Line line = finish(c, sums);
        if (!dx_out.defined()) return;
        const auto a = hn::Set(d, line.dy_factor), b = hn::Set(d, line.away_factor);
        const auto e = hn::Set(d, line.shift), m = hn::Set(d, mean[c]);
        for (int64_t n = 0; n < size.n; ++n) {
          const int64_t at = (n * size.c + c) * size.s;
          MapRows(dy + at, x + at, output<T>(dx_out) + at, size.s, [&](auto g, auto v) HWY_ATTR {
            return hn::MulAdd(a, g, hn::MulAdd(b, hn::Sub(v, m), e));
          });
        }
      });
    } else {
      ForStrips(size, [&](int64_t first, int64_t columns) HWY_ATTR {
        ChannelSums sums[kStrip];
        for (int64_t n = 0; n < size.n; n += kBlock)
          AddColumns(dy + n * size.c + first, x + n * size.c + first, mean + first,
                     std::min(kBlock, size.n - n), size.c, columns, sums);
        HWY_ALIGN float a[kStrip], b[kStrip], e[kStrip];
        for (int64_t c = 0; c < columns; ++c) {
          const Line line = finish(first + c, sums[c]);
          a[c] = line.dy_factor;
          b[c] = line.away_factor;
          e[c] = line.shift;
        }
        if (!dx_out.defined()) return;
        for (int64_t n = 0; n < size.n; ++n) {
          const int64_t at = n * size.c + first;
          ForVectors(columns, [&](int64_t i, size_t count) HWY_ATTR {
            const auto away =
                hn::Sub(LoadSome(d, x + at + i, count), LoadSome(d, mean + first + i, count));
            const auto line =
                hn::MulAdd(LoadSome(d, b + i, count), away, LoadSome(d, e + i, count));
            StoreSome(hn::MulAdd(LoadSome(d, a + i, count), LoadSome(d, dy + at + i, count), line),
                      d, output<T>(dx_out) + at + i, count);
          });
        }
      });
    }
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace glassformer::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "kernels/cpu/register.h"

namespace glassformer::cpu {

HWY_EXPORT(BatchNormStatistics);
HWY_EXPORT(BatchNorm);
HWY_EXPORT(BatchNormBackward);

void register_batch_norm() {
  add_fast(kBatchNormStatistics, [](const Tensor& x, const Tensor& mean, const Tensor& variance) {
    HWY_DYNAMIC_DISPATCH(BatchNormStatistics)(x, mean, variance);
  });
  add_fast(kBatchNorm,
           [](const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& mean,
              const Tensor& variance, const Tensor& y, const Tensor& rstd, double epsilon) {
             HWY_DYNAMIC_DISPATCH(BatchNorm)(x, weight, bias, mean, variance, y, rstd, epsilon);
           });
  add_fast(kBatchNormBackward, [](const Tensor& dy, const Tensor& x, const Tensor& weight,
                                  const Tensor& mean, const Tensor& rstd, const Tensor& dx,
                                  const Tensor& dweight, const Tensor& dbias, bool own) {
    HWY_DYNAMIC_DISPATCH(BatchNormBackward)(dy, x, weight, mean, rstd, dx, dweight, dbias, own);
  });
}

}  // namespace glassformer::cpu

#endif  // HWY_ONCE
