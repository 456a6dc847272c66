#pragma once

#include <filesystem>
#include <string>

#include <zlib.h>

namespace glassformer::testing {

inline void write_gzip(const std::filesystem::path& path, const std::string& content) {
  gzFile file = gzopen(path.c_str(), "wb");
  gzwrite(file, content.data(), static_cast<unsigned>(content.size()));
  gzclose(file);
}

}  // namespace glassformer::testing
