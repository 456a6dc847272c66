#pragma once

#include <cstddef>
#include <filesystem>
#include <string_view>

namespace glassformer {

// What was renamed in the folder is on disk when this returns. Throws FileError.
void sync_folder(const std::filesystem::path& folder);

// Makes a folder and those above it that are missing; false where it was there. Throws FileError.
bool make_folders(const std::filesystem::path& folder);

// Writes a file so that, whenever the process is killed or the machine stops, the path holds either
// what it held before or the whole new content.
//
// What is written goes to `.NAME.tmp` in the same folder, which commit() renames. A writer that was
// killed leaves that file behind; the next writer of the same path takes it over. While one writer
// is open another of the same path is refused. Everything throws FileError, naming the path.
class AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path path);
  ~AtomicFile();  // without a commit(), removes what was written
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const void* data, size_t bytes);
  void write(std::string_view text) { write(text.data(), text.size()); }

  // On disk when this returns, the renaming too. Nothing can be written afterwards.
  void commit();

 private:
  void open_temporary();
  [[noreturn]] void fail(std::string_view what) const;

  std::filesystem::path path_;
  std::filesystem::path temporary_;
  int file_ = -1;  // -1 after commit()
};

// Copies a file, or all files below a folder, each as an AtomicFile. Throws FileError.
void copy_files(const std::filesystem::path& from, const std::filesystem::path& to);

}  // namespace glassformer
