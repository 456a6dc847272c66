#include "cli/numbers.h"

#include <charconv>

#include <fmt/format.h>

namespace glassformer {

CLI::Validator at_least_one() {
  const auto fault = [](const std::string& text) -> std::string {
    int64_t value = 0;
    const char* end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, value);
    if (read.ec == std::errc() && read.ptr == end && value >= 1) return {};
    return fmt::format("expected a whole number from 1 on, found {}", text);
  };
  return {fault, "POSITIVE"};
}

}  // namespace glassformer
