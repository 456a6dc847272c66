#pragma once

#include <memory>
#include <span>
#include <vector>

#include "glassformer/base/error.h"
#include "glassformer/tensor/stored_tensors.h"

namespace glassformer::testing {

// A copy in a block of exactly its size, so that a sanitizer sees every read past its end.
inline std::shared_ptr<Storage> storage_of(std::span<const std::byte> bytes) {
  const auto copy = std::make_shared<std::vector<std::byte>>(bytes.begin(), bytes.end());
  return Storage::wrap(copy->data(), copy->size(), copy, /*writable=*/false);
}

// Reads all that there is; tensors that are refused are passed over.
inline void read_everything(const StoredTensors& stored) {
  for (const StoredTensor& tensor : stored.tensors()) {
    try {
      const std::vector<double> values = stored.get(tensor.name).to_vector<double>();
    } catch (
        const FileError&) {  // NOLINT(bugprone-empty-catch): the type may be one we do not read
    }
  }
}

}  // namespace glassformer::testing
