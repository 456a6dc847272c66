#pragma once

#include "glassformer/image/image.h"

namespace glassformer {

// Pillow's filters, under Pillow's numbers, which is how configurations name them.
enum class Resample {
  kNearest = 0,
  kLanczos = 1,
  kBilinear = 2,
  kBicubic = 3,
  kBox = 4,
  kHamming = 5,
};

// The image at another size, bit for bit as Pillow 13's resize. Every filter but nearest averages
// over all the pixels that fall into one (antialiasing), with weights of 22 binary places, in two
// passes with 8 bits between them: along the rows first, unless the height shrinks by more than
// twice as many pixels as the width (Pillow before 13: always).
// Throws ValueError for sides that are not positive or give more than kMaxPixels.
Image resize(const Image& image, int64_t width, int64_t height, Resample filter);

// The middle of the image; where it is smaller than asked for, black is added around it. When a
// margin is odd, the smaller half is cut from the top and left, the larger half added there.
// Throws as resize does.
Image center_crop(const Image& image, int64_t width, int64_t height);

}  // namespace glassformer
