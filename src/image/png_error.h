#pragma once

#include <png.h>

#include "image/codec.h"

namespace glassformer {

// libpng's handlers, for a struct whose error pointer is a CodecError.
inline void on_png_error(png_structp png, png_const_charp message) {
  static_cast<CodecError*>(png_get_error_ptr(png))->jump(message);
}
inline void on_png_warning(png_structp, png_const_charp) {}

}  // namespace glassformer
