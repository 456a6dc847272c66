// Any preprocessor_config.json is a processor of images or one error.

#include <filesystem>
#include <fstream>
#include <unistd.h>

#include "fuzz/fuzz_target.h"
#include "glassformer/image/processor.h"

namespace {

// A folder for this process, with nothing but the one file; it goes away with the process.
class Folder {
 public:
  Folder() { std::filesystem::create_directories(path_); }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::filesystem::path& with(std::span<const std::byte> content) const {
    std::ofstream file(path_ / "preprocessor_config.json", std::ios::binary);
    file.write(reinterpret_cast<const char*>(content.data()),
               static_cast<std::streamsize>(content.size()));
    return path_;
  }

 private:
  std::filesystem::path path_ = std::filesystem::temp_directory_path() /
                                ("glassformer-preprocessor-fuzz-" + std::to_string(getpid()));
};

}  // namespace

FUZZ_TARGET(preprocessor) {
  static const Folder folder;
  glassformer::ImageProcessor::load(folder.with(bytes));
}
