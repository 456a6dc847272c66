#include <cstring>

#include "base/parallel.h"
#include "kernels/cpu/code_layout.h"
#include "kernels/cpu/weight_memory.h"
#include "tensor/quantised_row.h"

namespace glassformer::cpu {
namespace {

CodeFormat format_of(QuantScheme scheme) {
  switch (scheme) {
    case QuantScheme::kInt8: return CodeFormat::kChannel8;
    case QuantScheme::kQ8_0: return CodeFormat::kGroup8;
    case QuantScheme::kInt4:
    case QuantScheme::kQ4_0: return CodeFormat::kGroup4;
    case QuantScheme::kQ4_K: return CodeFormat::kSuper4;
    case QuantScheme::kQ6_K: return CodeFormat::kSuper6;
  }
  return CodeFormat::kChannel8;
}

template <class T>
T load(const void* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}
template <class T>
void store(T value, uint8_t* to) {
  std::memcpy(to, &value, sizeof value);
}

// Column `column` of a panel's group: 32 codes, of which four of k are a unit of 32 bits.
void place_codes(CodeFormat format, const uint8_t* codes, size_t column, uint8_t* group) {
  const auto quad = [&](size_t q) { return load<uint32_t>(codes + 4 * q); };
  const auto at = [&](size_t q) { return group + 4 * (q * kCodeColumns + column); };
  if (format == CodeFormat::kChannel8 || format == CodeFormat::kGroup8) {
    for (size_t q = 0; q < 8; ++q) store(quad(q), at(q));
    return;
  }
  constexpr uint32_t kLow = 0x0F0F0F0F, kHigh = 0x03030303;
  for (size_t q = 0; q < 8; q += 2)
    store((quad(q) & kLow) | ((quad(q + 1) & kLow) << 4), at(q / 2));
  if (format != CodeFormat::kSuper6) return;
  for (size_t half = 0; half < 2; ++half) {
    uint32_t high = 0;
    for (size_t q = 0; q < 4; ++q) high |= ((quad(4 * half + q) >> 4) & kHigh) << (2 * q);
    store(high, at(4 + half));
  }
}

void place_scales(CodeFormat format, const QuantisedRow& row, size_t g, size_t column,
                  const CodeLayout& layout, uint8_t* panel) {
  uint8_t* scales = panel + layout.group(g) + layout.codes;
  const auto half = [](float value) { return Float16(value).bits; };
  switch (format) {
    case CodeFormat::kChannel8: return store(row.units[0], panel + 4 * column);
    case CodeFormat::kGroup8:
    case CodeFormat::kGroup4:
      return store(half(row.step(static_cast<int64_t>(g))), scales + 2 * column);
    case CodeFormat::kSuper4:
      store(row.steps[g], scales + column);
      store(row.bases[g], scales + kCodeColumns + column);
      store(half(row.base_units[g / kSuperGroups]),
            panel + layout.unit(g) + 2 * (kCodeColumns + column));
      break;
    case CodeFormat::kSuper6:
      store(row.steps[2 * g], scales + column);
      store(row.steps[2 * g + 1], scales + kCodeColumns + column);
      break;
  }
  store(half(row.units[g / kSuperGroups]), panel + layout.unit(g) + 2 * column);
}

}  // namespace

CodePanels pack_codes(const QuantisedTensor& weight) {
  CodePanels packed;
  packed.format = format_of(weight.scheme);
  packed.n = static_cast<size_t>(weight.rows);
  packed.k = static_cast<size_t>(weight.columns);
  const CodeLayout layout = layout_of(packed.format);
  packed.panel_bytes = layout.group(packed.groups()) - layout.units;
  const size_t bytes = packed.panels() * packed.panel_bytes;
  // A tile of 64 of k may reach past the last group, where it meets activations of zero.
  packed.storage = weight_memory(bytes + layout.codes);
  auto* data = reinterpret_cast<uint8_t*>(packed.storage->data());
  parallel_ranges(static_cast<int64_t>(packed.panels()), 1, [&](int64_t begin, int64_t end) {
    QuantisedRow row;
    for (auto p = static_cast<size_t>(begin); p < static_cast<size_t>(end); ++p) {
      uint8_t* panel = data + p * packed.panel_bytes;
      // Columns that do not exist have scales of zero.
      std::memset(panel, 0, packed.panel_bytes);
      for (size_t c = 0; c < kCodeColumns && p * kCodeColumns + c < packed.n; ++c) {
        read_row(weight, static_cast<int64_t>(p * kCodeColumns + c), row);
        for (size_t g = 0; g < packed.groups(); ++g) {
          place_codes(packed.format, row.codes.data() + g * kCodeDepth, c, panel + layout.group(g));
          place_scales(packed.format, row, g, c, layout, panel);
        }
      }
    }
  });
  return packed;
}

}  // namespace glassformer::cpu
