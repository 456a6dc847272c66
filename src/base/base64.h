#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace glassformer {

// RFC 4648, with padding and no line breaks.
std::string encode_base64(std::span<const std::byte> bytes);

}  // namespace glassformer
