#pragma once

#include <cstddef>
#include <filesystem>

namespace glassformer {

// A whole file mapped read-only. Throws FileError where it cannot be opened or mapped.
class MappedFile {
 public:
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::byte* data() const { return data_; }
  size_t bytes() const { return bytes_; }

 private:
  std::byte* data_ = nullptr;
  size_t bytes_ = 0;
};

// Lets the system take back the pages of a part of a mapped file, and those around it: what is
// needed of them comes back from the file.
void give_back_mapped_pages(std::byte* file, size_t file_bytes, size_t at, size_t bytes);

}  // namespace glassformer
