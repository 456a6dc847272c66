#include "training/data/idx.h"

#include <algorithm>
#include <array>

#include "base/check.h"

namespace glassformer {
namespace {

constexpr int64_t kMaxBytes = int64_t{8} << 30;
constexpr int kBytesType = 8;

// Fills the buffer, or as much of it as there is.
size_t read_whole(const ByteSource& source, std::span<char> buffer) {
  size_t done = 0;
  while (done < buffer.size()) {
    const size_t count = source(buffer.subspan(done));
    if (count == 0) break;
    done += count;
  }
  return done;
}

uint32_t read_big_endian(const ByteSource& source, const std::string& name) {
  std::array<char, 4> bytes{};
  require<FileError>(read_whole(source, bytes) == bytes.size(),
                     "{}: no IDX file: its header is cut off", name);
  uint32_t value = 0;
  for (const char byte : bytes) value = value << 8 | static_cast<uint8_t>(byte);
  return value;
}

}  // namespace

IdxArray read_idx(const ByteSource& source, const std::string& name, int rank) {
  const uint32_t magic = read_big_endian(source, name);
  require<FileError>(magic == (kBytesType << 8 | static_cast<uint32_t>(rank)),
                     "{}: expected an IDX file of bytes of rank {} ({:08x}), found {:08x}", name,
                     rank, kBytesType << 8 | rank, magic);
  IdxArray array;
  int64_t count = 1;
  for (int axis = 0; axis < rank; ++axis) {
    const int64_t size = read_big_endian(source, name);
    require<FileError>(size == 0 || count <= kMaxBytes / size,
                       "{}: expected an IDX file of at most {} bytes, found larger sizes", name,
                       kMaxBytes);
    array.shape.push_back(size);
    count *= size;
  }
  constexpr int64_t kStep = 1 << 20;
  while (static_cast<int64_t>(array.values.size()) < count) {
    const size_t done = array.values.size();
    const auto wanted =
        static_cast<size_t>(std::min<int64_t>(kStep, count - static_cast<int64_t>(done)));
    array.values.resize(done + wanted);
    const size_t found =
        read_whole(source, {reinterpret_cast<char*>(array.values.data()) + done, wanted});
    require<FileError>(found == wanted, "{}: expected {} bytes after the IDX header, found {}",
                       name, count, done + found);
  }
  std::array<char, 1> more{};
  require<FileError>(source(more) == 0, "{}: expected {} bytes after the IDX header, found more",
                     name, count);
  return array;
}

}  // namespace glassformer
