#include "base/mapped_file.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/check.h"

namespace glassformer {
namespace {

// Closes the descriptor on every way out; a mapping does not need it any more.
struct Descriptor {
  int value;
  ~Descriptor() {
    if (value >= 0) close(value);
  }
};

}  // namespace

MappedFile::MappedFile(const std::filesystem::path& path) {
  // O_NONBLOCK: a pipe in the place of a file is refused below instead of waited for.
  const Descriptor file{open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  require<FileError>(file.value >= 0, "{}: expected a file that can be read, found: {}",
                     path.string(), std::strerror(errno));
  struct stat status {};
  require<FileError>(fstat(file.value, &status) == 0 && S_ISREG(status.st_mode),
                     "{}: expected a regular file, found something else", path.string());
  bytes_ = static_cast<size_t>(status.st_size);
  if (bytes_ == 0) return;  // an empty mapping is not allowed, and not needed
  void* mapped = mmap(nullptr, bytes_, PROT_READ, MAP_PRIVATE, file.value, 0);
  require<FileError>(mapped != MAP_FAILED, "{}: expected a file that can be mapped, found: {}",
                     path.string(), std::strerror(errno));
  data_ = static_cast<std::byte*>(mapped);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) munmap(data_, bytes_);
}

void give_back_mapped_pages(std::byte* file, size_t file_bytes, size_t at, size_t bytes) {
  // The system maps large parts of a file at once: reading a neighbour's first page may have
  // brought back the end of what was given back before.
  constexpr size_t kLargest = size_t{2} << 20;
  const size_t begin = at < kLargest ? 0 : (at - kLargest) / kLargest * kLargest;
  const size_t end = std::min(file_bytes, at + bytes + kLargest);
  // A hint: where it is not taken the pages merely stay.
  if (begin < end) madvise(file + begin, end - begin, MADV_DONTNEED);
}

}  // namespace glassformer
