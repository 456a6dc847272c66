#pragma once

#include <concepts>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "base/check.h"

namespace glassformer {

// Reads a GGUF file from its start on. Never leaves the file: throws FileError where it ends.
class GgufReader {
 public:
  GgufReader(std::span<const std::byte> file, std::string_view where)
      : file_(file), where_(where) {}

  size_t position() const { return at_; }

  template <class T>
  requires std::integral<T> || std::floating_point<T> T number() {
    T value;
    std::memcpy(&value, take(sizeof value, 1).data(), sizeof value);
    return value;
  }

  std::string_view text() {
    const std::span<const std::byte> bytes = take(number<uint64_t>(), 1);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  // `count` times `size` bytes.
  std::span<const std::byte> take(uint64_t count, uint64_t size) {
    require<FileError>(count <= (file_.size() - at_) / size,
                       "{}: expected {} times {} bytes at {}, found the end of the file at {}",
                       where_, count, size, at_, file_.size());
    const auto bytes = file_.subspan(at_, count * size);
    at_ += bytes.size();
    return bytes;
  }

 private:
  std::span<const std::byte> file_;
  std::string_view where_;
  size_t at_ = 0;
};

}  // namespace glassformer
