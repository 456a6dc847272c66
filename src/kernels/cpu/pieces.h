// Smooth functions as 32 short polynomials, for processors that look up 32 numbers at once: fewer
// steps than any one polynomial with that error. The compiler works out the coefficients from the
// equations.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace glassformer::cpu {

// f(x) = 1/2 + sign(x) · odd(|x|), as all that are looked up here have it, and
// odd(n·kStep + r) = Σ terms[k][n] · r^k for |r| <= kStep / 2 and n from 0 to 31. Of the short
// ones, whose last bits nobody sees, the sum is one over powers of |x| itself: a step less.
struct PieceSizes {
  static constexpr size_t kCount = 32;
  static constexpr float kStep = 0.1953125F, kLast = 6.15F;  // where all are 1 as float32
};
template <size_t kTerms>
struct Pieces {
  static constexpr bool kAroundZero = kTerms < 5;
  alignas(64) float terms[kTerms][PieceSizes::kCount];
};

namespace pieces {

constexpr double exponential(double x) {
  constexpr int kHalvings = 10, kTerms = 10;
  x /= 1 << kHalvings;
  double sum = 1, term = 1;
  for (int i = 1; i < kTerms; ++i) sum += term *= x / i;
  for (int i = 0; i < kHalvings; ++i) sum *= sum;
  return sum;
}

// φ(x), and Φ(x) = 1/2 + φ(x) · (x + x³/3 + x⁵/(3·5) + …).
constexpr double normal_density(double x) {
  constexpr double kOneOverRootTwoPi = 0.39894228040143267794;
  return kOneOverRootTwoPi * exponential(-x * x / 2);
}
constexpr double normal(double x) {
  constexpr int kTerms = 100;
  double sum = x, term = x;
  for (int i = 1; i < kTerms; ++i) sum += term *= x * x / (2 * i + 1);
  return 0.5 + normal_density(x) * sum;
}

// What GELU multiplies x with in its tanh form: (1 + tanh u) / 2 = 1 / (1 + e^-2u) with
// u = √(2/π)·(x + 0.044715·x³).
constexpr double kRootTwoOverPi = 0.79788456080286535588, kCubic = 0.044715;
constexpr double tanh_normal(double x) {
  return 1 / (1 + exponential(-2 * kRootTwoOverPi * (x + kCubic * x * x * x)));
}

// The slopes of x · Φ(x) and of x · tanh_normal(x).
constexpr double gelu_slope(double x) { return normal(x) + x * normal_density(x); }
constexpr double gelu_tanh_slope(double x) {
  const double s = tanh_normal(x);
  return s + 2 * x * s * (1 - s) * kRootTwoOverPi * (1 + 3 * kCubic * x * x);
}

// Where the polynomials of a piece meet the function: Chebyshev's places.
template <size_t kTerms>
constexpr double kPlaces[kTerms] = {};
template <>
constexpr double kPlaces<4>[] = {0.92387953251128676, 0.38268343236508977, -0.38268343236508977,
                                 -0.92387953251128676};
template <>
constexpr double kPlaces<5>[] = {0.95105651629515357, 0.58778525229247313, 0, -0.58778525229247313,
                                 -0.95105651629515357};

// The polynomials through f - 1/2, by Newton's divided differences.
template <size_t kTerms, class F>
constexpr Pieces<kTerms> of(F f) {
  Pieces<kTerms> result{};
  for (size_t n = 0; n < PieceSizes::kCount; ++n) {
    const double middle = static_cast<double>(n) * static_cast<double>(PieceSizes::kStep);
    const double start = Pieces<kTerms>::kAroundZero ? middle : 0;
    double places[kTerms] = {}, differences[kTerms] = {}, sums[kTerms] = {};
    for (size_t i = 0; i < kTerms; ++i) {
      const double place = kPlaces<kTerms>[i] * PieceSizes::kStep / 2;
      places[i] = start + place;
      differences[i] = f(middle + place) - 0.5;
    }
    for (size_t order = 1; order < kTerms; ++order)
      for (size_t i = kTerms - 1; i >= order; --i)
        differences[i] = (differences[i] - differences[i - 1]) / (places[i] - places[i - order]);
    for (size_t i = kTerms; i-- > 0;) {  // sums = sums · (r - places[i]) + differences[i]
      for (size_t k = kTerms - 1; k > 0; --k) sums[k] = sums[k - 1] - places[i] * sums[k];
      sums[0] = differences[i] - places[i] * sums[0];
    }
    for (size_t k = 0; k < kTerms; ++k) result.terms[k][n] = static_cast<float>(sums[k]);
  }
  return result;
}

}  // namespace pieces

template <size_t kTerms>
inline constexpr Pieces<kTerms> kNormalPieces = pieces::of<kTerms>(pieces::normal);
template <size_t kTerms>
inline constexpr Pieces<kTerms> kTanhNormalPieces = pieces::of<kTerms>(pieces::tanh_normal);
template <size_t kTerms>
inline constexpr Pieces<kTerms> kGeluSlopePieces = pieces::of<kTerms>(pieces::gelu_slope);
template <size_t kTerms>
inline constexpr Pieces<kTerms> kGeluTanhSlopePieces = pieces::of<kTerms>(pieces::gelu_tanh_slope);

// The bits of 2^(i/32) as float, less what 32·x + i leaves in its low bits when they are moved up
// to the exponent: bits[i] + ((32·n + i) << 18) is 2^(n + i/32).
struct Powers {
  static constexpr uint32_t kCount = 32, kShift = 18;
  alignas(64) uint32_t bits[kCount];
};
inline constexpr Powers kPowers = [] {
  constexpr double kLnTwo = 0.69314718055994530942;
  Powers powers{};
  for (uint32_t i = 0; i < Powers::kCount; ++i) {
    const auto power = static_cast<float>(pieces::exponential(kLnTwo * i / Powers::kCount));
    powers.bits[i] = std::bit_cast<uint32_t>(power) - (i << Powers::kShift);
  }
  return powers;
}();

}  // namespace glassformer::cpu
