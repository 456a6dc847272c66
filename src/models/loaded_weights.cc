#include "models/loaded_weights.h"

#include <map>

#include "base/check.h"
#include "glassformer/autograd/no_grad.h"
#include "glassformer/ops/copy.h"
#include "glassformer/ops/gather.h"
#include "glassformer/ops/view.h"
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

Tensor to_stored(const std::vector<Tensor>& parts, const StoredForm& form) {
  Tensor x = parts.size() == 1 ? parts.front() : concatenate(parts, 0);
  if (form.transposed && x.rank() == 2) x = transpose(x, 0, 1);
  return form.row ? unsqueeze(x, 0) : x;
}

}  // namespace

bool LoadedWeights::contains(const std::string& name) const {
  for (const NameMap::Stored& spelling : names_.find(name))
    if (stored_.find(spelling.name) != nullptr) return true;
  return false;
}

Tensor LoadedWeights::get(const std::string& name, const Shape& shape, const Initial&) {
  const NoGrad no_grad;
  const std::vector<NameMap::Stored> spellings = names_.find(name);
  internal_check(!spellings.empty(), "a weight that its recipe does not name");
  for (const NameMap::Stored& spelling : spellings) {
    const StoredTensor* found = stored_.find(spelling.name);
    if (found == nullptr) continue;
    const Shape expected = stored_shape(shape, spelling.form);
    require<FileError>(found->shape == expected, "{}: tensor '{}' must be {}, found {}",
                       stored_.where(), spelling.name, expected, found->shape);
    const Tensor ours = from_stored(stored_.get(spelling.name), spelling.form);
    require<FileError>(is_floating(ours.dtype()), "{}: tensor '{}' must be floating, found {}",
                       stored_.where(), spelling.name, found->type);
    const DType dtype = dtype_.value_or(ours.dtype());
    if (dtype == ours.dtype() && device_ == ours.device()) return ours;
    const Tensor copy = to(cast(ours, dtype), device_);
    if (ours.is_contiguous())
      ours.storage()->give_back_pages(static_cast<size_t>(ours.offset()) * size_of(ours.dtype()),
                                      static_cast<size_t>(ours.count()) * size_of(ours.dtype()));
    return copy;
  }
  throw FileError(fmt::format("{}: tensor '{}' {} is missing", stored_.where(),
                              spellings.front().name,
                              stored_shape(shape, spellings.front().form).str()));
}

std::vector<std::pair<std::string, Tensor>> stored_parameters(
    const std::vector<std::pair<std::string, Tensor>>& parameters, const NameMap& names) {
  const NoGrad no_grad;
  struct Whole {
    StoredForm form;
    std::vector<Tensor> parts;
  };
  std::map<std::string, Whole> stored;
  for (const auto& [name, value] : parameters) {
    const std::vector<NameMap::Stored> spellings = names.find(name);
    internal_check(!spellings.empty(), "a weight that its recipe does not name");
    Whole& whole = stored[spellings.front().name];
    whole.form = spellings.front().form;
    whole.parts.resize(static_cast<size_t>(whole.form.parts));
    whole.parts[static_cast<size_t>(whole.form.part)] = value;
  }
  std::vector<std::pair<std::string, Tensor>> tensors;
  tensors.reserve(stored.size());
  for (const auto& [name, whole] : stored)
    tensors.emplace_back(name, to_stored(whole.parts, whole.form));
  return tensors;
}

}  // namespace glassformer
