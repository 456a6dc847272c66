#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace glassformer {

// Writes `bytes` to `path`, whole or not at all: to a new file beside it that then takes its name,
// so that a reader finds the old content or the new. Throws FileError where that fails.
void write_file(const std::filesystem::path& path, std::span<const std::byte> bytes);

}  // namespace glassformer
