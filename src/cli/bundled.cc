#include "cli/bundled.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/ranges.h>

#include "base/check.h"

namespace glassformer {
namespace {

namespace fs = std::filesystem;

// Empty where there is none.
fs::path folder() {
  std::error_code error;
  if (const char* given = std::getenv("GLASSFORMER_MODELS")) return given;
  const fs::path program = fs::read_symlink("/proc/self/exe", error).parent_path();
  // Of an installation; of build/PRESET/bin.
  for (const char* there : {"../share/glassformer/models", "../../../models"})
    if (fs::is_directory(program / there, error)) return fs::weakly_canonical(program / there);
  return {};
}

}  // namespace

std::vector<std::string> bundled_models() {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder(), error))
    if (fs::exists(entry.path() / "config.json", error))
      names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

fs::path model_path(const std::string& given) {
  std::error_code error;
  if (fs::exists(given, error)) return given;
  const std::vector<std::string> names = bundled_models();
  if (std::find(names.begin(), names.end(), given) != names.end()) return folder() / given;
  throw FileError(fmt::format(
      "{}: expected a model folder, a .gguf file or the name of a bundled model ({}), found "
      "nothing",
      given, names.empty() ? "there is none" : fmt::format("{}", fmt::join(names, ", "))));
}

}  // namespace glassformer
