// Any bytes are an image or a FileError.

#include <cstddef>
#include <cstdint>

#include "glassformer/base/error.h"
#include "glassformer/image/image.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    glassformer::decode_image(std::as_bytes(std::span(data, size)), "input");
  } catch (const glassformer::FileError&) {
  }
  return 0;
}
