#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "glassformer/tensor/quantised.h"

namespace glassformer {

// One tensor of a file, as the file describes it.
struct StoredTensor {
  std::string name;
  std::string type;  // as the file spells it: "F32", "BF16", "Q4_K", ...
  Shape shape;
  int64_t bytes = 0;  // in the file
};

// Tensors by name, as a file or a folder of files holds them. Files are memory-mapped: get() copies
// nothing where the type is one of ours, so opening costs no more than reading the header.
class StoredTensors {
 public:
  virtual ~StoredTensors() = default;

  // In the order of the file. The names are distinct.
  virtual const std::vector<StoredTensor>& tensors() const = 0;
  // Null if there is none of this name.
  virtual const StoredTensor* find(std::string_view name) const = 0;
  // Where the tensors come from, for messages.
  virtual const std::string& where() const = 0;
  // A cpu tensor; quantised types are expanded to float32. Throws FileError for an unknown name
  // (with the nearest ones) or a type that cannot be read.
  virtual Tensor get(std::string_view name) const = 0;
  // The same tensor as it is stored, where that is a quantised form of ours: rows of its last axis.
  // It is a view of the file. None for other tensors.
  virtual std::optional<QuantisedTensor> quantised(std::string_view /*name*/) const { return {}; }
};

}  // namespace glassformer
