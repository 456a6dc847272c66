#include "glassformer/image/resize.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

#include "base/check.h"
#include "base/parallel.h"
#include "image/codec.h"

namespace glassformer {
namespace {

using std::numbers::pi;

double box(double x) { return x > -0.5 && x <= 0.5 ? 1 : 0; }

double bilinear(double x) { return std::max(0.0, 1 - std::abs(x)); }

double sinc(double x) { return x == 0 ? 1 : std::sin(x * pi) / (x * pi); }

double hamming(double x) {
  x = std::abs(x);
  if (x == 0) return 1;
  return x >= 1 ? 0 : sinc(x) * (0.54F + 0.46F * std::cos(x * pi));  // Pillow's are float32 too
}

// Keys' cubic with a = -1/2.
double bicubic(double x) {
  constexpr double kA = -0.5;
  x = std::abs(x);
  if (x < 1) return ((kA + 2) * x - (kA + 3)) * x * x + 1;
  return x < 2 ? (((x - 5) * x + 8) * x - 4) * kA : 0;
}

double lanczos(double x) { return x >= -3 && x < 3 ? sinc(x) * sinc(x / 3) : 0; }

struct Filter {
  double (*weight)(double);
  double support;  // the weight is 0 further than this from the centre
};

Filter filter_of(Resample resample) {
  switch (resample) {
    case Resample::kBox: return {box, 0.5};
    case Resample::kBilinear: return {bilinear, 1};
    case Resample::kHamming: return {hamming, 1};
    case Resample::kBicubic: return {bicubic, 2};
    case Resample::kLanczos: return {lanczos, 3};
    case Resample::kNearest: break;  // has no weights
  }
  throw ValueError(fmt::format("resize: no filter has the number {}", static_cast<int>(resample)));
}

constexpr int kBits = 22;  // of a weight's fraction: 32 less those of a pixel, a sign and a spare

// Half rounds up. Nothing here is near enough to a half, or large enough, for the sum to matter.
int64_t nearest(double x) { return static_cast<int64_t>(std::floor(x + 0.5)); }

// One axis of the result: element i is the sum of weights[i][k] · source[first[i] + k].
struct Axis {
  std::vector<int64_t> first;
  std::vector<int64_t> taps;  // how many of a row of weights count
  std::vector<int32_t> weights;
  int64_t stride = 0;  // of a row of weights

  Axis(int64_t from, int64_t to, const Filter& filter)
      : first(static_cast<size_t>(to)), taps(first.size()) {
    const double scale = static_cast<double>(from) / static_cast<double>(to);
    const double stretch = std::max(scale, 1.0);  // shrinking widens the filter
    const double support = filter.support * stretch;
    stride = static_cast<int64_t>(std::ceil(support)) * 2 + 1;
    weights.resize(static_cast<size_t>(to * stride));
    std::vector<double> exact(static_cast<size_t>(stride));
    for (int64_t i = 0; i < to; ++i) {
      const double center = (static_cast<double>(i) + 0.5) * scale;
      const int64_t begin = nearest(std::max(0.0, center - support));
      const int64_t end = std::min(from, nearest(center + support));
      double sum = 0;
      for (int64_t k = 0; k < end - begin; ++k) {
        const double distance = static_cast<double>(k + begin) - center + 0.5;
        sum += exact[static_cast<size_t>(k)] = filter.weight(distance * (1 / stretch));
      }
      for (int64_t k = 0; k < end - begin; ++k) {
        double weight = exact[static_cast<size_t>(k)];
        if (sum != 0) weight /= sum;
        weights[static_cast<size_t>(i * stride + k)] =
            static_cast<int32_t>(weight * (1 << kBits) + (weight < 0 ? -0.5 : 0.5));
      }
      first[static_cast<size_t>(i)] = begin;
      taps[static_cast<size_t>(i)] = end - begin;
    }
  }

