#pragma once

#include <cstdlib>
#include <filesystem>

namespace glassformer::testing {

// A file or folder of the data that is not in the tree: below $GLASSFORMER_DATA, or else in
// `shared` beside the project. Empty where it is not there; the test is then skipped.
inline std::filesystem::path shared_data(const std::filesystem::path& path) {
  namespace fs = std::filesystem;
  const char* named = std::getenv("GLASSFORMER_DATA");
  const fs::path root =
      named != nullptr ? fs::path(named) : fs::path(GLASSFORMER_FIXTURES_DIR) / "../../../shared";
  std::error_code error;
  return fs::exists(root / path, error) ? root / path : fs::path();
}

}  // namespace glassformer::testing
