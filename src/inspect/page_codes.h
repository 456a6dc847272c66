#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "glassformer/tensor/tensor.h"

namespace glassformer {

// A tensor as the page holds it: 16 bits a number. web/codec.js reads them.
struct PageCodes {
  enum class Type : uint8_t {
    kRoot,  // of a number in [0, 1], within rounding: 65535 times its square root
    kHalf   // a float16, to be multiplied by `scale`
  };
  Type type = Type::kHalf;
  float scale = 1;  // a power of two
  std::vector<uint16_t> codes;
};

// `unit` says that the numbers are shares of 1; if one is not, or is no number, halves are used.
PageCodes page_codes(const Tensor& tensor, bool unit);

// base64 of zlib of the codes: the high bytes of all, then the low bytes of all.
std::string packed(const std::vector<uint16_t>& codes);

}  // namespace glassformer
