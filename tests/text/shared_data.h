#pragma once

#include <cstdlib>
#include <filesystem>
#include <optional>

namespace glassformer::testing {

// A file or folder of $GLASSFORMER_DATA, or of ../shared beside the project; nothing where it is
// not there.
inline std::optional<std::filesystem::path> shared_data(const char* name) {
  const char* data = std::getenv("GLASSFORMER_DATA");
  const auto root = std::filesystem::path(GLASSFORMER_FIXTURES_DIR).parent_path().parent_path();
  const auto path =
      (data != nullptr ? std::filesystem::path(data) : root.parent_path() / "shared") / name;
  return std::filesystem::exists(path) ? std::optional(path) : std::nullopt;
}

}  // namespace glassformer::testing
