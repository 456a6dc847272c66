#include "checkpoint/gguf_types.h"

#include <algorithm>
#include <array>

namespace glassformer {
namespace {

constexpr std::array<GgufType, 21> kTypes{{
    {0, "F32", 1, 4, DType::kFloat32, {}},
    {1, "F16", 1, 2, DType::kFloat16, {}},
    {2, "Q4_0", 32, 18, {}, QuantScheme::kQ4_0},
    {3, "Q4_1", 32, 20, {}, {}},
    {6, "Q5_0", 32, 22, {}, {}},
    {7, "Q5_1", 32, 24, {}, {}},
    {8, "Q8_0", 32, 34, {}, QuantScheme::kQ8_0},
    {10, "Q2_K", 256, 84, {}, {}},
    {11, "Q3_K", 256, 110, {}, {}},
    {12, "Q4_K", 256, 144, {}, QuantScheme::kQ4_K},
    {13, "Q5_K", 256, 176, {}, {}},
    {14, "Q6_K", 256, 210, {}, QuantScheme::kQ6_K},
    {15, "Q8_K", 256, 292, {}, {}},
    {20, "IQ4_NL", 32, 18, {}, {}},
    {23, "IQ4_XS", 256, 136, {}, {}},
    {24, "I8", 1, 1, DType::kInt8, {}},
    {25, "I16", 1, 2, {}, {}},
    {26, "I32", 1, 4, DType::kInt32, {}},
    {27, "I64", 1, 8, DType::kInt64, {}},
    {28, "F64", 1, 8, DType::kFloat64, {}},
    {30, "BF16", 1, 2, DType::kBFloat16, {}},
}};

}  // namespace

const GgufType* find_gguf_type(uint32_t id) {
  const auto found = std::find_if(kTypes.begin(), kTypes.end(),
                                  [&](const GgufType& type) { return type.id == id; });
  return found == kTypes.end() ? nullptr : &*found;
}

}  // namespace glassformer
