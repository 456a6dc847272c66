// Each malformed safetensors file gives one FileError that names the file and the fault.

#include <gtest/gtest.h>

#include "corrupt/corrupt_case.h"
#include "glassformer/checkpoint/safetensors.h"
#include "support/temporary_folder.h"
#include "support/throws.h"

namespace glassformer::testing {
namespace {

std::string with_length(uint64_t length, const std::string& rest) {
  return std::string(reinterpret_cast<const char*>(&length), sizeof length) + rest;
}

std::string file_of(const std::string& header, size_t data_bytes) {
  return with_length(header.size(), header + std::string(data_bytes, '\0'));
}

std::string entry(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return R"({"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}";
}

class CorruptSafetensors : public ::testing::TestWithParam<CorruptCase> {};

TEST_P(CorruptSafetensors, IsRefusedWithItsFault) { expect_refused<SafetensorsFile>(GetParam()); }

std::vector<CorruptCase> cases() {
  const std::string f32 = entry("F32", "[2]", "[0,8]");
  const auto one = [](const std::string& value, size_t bytes = 8) {
    return file_of(R"({"x":)" + value + "}", bytes);
  };
  return {
      {"expected a safetensors file, found 0 bytes", ""},
      {"expected a safetensors file, found 7 bytes", "1234567"},
      {"expected a header of at most 100000000 bytes, found 18446744073709551615",
       with_length(UINT64_MAX, "{}")},
      {"expected a header of at most 100000000 bytes", with_length(100'000'001, "{}")},
      {"expected a header of 3 bytes, found a file of 10", with_length(3, "{}")},
      {"expected a header that begins with '{'", file_of("", 0)},
      {"expected a header that begins with '{'", file_of(" {}", 0)},
      {"expected a header that begins with '{'", file_of("[]", 0)},
      {"not JSON", file_of("{", 0)},
      {"not JSON", file_of("{}}", 0)},
      {"not JSON", file_of("{\"\xff\":1}", 0)},
      {"the key 'x' is there twice", file_of(R"({"x":)" + f32 + R"(,"x":)" + f32 + "}", 8)},
      {"__metadata__: field 'a' must be a string", file_of(R"({"__metadata__":{"a":1}})", 0)},
      {"__metadata__: expected a JSON object", file_of(R"({"__metadata__":[]})", 0)},
      {"tensor 'x': expected a JSON object", one("7")},
      {"tensor 'x': field 'dtype' is missing", one("{}")},
      {"tensor 'x': field 'dtype' must be a string", one(R"({"dtype":7})")},
      {"tensor 'x': field 'shape' is missing", one(R"({"dtype":"F32"})")},
      {"field 'shape' must be a list of whole numbers", one(entry("F32", "2", "[0,8]"))},
      {"field 'shape' must be a list of whole numbers", one(entry("F32", "[1.5]", "[0,8]"))},
      {"field 'shape' must be a list of whole numbers",
       one(entry("F32", "[18446744073709551615]", "[0,8]"))},
      {"shape [-2] of F32", one(entry("F32", "[-2]", "[0,8]"))},
      {"shape [3] of F32 does not take the 8 bytes it has", one(entry("F32", "[3]", "[0,8]"))},
      {"does not take the 8 bytes", one(entry("F32", "[4611686018427387905,4]", "[0,8]"))},
      {"does not take the 0 bytes", one(entry("F32", "[0,4611686018427387905,4]", "[0,0]"), 0)},
      {"does not take the 1 bytes", one(entry("F4", "[3]", "[0,1]"), 1)},
      {"field 'data_offsets' must be a beginning and an end", one(entry("F32", "[2]", "[0]"))},
      {"field 'data_offsets' must be a beginning and an end", one(entry("F32", "[2]", "[8,0]"))},
      {"field 'data_offsets' must be a beginning and an end", one(entry("F32", "[2]", "[-8,0]"))},
      {"tensor 'x' ends at 8, after the end of the data at 7", one(f32, 7)},
      {"expected 8 bytes of data, found 9", one(f32, 9)},
      {"tensor 'x' begins at 4 where 0 was expected", one(entry("F32", "[2]", "[4,12]"), 12)},
      {"tensor 'y' begins at 4 where 8 was expected",
       file_of(R"({"x":)" + f32 + R"(,"y":)" + entry("F32", "[2]", "[4,12]") + "}", 12)},
      {"tensor 'y' begins at 12 where 8 was expected",
       file_of(R"({"x":)" + f32 + R"(,"y":)" + entry("F32", "[2]", "[12,20]") + "}", 20)},
      {"tensor 'x' begins at 9223372036854775807",
       one(entry("F32", "[0]", "[9223372036854775807,9223372036854775807]"), 0)},
      {"tensor 'x': expected bools of 0 and 1",
       file_of(R"({"x":)" + entry("BOOL", "[1]", "[0,1]") + "}", 0) + "\x02"},
      {"tensor 'x' has the type F7", one(entry("F7", "[2]", "[0,8]"))},
  };
}

INSTANTIATE_TEST_SUITE_P(Corrupt, CorruptSafetensors, ::testing::ValuesIn(cases()));

TEST(CorruptFiles, AreNoFilesAtAll) {
  const TemporaryFolder folder;
  expect_throws<FileError>([&] { SafetensorsFile(folder / "no"); }, {"/no: ", "No such file"});
  expect_throws<FileError>([&] { SafetensorsFile(folder.path()); }, "expected a regular file");
}

}  // namespace
}  // namespace glassformer::testing
