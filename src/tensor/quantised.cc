#include "glassformer/tensor/quantised.h"

#include "base/check.h"

namespace glassformer {
namespace {

struct Layout {
  std::string_view name;
  int64_t count, bytes;  // of a block of a row
};

constexpr std::array<Layout, kQuantSchemeCount> kLayouts{{
    {"int8", 1, 1},
    {"int4", 32, 16},
    {"Q8_0", 32, 34},
    {"Q4_0", 32, 18},
    {"Q4_K", 256, 144},
    {"Q6_K", 256, 210},
}};

const Layout& layout_of(QuantScheme scheme) { return kLayouts[static_cast<size_t>(scheme)]; }

void check_part(const Tensor& part, const char* name, DType dtype, const Shape& shape,
                std::string_view what) {
  require<DTypeError>(part.defined() && part.dtype() == dtype && part.is_contiguous(),
                      "{}: expected contiguous {} of {}", what, name, glassformer::name_of(dtype));
  require<ShapeError>(part.shape() == shape, "{}: expected {} {}, found {}", what, name,
                      shape.str(), part.shape().str());
}

}  // namespace

std::string_view name_of(QuantScheme scheme) { return layout_of(scheme).name; }

std::optional<QuantScheme> quant_scheme_from_name(std::string_view name) {
  for (size_t i = 0; i < kLayouts.size(); ++i)
    if (kLayouts[i].name == name) return static_cast<QuantScheme>(i);
  return std::nullopt;
}

int64_t QuantisedTensor::bytes() const {
  int64_t total = 0;
  for (const Tensor* part : tensors())
    if (part->defined()) total += part->count() * static_cast<int64_t>(size_of(part->dtype()));
  return total;
}

int64_t row_bytes(QuantScheme scheme, int64_t columns) {
  const Layout& layout = layout_of(scheme);
  require<ValueError>(scheme == QuantScheme::kInt4 || columns % layout.count == 0,
                      "{}: expected rows of whole blocks of {}, found {} columns", layout.name,
                      layout.count, columns);
  return (columns + layout.count - 1) / layout.count * layout.bytes;
}

void check_quantised(const QuantisedTensor& x, std::string_view what) {
  require<ShapeError>(x.rows >= 0 && x.columns >= 0, "{}: expected a matrix, found {} x {}", what,
                      x.rows, x.columns);
  check_part(x.codes, "codes", DType::kInt8, {x.rows, row_bytes(x.scheme, x.columns)}, what);
  if (x.scheme == QuantScheme::kInt8)
    check_part(x.scales, "scales", DType::kFloat32, {x.rows}, what);
  if (x.scheme != QuantScheme::kInt4) return;
  require<ValueError>(x.group > 0 && x.group % 32 == 0,
                      "{}: expected groups of a multiple of 32, found {}", what, x.group);
  check_part(x.scales, "scales", DType::kFloat16, {x.rows, (x.columns + x.group - 1) / x.group},
             what);
}

QuantisedTensor rows_of(const QuantisedTensor& x, int64_t first, int64_t count) {
  const auto part = [&](const Tensor& whole) {
    if (!whole.defined()) return whole;
    return whole.view(whole.shape().with(0, count), whole.strides(),
                      whole.offset() + first * whole.strides()[0]);
  };
  QuantisedTensor rows = x;
  rows.rows = count;
  rows.codes = part(x.codes);
  rows.scales = part(x.scales);
  return rows;
}

}  // namespace glassformer
