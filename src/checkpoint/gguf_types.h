#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "glassformer/tensor/quantised.h"

namespace glassformer {

// A type of the file's tensors: rows are made of blocks of `count` elements in `bytes` bytes.
struct GgufType {
  uint32_t id;
  std::string_view name;
  int64_t count;
  int64_t bytes;
  std::optional<DType> dtype;         // of those that are ours as they stand
  std::optional<QuantScheme> scheme;  // of the quantised ones that we read
};

// Null for a type that is not known.
const GgufType* find_gguf_type(uint32_t id);

}  // namespace glassformer
