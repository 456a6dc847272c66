#pragma once

#include <string>
#include <utility>
#include <vector>

#include "glassformer/tensor/stored_tensors.h"

namespace glassformer::testing {

using Named = std::pair<std::string, Tensor>;

inline std::vector<Named> all_of(const StoredTensors& stored) {
  std::vector<Named> tensors;
  for (const StoredTensor& tensor : stored.tensors())
    tensors.emplace_back(tensor.name, stored.get(tensor.name));
  return tensors;
}

}  // namespace glassformer::testing
