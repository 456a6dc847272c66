#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string_view>

namespace glassformer {

// A TensorBoard event file of scalars, in a folder: records of Event messages, each with the
// checksums that TensorFlow's record format has. Throws FileError where it cannot be written.
class EventFile {
 public:
  explicit EventFile(const std::filesystem::path& folder);
  void add(std::string_view tag, int64_t step, double value);
  void flush();

 private:
  void write(std::string_view event);
  void check() const;

  std::filesystem::path path_;
  std::ofstream out_;
};

// Those of earlier runs, which would be drawn over a new one's. What cannot be removed stays.
void remove_event_files(const std::filesystem::path& folder);

// CRC-32C (Castagnoli), as the record format uses it.
uint32_t crc32c(std::string_view bytes);

}  // namespace glassformer
