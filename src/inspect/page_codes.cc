#include "inspect/page_codes.h"

#include <algorithm>
#include <cmath>

#include <zlib.h>

#include "base/base64.h"
#include "base/check.h"
#include "glassformer/tensor/half.h"

namespace glassformer {
namespace {

// A weight that is computed in float32 may come out a little above 1.
constexpr float kRounding = 1e-5F;

// The largest power of two that is not above any finite magnitude's maximum.
float scale_of(const std::vector<float>& values) {
  float most = 0;
  for (const float value : values)
    if (std::isfinite(value)) most = std::max(most, std::abs(value));
  return most > 0 ? std::ldexp(1.0F, std::ilogb(most)) : 1.0F;
}

}  // namespace

PageCodes page_codes(const Tensor& tensor, bool unit) {
  const std::vector<float> values = tensor.to_vector<float>();
  const auto share = [](float value) { return value >= 0 && value <= 1 + kRounding; };
  PageCodes result;
  result.codes.resize(values.size());
  if (unit && std::all_of(values.begin(), values.end(), share)) {
    result.type = PageCodes::Type::kRoot;
    std::transform(values.begin(), values.end(), result.codes.begin(), [](float value) {
      const double root = std::sqrt(std::min(1.0, static_cast<double>(value)));
      return static_cast<uint16_t>(std::lround(root * 65535));
    });
  } else {
    result.scale = scale_of(values);
    std::transform(values.begin(), values.end(), result.codes.begin(),
                   [&](float value) { return Float16(value / result.scale).bits; });
  }
  return result;
}

std::string packed(const std::vector<uint16_t>& codes) {
  std::vector<Bytef> planes(2 * codes.size());
  for (size_t i = 0; i < codes.size(); ++i) {
    planes[i] = static_cast<Bytef>(codes[i] >> 8);
    planes[codes.size() + i] = static_cast<Bytef>(codes[i] & 0xFF);
  }
  uLongf size = compressBound(planes.size());
  std::vector<std::byte> bytes(size);
  const int status = compress(reinterpret_cast<Bytef*>(bytes.data()), &size, planes.data(),
                              static_cast<uLong>(planes.size()));
  internal_check(status == Z_OK, "zlib's compress");
  return encode_base64(std::span(bytes).first(size));
}

}  // namespace glassformer
