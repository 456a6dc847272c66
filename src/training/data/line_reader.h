#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "training/data/byte_source.h"

namespace glassformer {

// The lines of a text file. What is no UTF-8 becomes U+FFFD; a mark of byte order at the front is
// dropped.
class LineReader {
 public:
  // `name` is how messages call it.
  LineReader(ByteSource source, std::string name);
  explicit LineReader(const std::filesystem::path& path)
      : LineReader(open_bytes(path), path.string()) {}

  // The next line without what ends it: "\n" and, unless it is kept, one "\r" before. False at the
  // end. Throws FileError for a line over 256 MiB.
  bool next(std::string& line, bool keep_return = false);
  const std::string& name() const { return name_; }
  int64_t number() const { return number_; }  // of the last line, from 1
  std::string where() const;                  // "name:number"

 private:
  bool fill();

  ByteSource source_;
  std::string name_;
  std::string buffer_;
  std::string_view rest_;  // of the buffer
  int64_t number_ = 0;
};

}  // namespace glassformer
