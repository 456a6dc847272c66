#pragma once

#include <string>

#include "glassformer/image/image.h"
#include "support/fixture.h"

namespace glassformer::testing {

// A fixture's U8 tensor [height, width, 3].
inline Image fixture_image(const Fixture& fixture, const std::string& name) {
  Image image(fixture.shape(name)[1], fixture.shape(name)[0]);
  const auto bytes = fixture.bytes(name);
  for (size_t i = 0; i < bytes.size(); ++i) image.pixels[i] = std::to_integer<uint8_t>(bytes[i]);
  return image;
}

}  // namespace glassformer::testing
