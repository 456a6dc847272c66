#include "training/event_file.h"

#include <array>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <unistd.h>

#include "base/check.h"

namespace glassformer {
namespace {

constexpr std::array<uint32_t, 256> make_table() {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ (value & 1 ? 0x82F63B78u : 0);
    table[i] = value;
  }
  return table;
}

// The checksum of a record, turned so that a checksum of checksums is no trivial number.
uint32_t masked(std::string_view bytes) { return std::rotr(crc32c(bytes), 15) + 0xA282EAD8u; }

template <class T>
void append(std::string& out, T value) {
  for (size_t i = 0; i < sizeof(T); ++i) out.push_back(static_cast<char>(value >> (8 * i)));
}

// The parts of protocol buffers that an Event needs.
void append_varint(std::string& out, uint64_t value) {
  for (; value >= 128; value >>= 7) out.push_back(static_cast<char>(value | 128));
  out.push_back(static_cast<char>(value));
}
void append_bytes(std::string& out, char tag, std::string_view bytes) {
  out.push_back(tag);
  append_varint(out, bytes.size());
  out += bytes;
}
void append_time(std::string& out) {
  const double now =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  out.push_back(0x09);  // Event.wall_time
  append(out, std::bit_cast<uint64_t>(now));
}

constexpr const char* kPrefix = "events.out.tfevents.";

std::string file_name() {
  char host[256] = "host";
  gethostname(host, sizeof host - 1);
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return fmt::format("{}{}.{}.{}", kPrefix,
                     std::chrono::duration_cast<std::chrono::seconds>(now).count(), host, getpid());
}

}  // namespace

void remove_event_files(const std::filesystem::path& folder) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error))
    if (entry.path().filename().string().starts_with(kPrefix))
      std::filesystem::remove(entry.path(), error);
}

uint32_t crc32c(std::string_view bytes) {
  static constexpr std::array<uint32_t, 256> kTable = make_table();
  uint32_t value = 0xFFFFFFFFu;
  for (const char c : bytes)
    value = kTable[(value ^ static_cast<unsigned char>(c)) & 0xFF] ^ (value >> 8);
  return ~value;
}

EventFile::EventFile(const std::filesystem::path& folder)
    : path_(folder / file_name()), out_(path_, std::ios::binary) {
  std::string event;
  append_time(event);
  append_bytes(event, 0x1A, "brain.Event:2");  // Event.file_version
  write(event);
}

void EventFile::add(std::string_view tag, int64_t step, double value) {
  std::string scalar;
  append_bytes(scalar, 0x0A, tag);  // Summary.Value.tag
  scalar.push_back(0x15);           // Summary.Value.simple_value
  append(scalar, std::bit_cast<uint32_t>(static_cast<float>(value)));
  std::string summary;
  append_bytes(summary, 0x0A, scalar);  // Summary.value
  std::string event;
  append_time(event);
  event.push_back(0x10);  // Event.step
  append_varint(event, static_cast<uint64_t>(step));
  append_bytes(event, 0x2A, summary);  // Event.summary
  write(event);
}

void EventFile::write(std::string_view event) {
  std::string record;
  append(record, static_cast<uint64_t>(event.size()));
  append(record, masked(record));
  record += event;
  append(record, masked(event));
  out_.write(record.data(), static_cast<std::streamsize>(record.size()));
  check();
}

void EventFile::flush() {
  out_.flush();
  check();
}

void EventFile::check() const {
  require<FileError>(out_.good(), "{}: cannot be written: {}", path_.string(),
                     std::strerror(errno));
}

}  // namespace glassformer
