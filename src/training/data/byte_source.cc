#include "training/data/byte_source.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include <zlib.h>

#include "base/check.h"

namespace glassformer {

ByteSource open_bytes(const std::filesystem::path& path) {
  // zlib hands on as it is what does not begin like a gzip file.
  const std::shared_ptr<gzFile_s> file(gzopen(path.c_str(), "rb"), [](gzFile opened) {
    if (opened != nullptr) gzclose(opened);
  });
  require<FileError>(file != nullptr, "{}: cannot be opened: {}", path.string(),
                     std::strerror(errno));
  return [file, name = path.string()](std::span<char> buffer) {
    const auto wanted = static_cast<unsigned>(std::min<size_t>(buffer.size(), 1 << 20));
    errno = 0;
    const int count = gzread(file.get(), buffer.data(), wanted);
    int fault = Z_OK;
    const char* text = gzerror(file.get(), &fault);
    require<FileError>(count >= 0 && fault == Z_OK, "{}: cannot be read: {}", name,
                       fault == Z_BUF_ERROR ? "the gzip file is cut off"
                       : fault == Z_ERRNO   ? std::strerror(errno)
                                            : text);
    return static_cast<size_t>(count);
  };
}

ByteSource source_of(std::span<const std::byte> bytes) {
  return [bytes](std::span<char> buffer) mutable {
    const size_t count = std::min(buffer.size(), bytes.size());
    std::ranges::copy(bytes.first(count), std::as_writable_bytes(buffer).begin());
    bytes = bytes.subspan(count);
    return count;
  };
}

}  // namespace glassformer
