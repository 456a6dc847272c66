#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace glassformer {

inline uint64_t mix(uint64_t a, uint64_t b) {
  const auto product = static_cast<unsigned __int128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

// Of short strings, fast. Not kept in files, and the same on one machine only.
inline uint64_t hash_text(std::string_view text) {
  constexpr uint64_t kOne = 0x9E3779B97F4A7C15;
  constexpr uint64_t kTwo = 0xD6E8FEB86659FD93;
  uint64_t hash = text.size() * kOne;
  const char* at = text.data();
  size_t left = text.size();
  for (; left > 8; at += 8, left -= 8) {
    uint64_t word;
    std::memcpy(&word, at, 8);
    hash = mix(hash ^ word, kOne);
  }
  uint64_t word = 0;
  if (left > 0) std::memcpy(&word, at, left);
  return mix(hash ^ word, kTwo);
}

}  // namespace glassformer
