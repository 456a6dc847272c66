#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/check.h"
#include "glassformer/ops/rotary.h"

// Every step below is in the type transformers has it in (modeling_rope_utils.py): tensors are
// float32, options are double until they meet one. At position 100,000 a last bit of a frequency
// is already a visible angle.

namespace glassformer {
namespace {

constexpr const char* kOp = "rotary_frequencies";

void check_positive(const char* field, double value) {
  require<ValueError>(value > 0 && std::isfinite(value), "{}: expected {} greater than 0, found {}",
                      kOp, field, value);
}

void check(const RotarySpec& spec) {
  using Scaling = RotarySpec::Scaling;
  require<ValueError>(spec.dim >= 2 && spec.dim % 2 == 0,
                      "{}: expected an even dim of at least 2, found {}", kOp, spec.dim);
  check_positive("theta", spec.theta);
  if (spec.scaling == Scaling::kNone) return;
  check_positive("factor", spec.factor);
  if (spec.scaling == Scaling::kLinear) return;
  require<ValueError>(spec.original_max_positions >= 1,
                      "{}: expected original_max_positions of at least 1, found {}", kOp,
                      spec.original_max_positions);
  if (spec.scaling == Scaling::kDynamic)
    require<ValueError>(spec.dim > 2, "{}: expected a dim over 2 for dynamic scaling, found {}",
                        kOp, spec.dim);
  if (spec.scaling == Scaling::kYarn) {
    check_positive("beta_fast", spec.beta_fast);
    check_positive("beta_slow", spec.beta_slow);
    require<ValueError>(spec.theta != 1, "{}: expected a theta other than 1 for yarn scaling", kOp);
  }
  if (spec.scaling == Scaling::kLlama3) {
    check_positive("low_freq_factor", spec.low_freq_factor);
    require<ValueError>(
        spec.high_freq_factor > spec.low_freq_factor && std::isfinite(spec.high_freq_factor),
        "{}: expected high_freq_factor over low_freq_factor = {}, found {}", kOp,
        spec.low_freq_factor, spec.high_freq_factor);
  }
}

// theta^(2i / dim)
std::vector<float> wave_numbers(int64_t dim, double theta) {
  std::vector<float> waves;
  for (int64_t i = 0; i < dim; i += 2) {
    const float exponent = static_cast<float>(i) / static_cast<float>(dim);
    waves.push_back(static_cast<float>(
        std::pow(static_cast<double>(static_cast<float>(theta)), static_cast<double>(exponent))));
  }
  return waves;
}

std::vector<float> plain(int64_t dim, double theta) {
  std::vector<float> inverse = wave_numbers(dim, theta);
  for (float& f : inverse) f = 1.0F / f;
  return inverse;
}

std::vector<float> linear(const RotarySpec& spec) {
  std::vector<float> inverse = plain(spec.dim, spec.theta);
  for (float& f : inverse) f /= static_cast<float>(spec.factor);
  return inverse;
}

// A larger theta as the sequence outgrows the context.
std::vector<float> dynamic(const RotarySpec& spec, int64_t length) {
  const auto context = static_cast<double>(spec.original_max_positions);
  const auto seen = static_cast<double>(std::max(length, spec.original_max_positions));
  const auto dim = static_cast<double>(spec.dim);
  const double growth = spec.factor * seen / context - (spec.factor - 1);
  return plain(spec.dim, spec.theta * std::pow(growth, dim / (dim - 2)));
}

// Between the pairs that turn beta_fast and beta_slow times in the context, from the frequencies as
// they are to those divided by the factor.
std::vector<float> yarn(const RotarySpec& spec) {
  const auto dim = static_cast<double>(spec.dim);
  const auto pair_turning = [&](double times) {
    const auto context = static_cast<double>(spec.original_max_positions);
    return dim * std::log(context / (times * 2 * std::numbers::pi)) / (2 * std::log(spec.theta));
  };
  double low = pair_turning(spec.beta_fast), high = pair_turning(spec.beta_slow);
  if (spec.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, dim - 1);
  if (low == high) high += 0.001;
  std::vector<float> inverse = wave_numbers(spec.dim, spec.theta);
  for (size_t i = 0; i < inverse.size(); ++i) {
    const float ramp = std::clamp(
        (static_cast<float>(i) - static_cast<float>(low)) / static_cast<float>(high - low), 0.0F,
        1.0F);
    const float kept = 1.0F - ramp;
    const float extrapolated = 1.0F / inverse[i];
    const float interpolated = 1.0F / (static_cast<float>(spec.factor) * inverse[i]);
    inverse[i] = interpolated * (1.0F - kept) + extrapolated * kept;
  }
  return inverse;
}

double yarn_attention(const RotarySpec& spec) {
  if (spec.attention_factor) return *spec.attention_factor;
  const auto growth = [&](double mscale) {
    return spec.factor <= 1 ? 1.0 : 0.1 * mscale * std::log(spec.factor) + 1.0;
  };
  const double above = spec.mscale.value_or(0), below = spec.mscale_all_dim.value_or(0);
  return above != 0 && below != 0 ? growth(above) / growth(below) : growth(1);
}

// Wavelengths over context / low_freq_factor are divided by the factor, those under
// context / high_freq_factor are kept, between them is a smooth passage.
std::vector<float> llama3(const RotarySpec& spec) {
  const auto context = static_cast<double>(spec.original_max_positions);
  const auto longest = static_cast<float>(context / spec.low_freq_factor);
  const auto shortest = static_cast<float>(context / spec.high_freq_factor);
  const auto factor = static_cast<float>(spec.factor);
  std::vector<float> inverse = plain(spec.dim, spec.theta);
  for (float& f : inverse) {
    const float wavelength = static_cast<float>(2 * std::numbers::pi) / f;
    if (wavelength > longest) {
      f /= factor;
    } else if (wavelength >= shortest) {
      const float smooth =
          (static_cast<float>(context) / wavelength - static_cast<float>(spec.low_freq_factor)) /
          static_cast<float>(spec.high_freq_factor - spec.low_freq_factor);
      f = (1.0F - smooth) * f / factor + smooth * f;
    }
  }
  return inverse;
}

RotaryFrequencies scaled(const RotarySpec& spec, int64_t length) {
  switch (spec.scaling) {
    case RotarySpec::Scaling::kLinear: return {linear(spec), 1};
    case RotarySpec::Scaling::kDynamic: return {dynamic(spec, length), 1};
    case RotarySpec::Scaling::kYarn: return {yarn(spec), yarn_attention(spec)};
    case RotarySpec::Scaling::kLlama3: return {llama3(spec), 1};
    case RotarySpec::Scaling::kNone: break;
  }
  return {plain(spec.dim, spec.theta), 1};
}

}  // namespace

RotaryFrequencies rotary_frequencies(const RotarySpec& spec, int64_t length) {
  check(spec);
  RotaryFrequencies frequencies = scaled(spec, length);
  require<ValueError>(spec.factors.empty() || spec.factors.size() == frequencies.inverse.size(),
                      "rotary: expected {} factors, found {}", frequencies.inverse.size(),
                      spec.factors.size());
  for (size_t i = 0; i < spec.factors.size(); ++i) frequencies.inverse[i] /= spec.factors[i];
  return frequencies;
}

}  // namespace glassformer
