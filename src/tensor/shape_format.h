#pragma once

#include <fmt/format.h>

#include "glassformer/tensor/shape.h"

// Lets a message take a shape as it is: the text is made only where the message is.
template <>
struct fmt::formatter<glassformer::Dims> : fmt::formatter<std::string_view> {
  template <class Context>
  auto format(const glassformer::Dims& dims, Context& context) const {
    return fmt::formatter<std::string_view>::format(dims.str(), context);
  }
};