  const int32_t* row(int64_t i) const { return weights.data() + i * stride; }
};

uint8_t to_pixel(int32_t sum) { return static_cast<uint8_t>(std::clamp(sum >> kBits, 0, 255)); }

constexpr int32_t kHalf = 1 << (kBits - 1);
// Rows of a task: enough that handing it out costs nothing.
constexpr int64_t kGrain = 16;

Image resize_rows(const Image& from, int64_t width, const Filter& filter) {
  const Axis axis(from.width, width, filter);
  Image to(width, from.height);
  parallel_ranges(to.height, kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t y = begin; y < end; ++y) {
      uint8_t* out = to.row(y);
      for (int64_t x = 0; x < width; ++x, out += 3) {
        const uint8_t* in = from.row(y) + axis.first[static_cast<size_t>(x)] * 3;
        const int32_t* weights = axis.row(x);
        int32_t r = kHalf, g = kHalf, b = kHalf;
        for (int64_t k = 0; k < axis.taps[static_cast<size_t>(x)]; ++k, in += 3) {
          r += in[0] * weights[k];
          g += in[1] * weights[k];
          b += in[2] * weights[k];
        }
        out[0] = to_pixel(r);
        out[1] = to_pixel(g);
        out[2] = to_pixel(b);
      }
    }
  });
  return to;
}

Image resize_columns(const Image& from, int64_t height, const Filter& filter) {
  const Axis axis(from.height, height, filter);
  Image to(from.width, height);
  const int64_t row_bytes = from.width * 3;
  parallel_ranges(height, kGrain, [&](int64_t begin, int64_t end) {
    std::vector<int32_t> sums(static_cast<size_t>(row_bytes));
    for (int64_t y = begin; y < end; ++y) {
      std::fill(sums.begin(), sums.end(), kHalf);
      for (int64_t k = 0; k < axis.taps[static_cast<size_t>(y)]; ++k) {
        const uint8_t* in = from.row(axis.first[static_cast<size_t>(y)] + k);
        const int32_t weight = axis.row(y)[k];
        for (int64_t i = 0; i < row_bytes; ++i) sums[static_cast<size_t>(i)] += in[i] * weight;
      }
      std::transform(sums.begin(), sums.end(), to.row(y), to_pixel);
    }
  });
  return to;
}

// Since Pillow 13; what lies between the passes is rounded, so that the order shows.
bool columns_first(const Image& from, int64_t width, int64_t height) {
  return height < from.height && from.height - height > 2 * (from.width - width);
}

// The source of each element. Pillow adds up the steps, and so rounds as they are added.
std::vector<int64_t> nearest_places(int64_t from, int64_t to) {
  const double step = static_cast<double>(from) / static_cast<double>(to);
  std::vector<int64_t> places(static_cast<size_t>(to));
  double at = step * 0.5;
  for (int64_t& place : places) {
    place = std::min(static_cast<int64_t>(at), from - 1);
    at += step;
  }
  return places;
}

Image resize_nearest(const Image& from, int64_t width, int64_t height) {
  Image to(width, height);
  const std::vector<int64_t> columns = nearest_places(from.width, width);
  const std::vector<int64_t> rows = nearest_places(from.height, height);
  for (int64_t y = 0; y < height; ++y) {
    const uint8_t* in = from.row(rows[static_cast<size_t>(y)]);
    uint8_t* out = to.row(y);
    for (int64_t column : columns) out = std::copy_n(in + column * 3, 3, out);
  }
  return to;
}

}  // namespace

Image resize(const Image& image, int64_t width, int64_t height, Resample filter) {
  check_sides("resize", width, height);
  require<ValueError>(!image.pixels.empty(), "resize: expected an image, found an empty one");
  if (filter == Resample::kNearest) return resize_nearest(image, width, height);
  const Filter weights = filter_of(filter);
  const auto rows = [&](const Image& from) {
    return width == from.width ? from : resize_rows(from, width, weights);
  };
  const auto columns = [&](const Image& from) {
    return height == from.height ? from : resize_columns(from, height, weights);
  };
  return columns_first(image, width, height) ? rows(columns(image)) : columns(rows(image));
}

Image center_crop(const Image& image, int64_t width, int64_t height) {
  Image crop(width, height);
  // Rounded down, also below zero, where the image is smaller than the crop.
  const int64_t left = (image.width - width) >> 1;
  const int64_t top = (image.height - height) >> 1;
  const int64_t begin = std::max<int64_t>(0, -left);
  const int64_t end = std::min(width, image.width - left);
  for (int64_t y = std::max<int64_t>(0, -top); y < std::min(height, image.height - top); ++y)
    std::copy(image.row(y + top) + (begin + left) * 3, image.row(y + top) + (end + left) * 3,
              crop.row(y) + begin * 3);
  return crop;
}

}  // namespace glassformer
