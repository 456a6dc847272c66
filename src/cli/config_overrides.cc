#include "cli/config_overrides.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace glassformer {

Overrides overrides_of(const std::vector<std::string>& left) {
  Overrides overrides;
  for (size_t i = 0; i < left.size(); ++i) {
    if (!left[i].starts_with("--") || left[i].size() == 2)
      throw CLI::ValidationError(
          fmt::format("expected --FIELD VALUE of the configuration, found '{}'", left[i]));
    const std::string name = left[i].substr(2);
    if (const size_t equals = name.find('='); equals != std::string::npos) {
      overrides.emplace_back(name.substr(0, equals), name.substr(equals + 1));
      continue;
    }
    if (i + 1 == left.size())
      throw CLI::ValidationError(fmt::format("--{}: expected a value after it", name));
    overrides.emplace_back(name, left[++i]);
  }
  return overrides;
}

}  // namespace glassformer
