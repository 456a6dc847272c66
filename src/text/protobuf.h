#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "base/check.h"

namespace glassformer {

// Reads the fields of a protocol buffer message, one after the other.
class ProtobufReader {
 public:
  // `where` names the file in messages.
  ProtobufReader(std::string_view message, const std::string& where)
      : message_(message), where_(where) {}

  // Moves to the next field; false at the end. Throws FileError for what is no message.
  bool next() {
    if (at_ >= message_.size()) return false;
    const uint64_t key = varint();
    field_ = key >> 3;
    switch (key & 7) {
      case 0: number_ = varint(); break;
      case 1: bytes_ = take(8); break;
      case 2: bytes_ = take(varint()); break;
      case 5: bytes_ = take(4); break;
      default: fail();
    }
    return true;
  }
  uint64_t field() const { return field_; }
  uint64_t number() const { return number_; }
  std::string_view bytes() const { return bytes_; }
  float real() const {
    float value = 0;
    if (bytes_.size() == sizeof(value)) std::memcpy(&value, bytes_.data(), sizeof(value));
    return value;
  }

 private:
  [[noreturn]] void fail() const {
    throw FileError(
        fmt::format("{}: not a SentencePiece model (bad data at byte {})", where_, at_));
  }
  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (at_ >= message_.size()) fail();
      const auto byte = static_cast<unsigned char>(message_[at_++]);
      value |= uint64_t{byte & 0x7FU} << shift;
      if (byte < 0x80) return value;
    }
    fail();
  }
  std::string_view take(uint64_t size) {
    if (size > message_.size() - at_) fail();
    at_ += size;
    return message_.substr(at_ - size, size);
  }

  std::string_view message_;
  const std::string& where_;
  size_t at_ = 0;
  uint64_t field_ = 0;
  uint64_t number_ = 0;
  std::string_view bytes_;
};

}  // namespace glassformer
