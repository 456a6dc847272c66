#pragma once

#include <filesystem>

namespace glassformer {

// Writes a folder so that, whenever the process is killed, its path never holds a part of it. What
// is written goes to path(), a hidden folder beside it that commit() renames, and what was there
// before stays until then. A writer that was killed leaves the hidden one behind; the next writer
// of the same path clears it. Throws FileError.
class AtomicFolder {
 public:
  explicit AtomicFolder(std::filesystem::path target);
  ~AtomicFolder();  // without a commit(), removes what was written
  AtomicFolder(const AtomicFolder&) = delete;
  AtomicFolder& operator=(const AtomicFolder&) = delete;

  const std::filesystem::path& path() const { return temporary_; }
  void commit();

  // Removes a folder so that its path never holds a part of it.
  static void remove(const std::filesystem::path& folder);

 private:
  std::filesystem::path target_, temporary_;
  bool committed_ = false;
};

}  // namespace glassformer
