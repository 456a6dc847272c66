#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>

namespace glassformer {

// Reads on: fills the front of `buffer` and says how far; 0 only at the end. Throws FileError.
using ByteSource = std::function<size_t(std::span<char> buffer)>;

// The content of a plain or gzip file, told apart by its first bytes.
ByteSource open_bytes(const std::filesystem::path& path);

// Bytes in memory, which must outlive it.
ByteSource source_of(std::span<const std::byte> bytes);

}  // namespace glassformer
