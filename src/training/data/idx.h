#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "training/data/byte_source.h"

namespace glassformer {

// An array of bytes as MNIST's files hold them: 00 00, the type (08 is bytes), the rank, the sizes
// as four bytes each, highest first, then the elements in row-major order.
struct IdxArray {
  std::vector<int64_t> shape;
  std::vector<uint8_t> values;
};

// Throws FileError, naming `name`, for another type, another rank, more than 8 GiB, and content
// that is shorter or longer than the sizes say. Memory is asked for as the content comes in.
IdxArray read_idx(const ByteSource& source, const std::string& name, int rank);

}  // namespace glassformer
