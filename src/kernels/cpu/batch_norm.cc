#include "kernels/batch_norm.h"

#include <algorithm>
#include <cmath>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/batch_norm.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "kernels/cpu/math-inl.h"
#include "kernels/cpu/row-inl.h"

HWY_BEFORE_NAMESPACE();
namespace glassformer::cpu {
namespace HWY_NAMESPACE {

// Two ways through [N, C, S]. With S > 1 a channel is N rows of S elements, and one thread takes
// whole channels. With S = 1 the channels lie side by side; rows go in blocks, whose number depends
// on the shape alone, and each block sums every channel. Sums within a row or a block are float32;
// they are put together in double and in order.

constexpr int64_t kTaskSize = 8192;  // elements worth a task

struct Sizes {
  int64_t n, c, s;
};
HWY_INLINE Sizes SizesOf(const Tensor& x) { return {x.size(0), x.size(1), x.size(2)}; }

// body(c) for every channel, over the threads.
template <class F>
HWY_INLINE void ForChannels(Sizes size, F&& body) {
  const int64_t grain = kTaskSize / std::max<int64_t>(size.n * size.s, 1) + 1;
  parallel_ranges(size.c, grain, [&](int64_t begin, int64_t end) HWY_ATTR HWY_FLATTEN {
    for (int64_t c = begin; c < end; ++c) body(c);
  });
}

// The blocks of rows of [N, C], and what each sums: kSums floats a channel.
constexpr int64_t kSums = 3;
struct Blocks {
  int64_t rows, count;
  explicit Blocks(Sizes size)
      : rows(std::max<int64_t>(16, (size.n + 127) / 128)), count((size.n + rows - 1) / rows) {}
};

// body(first row, rows, sums [kSums][C], cleared) for every block, over the threads, and then
// join(c, sums, rows) for every channel and block in order, the sums being those of c, C apart.
template <class F, class G>
HWY_INLINE void ForBlocks(Sizes size, Device device, F&& body, G&& join) {
  const Blocks blocks(size);
  const int64_t stride = kSums * size.c;
  const Tensor scratch = empty({blocks.count, stride}, {DType::kFloat32, device});
  float* sums = output<float>(scratch);
  const auto rows_of_block = [&](int64_t block) {
    return std::min(blocks.rows, size.n - block * blocks.rows);
  };
  parallel_tasks(blocks.count, [&](int64_t block) HWY_ATTR HWY_FLATTEN {
    std::fill(sums + block * stride, sums + (block + 1) * stride, 0.0F);
    body(block * blocks.rows, rows_of_block(block), sums + block * stride);
  });
  for (int64_t block = 0; block < blocks.count; ++block)
    for (int64_t c = 0; c < size.c; ++c)
      join(c, sums + block * stride + c, static_cast<double>(rows_of_block(block)));
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

// The same for every column of a block of rows: its mean, the sum of differences from it, and of
// their squares.
template <class T>
HWY_INLINE void BlockMoments(const T* x, int64_t rows, int64_t c, float* sums) {
  const hn::ScalableTag<float> d;
  float *centre = sums, *rest = sums + c, *squares = sums + 2 * c;
  for (int64_t row = 0; row < rows; ++row)
    MapRows(x + row * c, centre, centre, c,
            [](auto v, auto sum) HWY_ATTR { return hn::Add(v, sum); });
  const auto scale = hn::Set(d, 1.0F / static_cast<float>(rows));
  MapRow(centre, centre, c, [&](auto v, size_t) HWY_ATTR { return hn::Mul(v, scale); });
  for (int64_t row = 0; row < rows; ++row)
    ForVectors(c, [&](int64_t i, size_t count) HWY_ATTR {
      const auto away =
          hn::Sub(LoadSome(d, x + row * c + i, count), LoadSome(d, centre + i, count));
      StoreSome(hn::Add(LoadSome(d, rest + i, count), away), d, rest + i, count);
      StoreSome(hn::MulAdd(away, away, LoadSome(d, squares + i, count)), d, squares + i, count);
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
      std::vector<Moments> moments(static_cast<size_t>(size.c));
      ForBlocks(
          size, x_in.device(),
          [&](int64_t first, int64_t rows, float* sums)
              HWY_ATTR { BlockMoments(x + first * size.c, rows, size.c, sums); },
          [&](int64_t c, const float* sums, double rows) {
            const double rest = sums[size.c];
            moments[static_cast<size_t>(c)].Join(rows, sums[0] * rows + rest,
                                                 sums[2 * size.c] - rest * rest / rows);
          });
      for (int64_t c = 0; c < size.c; ++c) finish(c, moments[static_cast<size_t>(c)]);
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
  const bool stream = Streams(y_out);
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
    parallel_ranges(rows, row_grain(width), [&](int64_t begin, int64_t end) HWY_ATTR HWY_FLATTEN {
      for (int64_t row = begin; row < end; ++row) {
        const T* x = input<T>(x_in) + row * width;
        T* y = output<T>(y_out) + row * width;
        if (size.s > 1) {
          const auto c = static_cast<size_t>(row % size.c);
          const auto m = hn::Set(d, mean[c]), f = hn::Set(d, scale[c]), b = hn::Set(d, shift[c]);
          WriteRow(y, width, stream, [&](int64_t i, size_t count) HWY_ATTR {
            hwy::Prefetch(x + width + i);
            return hn::MulAdd(hn::Sub(LoadSome(d, x + i, count), m), f, b);
          });
        } else {
          WriteRow(y, width, stream, [&](int64_t i, size_t count) HWY_ATTR {
            hwy::Prefetch(x + width + i);
            const auto away = hn::Sub(LoadSome(d, x + i, count), LoadSome(d, mean + i, count));
            return hn::MulAdd(away, LoadSome(d, scale.data() + i, count),
                              LoadSome(d, shift.data() + i, count));
          });
        }
      }
      hwy::FlushStream();
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
HWY_INLINE void BlockSums(const T* dy, const T* x, const float* mean, int64_t rows, int64_t c,
                          float* sums) {
  const hn::ScalableTag<float> d;
  float* sums_away = sums + c;
  for (int64_t row = 0; row < rows; ++row)
    ForVectors(c, [&](int64_t i, size_t count) HWY_ATTR {
      const auto g = LoadSome(d, dy + row * c + i, count);
      const auto away = hn::Sub(LoadSome(d, x + row * c + i, count), LoadSome(d, mean + i, count));
      StoreSome(hn::Add(LoadSome(d, sums + i, count), g), d, sums + i, count);
      StoreSome(hn::MulAdd(g, away, LoadSome(d, sums_away + i, count)), d, sums_away + i, count);
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
  const bool stream = dx_out.defined() && Streams(dx_out);
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
          WriteRow(output<T>(dx_out) + at, size.s, stream, [&](int64_t i, size_t count) HWY_ATTR {
            const auto away = hn::Sub(LoadSome(d, x + at + i, count), m);
            return hn::MulAdd(a, LoadSome(d, dy + at + i, count), hn::MulAdd(b, away, e));
          });
        }
        hwy::FlushStream();
      });
    } else {
      std::vector<ChannelSums> totals(static_cast<size_t>(size.c));
      ForBlocks(
          size, x_in.device(),
          [&](int64_t first, int64_t rows, float* sums) HWY_ATTR {
            BlockSums(dy + first * size.c, x + first * size.c, mean, rows, size.c, sums);
          },
          [&](int64_t c, const float* sums, double /*rows*/) {
            totals[static_cast<size_t>(c)].dy += sums[0];
            totals[static_cast<size_t>(c)].dy_away += sums[size.c];
          });
      std::vector<float> a, b, e;
      for (int64_t c = 0; c < size.c; ++c) {
        const Line line = finish(c, totals[static_cast<size_t>(c)]);
        a.push_back(line.dy_factor);
        b.push_back(line.away_factor);
        e.push_back(line.shift);
      }
      if (!dx_out.defined()) return;
      T* dx = output<T>(dx_out);
      parallel_ranges(
          size.n, row_grain(size.c), [&](int64_t begin, int64_t end) HWY_ATTR HWY_FLATTEN {
            for (int64_t at = begin * size.c; at < end * size.c; at += size.c)
              WriteRow(dx + at, size.c, stream, [&](int64_t i, size_t count) HWY_ATTR {
                hwy::Prefetch(x + at + size.c + i);
                hwy::Prefetch(dy + at + size.c + i);
                const auto away =
                    hn::Sub(LoadSome(d, x + at + i, count), LoadSome(d, mean + i, count));
                const auto line = hn::MulAdd(LoadSome(d, b.data() + i, count), away,
                                             LoadSome(d, e.data() + i, count));
                return hn::MulAdd(LoadSome(d, a.data() + i, count), LoadSome(d, dy + at + i, count),
                                  line);
              });
            hwy::FlushStream();
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
