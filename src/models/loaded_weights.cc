#include "models/loaded_weights.h"

#include <map>

#include "base/check.h"
#include "glassformer/autograd/no_grad.h"
#include "glassformer/ops/copy.h"
#include "glassformer/ops/gather.h"
#include "glassformer/ops/quantise.h"
#include "glassformer/ops/view.h"
#include "tensor/pages.h"
#include "tensor/shape_format.h"

namespace glassformer {
namespace {

// The shape of the whole stored tensor of which ours, of `shape`, is the part.
Shape stored_shape(const Shape& shape, const StoredForm& form) {
  Shape whole = shape.with(0, shape[0] * form.parts);
  if (form.transposed && whole.rank() == 2) whole = {whole[1], whole[0]};
  return form.row ? whole.inserted(0, 1) : whole;
}

Tensor from_stored(Tensor x, const StoredForm& form) {
  if (form.row) x = squeeze(x, 0);
  if (form.transposed && x.rank() == 2) x = transpose(x, 0, 1);
  return form.parts == 1 ? x : chunk(x, 0, form.parts)[static_cast<size_t>(form.part)];
}

Tensor to_stored(Tensor x, const StoredForm& form) {
  if (form.transposed && x.rank() == 2) x = transpose(x, 0, 1);
  return form.row ? unsqueeze(x, 0) : x;
}

}  // namespace

bool LoadedWeights::contains(const std::string& name) const {
  for (const NameMap::Stored& spelling : names_.find(name))
    if (stored_.find(spelling.name) != nullptr) return true;
  return false;
}

NameMap::Stored LoadedWeights::find(const std::string& name, const Shape& shape) const {
  const std::vector<NameMap::Stored> spellings = names_.find(name);
  internal_check(!spellings.empty(), "a weight that its recipe does not name");
  for (const NameMap::Stored& spelling : spellings)
    if (stored_.find(spelling.name) != nullptr) return spelling;
  throw FileError(fmt::format("{}: tensor '{}' {} is missing", stored_.where(),
                              spellings.front().name,
                              stored_shape(shape, spellings.front().form).str()));
}

QuantisedTensor LoadedWeights::quantised(const NameMap::Stored& stored, const Shape& shape) const {
  QuantisedTensor whole;
  const int64_t rows = shape[0] * stored.form.parts;
  if (std::optional<QuantisedTensor> blocks = stored_.quantised(stored.name)) {
    if (stored.form.transposed) return {};
    whole = *blocks;
  } else {
    const std::string scale = stored.name + kScaleSuffix;
    if (!options_.quantization || stored_.find(scale) == nullptr) return {};
    whole.scheme = options_.quantization->scheme;
    whole.group = options_.quantization->group;
    whole.rows = rows;
    whole.columns = shape[1];
    whole.codes = stored_.get(stored.name);
    whole.scales = stored_.get(scale);
  }
  try {
    check_quantised(whole, stored.name);
    require<ShapeError>(whole.rows == rows && whole.columns == shape[1],
                        "{}: expected {} x {}, found {} x {}", stored.name, rows, shape[1],
                        whole.rows, whole.columns);
  } catch (const Error& error) {
    throw FileError(fmt::format("{}: tensor {}", stored_.where(), error.what()));
  }
  return to(rows_of(whole, stored.form.part * shape[0], shape[0]), options_.device);
}

WeightMatrix LoadedWeights::matrix(const std::string& name, const Shape& shape,
                                   const Initial& initial) {
  const NoGrad no_grad;
  WeightMatrix matrix;
  matrix.dtype = options_.dtype.value_or(DType::kFloat32);
  matrix.int8_activations = options_.int8_activations;
  // float64 is asked for to have every digit: there is no product of codes in it but on ref.
  if (matrix.dtype == DType::kFloat64) return WeightMatrix::of(get(name, shape, initial));
  matrix.quantised = quantised(find(name, shape), shape);
  if (matrix.quantised.defined()) return matrix;
  if (!options_.matrices_as_stored) return WeightMatrix::of(get(name, shape, initial));
  matrix.tensor = to(stored(find(name, shape), shape), options_.device);
  if (!options_.dtype) matrix.dtype = matrix.tensor.dtype();
  return matrix;
}

Tensor LoadedWeights::stored(const NameMap::Stored& spelling, const Shape& shape) const {
  const StoredTensor* found = stored_.find(spelling.name);
  const Shape expected = stored_shape(shape, spelling.form);
  require<FileError>(found->shape == expected, "{}: tensor '{}' must be {}, found {}",
                     stored_.where(), spelling.name, expected.str(), found->shape.str());
  Tensor ours = from_stored(stored_.get(spelling.name), spelling.form);
  require<FileError>(is_floating(ours.dtype()), "{}: tensor '{}' must be floating, found {}",
                     stored_.where(), spelling.name, found->type);
  return ours;
}

Tensor LoadedWeights::get(const std::string& name, const Shape& shape, const Initial&) {
  const NoGrad no_grad;
  const NameMap::Stored spelling = find(name, shape);
  if (shape.rank() == 2)
    if (const QuantisedTensor codes = quantised(spelling, shape); codes.defined())
      return dequantise(codes, options_.dtype.value_or(DType::kFloat32));
  Tensor ours = stored(spelling, shape);
  const DType dtype = options_.dtype.value_or(ours.dtype());
  const bool as_it_is = dtype == ours.dtype() && options_.device == ours.device();
  // A vector is copied all the same: the system maps up to 2 MB around what is read of a file, and
  // beside each of a model's hundred vectors lies a matrix that was packed and is done with.
  if (as_it_is && shape.rank() > 1) return ours;
  Tensor copy = as_it_is ? clone(ours) : to(cast(ours, dtype), options_.device);
  give_back_pages(ours);
  return copy;
}

std::vector<NamedTensor> stored_parameters(const std::vector<Parameter>& parameters,
                                           const NameMap& names,
                                           const std::optional<QuantizationConfig>& quantization,
                                           const SaveProgress& progress) {
  const NoGrad no_grad;
  struct Whole {
    StoredForm form;
    bool matrix = false;
    std::vector<Parameter> parts;
  };
  std::map<std::string, Whole> stored;
  for (const Parameter& parameter : parameters) {
    const std::vector<NameMap::Stored> spellings = names.find(parameter.name);
    internal_check(!spellings.empty(), "a weight that its recipe does not name");
    Whole& whole = stored[spellings.front().name];
    whole.form = spellings.front().form;
    whole.matrix = parameter.matrix;
    whole.parts.resize(static_cast<size_t>(whole.form.parts));
    whole.parts[static_cast<size_t>(whole.form.part)] = parameter;
  }
  std::vector<NamedTensor> tensors;
  size_t done = 0;
  for (const auto& one : stored) {
    const std::string& name = one.first;
    const Whole& whole = one.second;
    const auto joined = [&](const auto& tensor) {
      std::vector<Tensor> parts;
      for (const Parameter& part : whole.parts) parts.push_back(tensor(part));
      return parts.size() == 1 ? parts.front() : concatenate(parts, 0);
    };
    const auto value = [](const Parameter& part) { return part.value.detach(); };
    if (whole.parts.front().quantised.defined()) {
      tensors.emplace_back(name, joined([](const Parameter& p) { return p.quantised.codes; }));
      tensors.emplace_back(name + kScaleSuffix,
                           joined([](const Parameter& p) { return p.quantised.scales; }));
    } else if (quantization && whole.matrix) {
      const QuantisedTensor codes =
          quantise(joined(value), quantization->scheme, quantization->group);
      tensors.emplace_back(name, codes.codes);
      tensors.emplace_back(name + kScaleSuffix, codes.scales);
    } else {
      tensors.emplace_back(name, to_stored(joined(value), whole.form));
    }
    if (progress) progress(++done, stored.size());
  }
  return tensors;
}

}  // namespace glassformer
