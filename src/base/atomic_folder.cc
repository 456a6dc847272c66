#include "base/atomic_folder.h"

#include "base/atomic_file.h"
#include "base/check.h"

namespace glassformer {
namespace {

namespace fs = std::filesystem;

fs::path hidden(const fs::path& path, const char* ending) {
  return path.parent_path() / fmt::format(".{}.{}", path.filename().string(), ending);
}

}  // namespace

AtomicFolder::AtomicFolder(fs::path target)
    : target_(std::move(target)), temporary_(hidden(target_, "tmp")) {
  std::error_code error;
  fs::remove_all(temporary_, error);
  fs::create_directories(temporary_, error);
  require<FileError>(!error, "{}: expected a folder that can be written to: {}",
                     temporary_.string(), error.message());
}

AtomicFolder::~AtomicFolder() {
  std::error_code ignored;
  if (!committed_) fs::remove_all(temporary_, ignored);
}

void AtomicFolder::commit() {
  sync_folder(temporary_);
  std::error_code error;
  if (fs::exists(target_, error)) remove(target_);
  fs::rename(temporary_, target_, error);
  require<FileError>(!error, "{}: cannot be renamed to {}: {}", temporary_.string(),
                     target_.string(), error.message());
  committed_ = true;
  sync_folder(target_.has_parent_path() ? target_.parent_path() : ".");
}

void AtomicFolder::remove(const fs::path& folder) {
  std::error_code error;
  const fs::path doomed = hidden(folder, "old");
  fs::remove_all(doomed, error);
  fs::rename(folder, doomed, error);
  if (!error) fs::remove_all(doomed, error);
  require<FileError>(!error, "{}: cannot be removed: {}", folder.string(), error.message());
}

}  // namespace glassformer
