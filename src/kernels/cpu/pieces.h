// Smooth functions as 32 short polynomials, for processors that look up 32 numbers at once: fewer
// steps than any one polynomial with that error. The compiler works out the coefficients from the
// equations.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace glassformer::cpu {

// f(n·kStep + r) = Σ terms[k][n mod 32] · r^k for |r| <= kStep / 2 and n from -16 to 15.
struct Pieces {
  static constexpr size_t kCount = 32, kTerms = 6;
  static constexpr float kStep = 0.375F, kFirst = -6.0F, kLast = 5.8F;  // within all pieces
  alignas(64) float terms[kTerms][kCount];
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

// The polynomial through f at Chebyshev's places around each piece's middle, by Newton's divided
// differences.
template <class F>
constexpr Pieces of(F f) {
  constexpr size_t kTerms = Pieces::kTerms;
  constexpr double kPlaces[kTerms] = {0.96592582628906829,  0.70710678118654752,
                                      0.25881904510252076,  -0.25881904510252076,
                                      -0.70710678118654752, -0.96592582628906829};
  Pieces result{};
  for (int n = -16; n < 16; ++n) {
    double places[kTerms] = {}, differences[kTerms] = {}, sums[kTerms] = {};
    for (size_t i = 0; i < kTerms; ++i) {
      places[i] = kPlaces[i] * Pieces::kStep / 2;
      differences[i] = f(n * static_cast<double>(Pieces::kStep) + places[i]);
    }
    for (size_t order = 1; order < kTerms; ++order)
      for (size_t i = kTerms - 1; i >= order; --i)
        differences[i] = (differences[i] - differences[i - 1]) / (places[i] - places[i - order]);
    for (size_t i = kTerms; i-- > 0;) {  // sums = sums · (r - places[i]) + differences[i]
      for (size_t k = kTerms - 1; k > 0; --k) sums[k] = sums[k - 1] - places[i] * sums[k];
      sums[0] = differences[i] - places[i] * sums[0];
    }
    for (size_t k = 0; k < kTerms; ++k)
      result.terms[k][static_cast<size_t>(n + 32) % Pieces::kCount] = static_cast<float>(sums[k]);
  }
  return result;
}

}  // namespace pieces

inline constexpr Pieces kNormalPieces = pieces::of(pieces::normal);
inline constexpr Pieces kTanhNormalPieces = pieces::of(pieces::tanh_normal);
inline constexpr Pieces kGeluSlopePieces = pieces::of(pieces::gelu_slope);
inline constexpr Pieces kGeluTanhSlopePieces = pieces::of(pieces::gelu_tanh_slope);

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
