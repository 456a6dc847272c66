// Each malformed GGUF file gives one FileError that names the file and the fault.

#include <gtest/gtest.h>

#include "corrupt/corrupt_case.h"
#include "glassformer/checkpoint/gguf.h"

namespace glassformer::testing {
namespace {

// Bytes of a GGUF file, put down one after the other.
class Bytes {
 public:
  template <class T>
  Bytes& number(T value) {
    content_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  Bytes& text(const std::string& text) {
    number<uint64_t>(text.size());
    content_ += text;
    return *this;
  }
  Bytes& header(uint64_t tensors, uint64_t keys, uint32_t version = 3) {
    content_ += "GGUF";
    return number(version).number(tensors).number(keys);
  }
  Bytes& tensor(const std::string& name, const std::vector<uint64_t>& sizes, uint32_t type,
                uint64_t begin) {
    text(name).number(static_cast<uint32_t>(sizes.size()));
    for (const uint64_t size : sizes) number(size);
    return number(type).number(begin);
  }
  // Up to the next multiple of 32, and `bytes` more.
  std::string data(size_t bytes) {
    content_.resize((content_.size() + 31) / 32 * 32 + bytes);
    return content_;
  }
  operator std::string() const { return content_; }  // NOLINT(google-explicit-constructor)

 private:
  std::string content_;
};

class CorruptGguf : public ::testing::TestWithParam<CorruptCase> {};

TEST_P(CorruptGguf, IsRefusedWithItsFault) { expect_refused<GgufFile>(GetParam()); }

std::vector<CorruptCase> cases() {
  constexpr uint64_t kHuge = UINT64_MAX;
  constexpr uint32_t kF32 = 0, kQ4K = 12, kUint32 = 4, kString = 8, kArray = 9;
  const auto key = [](const char* name) { return Bytes().header(0, 1).text(name); };
  const auto one = [](const std::vector<uint64_t>& sizes, uint32_t type, uint64_t begin) {
    return Bytes().header(1, 0).tensor("x", sizes, type, begin);
  };
  return {
      {"found the end of the file at 0", ""},
      {"expected a GGUF file", "GGML....................."},
      {"expected GGUF version 2 or 3, found 1", Bytes().header(0, 0, 1)},
      {"expected GGUF version 2 or 3, found 4", Bytes().header(0, 0, 4)},
      {"expected a little-endian file", Bytes().header(0, 0, 0x03000000)},
      {"found the end of the file", Bytes().header(0, kHuge)},
      {"found the end of the file", Bytes().header(kHuge, 0)},
      {"found the end of the file", Bytes().header(0, 1).number(kHuge)},
      {"found the end of the file", key("k").number(kString).number(kHuge)},
      {"expected 18446744073709551615 times 4 bytes",
       key("k").number(kArray).number(kUint32).number(kHuge)},
      {"found the end of the file", key("k").number(kArray).number(kString).number(kHuge)},
      {"key 'k' has a value of the unknown type 13", key("k").number<uint32_t>(13)},
      {"key 'k' has a value of the unknown type array of 9",
       key("k").number(kArray).number(kArray).number<uint64_t>(0)},
      {"the key 'k' is there twice", Bytes()
                                         .header(0, 2)
                                         .text("k")
                                         .number(kUint32)
                                         .number<uint32_t>(0)
                                         .text("k")
                                         .number(kUint32)
                                         .number<uint32_t>(0)},
      {"'general.alignment' must be a power of two, found 0",
       key("general.alignment").number(kUint32).number<uint32_t>(0)},
      {"'general.alignment' must be a power of two, found 24",
       key("general.alignment").number(kUint32).number<uint32_t>(24)},
      {"'general.alignment' must be a whole number",
       key("general.alignment").number(kString).text("32")},
      {"tensor 'x' has 9 axes", one({1, 1, 1, 1, 1, 1, 1, 1, 1}, kF32, 0).data(4)},
      {"tensor 'x' has 4294967295 axes",
       Bytes().header(1, 0).text("x").number<uint32_t>(UINT32_MAX)},
      {"expected sizes that make whole blocks of F32, found [-1]", one({kHuge}, kF32, 0).data(4)},
      {"expected sizes that make whole blocks of F32",
       one({uint64_t{1} << 32, uint64_t{1} << 32}, kF32, 0).data(4)},
      {"expected sizes that make whole blocks of Q4_K, found [2, 100]",
       one({100, 2}, kQ4K, 0).data(144)},
      {"tensor 'x' of 16 bytes at 0 leaves the data of 12", one({4}, kF32, 0).data(12)},
      {"tensor 'x' of 16 bytes at 18446744073709551584 leaves the data",
       one({4}, kF32, kHuge - 31).data(16)},
      {"tensor 'x' of 16 bytes at 0 leaves the data of 0", one({4}, kF32, 0)},
      {"tensor 'x' begins at 4, no multiple of 32", one({4}, kF32, 4).data(64)},
      {"tensor 'y' at 0 overlaps the one that ends at 8",
       Bytes().header(2, 0).tensor("x", {2}, kF32, 0).tensor("y", {4}, kF32, 0).data(64)},
      {"the tensor 'x' is there twice",
       Bytes().header(2, 0).tensor("x", {2}, kF32, 0).tensor("x", {4}, kF32, 32).data(64)},
      {"tensor 'x' has the type 99, which is not known", one({4}, 99, 0).data(64)},
      {"tensor 'x' has the type Q5_K", one({256}, 13, 0).data(176)},
  };
}

INSTANTIATE_TEST_SUITE_P(Corrupt, CorruptGguf, ::testing::ValuesIn(cases()));

}  // namespace
}  // namespace glassformer::testing
