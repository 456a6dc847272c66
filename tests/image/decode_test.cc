// PNG and JPEG against Pillow's pixels, and files that are not what they seem.

#include <cstring>

#include <gtest/gtest.h>

#include "glassformer/base/error.h"
#include "image/fixture_image.h"
#include "support/temporary_folder.h"
#include "support/throws.h"

namespace glassformer::testing {
namespace {

std::vector<std::byte> file_of(const Fixture& fixture, const std::string& name) {
  const auto bytes = fixture.bytes(name + ".file");
  return {bytes.begin(), bytes.end()};
}

void expect_decodes(const std::string& family, int tolerance) {
  const Fixture fixture = Fixture::load("image/" + family + ".safetensors");
  int largest = 0;
  for (const std::string name : fixture.meta_json("cases")) {
    SCOPED_TRACE(name);
    const Image image = decode_image(file_of(fixture, name), name);
    const Image expected = fixture_image(fixture, name + ".pixels");
    ASSERT_EQ(image.width, expected.width);
    ASSERT_EQ(image.height, expected.height);
    for (size_t i = 0; i < image.pixels.size(); ++i)
      largest = std::max(largest, std::abs(image.pixels[i] - expected.pixels[i]));
    EXPECT_LE(largest, tolerance);
  }
}

TEST(ImageDecode, PngIsPillows) { expect_decodes("png", 0); }

TEST(ImageDecode, JpegIsPillows) { expect_decodes("jpeg", 0); }

// Every prefix of a file, and every single byte of it changed: an image or a FileError that names
// the file, and nothing else.
TEST(ImageDecode, DamageIsAnErrorOrAnImage) {
  for (const char* family : {"png", "jpeg"}) {
    const Fixture fixture = Fixture::load(std::string("image/") + family + ".safetensors");
    for (const std::string name : fixture.meta_json("cases")) {
      const std::vector<std::byte> file = file_of(fixture, name);
      SCOPED_TRACE(name);
      for (size_t size = 0; size < file.size(); size += 1 + size / 40)
        expect_throws<FileError>(
            [&] {
              decode_image({file.data(), size}, "cut.file");
            },
            "cut.file: expected");
      for (size_t at = 0; at < file.size(); at += 1 + at / 40) {
        std::vector<std::byte> changed = file;
        changed[at] ^= std::byte{0x55};
        try {
          decode_image(changed, "changed.file");
        } catch (const FileError& error) {
          EXPECT_THAT(error.what(), ::testing::HasSubstr("changed.file: expected"));
        }
      }
    }
  }
}

TEST(ImageDecode, BadChecksumIsAnError) {
  const Fixture fixture = Fixture::load("image/png.safetensors");
  std::vector<std::byte> file = file_of(fixture, "2_8");
  file[file.size() - 13] ^= std::byte{1};  // the last byte of the pixels' checksum
  expect_throws<FileError>([&] { decode_image(file, "x.png"); }, {"x.png: ", "CRC"});
}

// Sides are replaced in the header of a sound file; the checksum is made right again.
std::vector<std::byte> with_sides(std::vector<std::byte> file, uint8_t high) {
  constexpr size_t kHeader = 12, kSize = 17;  // the chunk's name and content
  file[kHeader + 4 + 2] = file[kHeader + 8 + 2] = std::byte{high};
  uint32_t sum = 0xFFFFFFFF;
  for (size_t i = kHeader; i < kHeader + kSize; ++i) {
    sum ^= std::to_integer<uint32_t>(file[i]);
    for (int bit = 0; bit < 8; ++bit) sum = sum >> 1 ^ (sum & 1 ? 0xEDB88320 : 0);
  }
  for (size_t i = 0; i < 4; ++i)
    file[kHeader + kSize + i] = std::byte(static_cast<uint8_t>(~sum >> (24 - 8 * i)));
  return file;
}

TEST(ImageDecode, HostileSizesAreRefused) {
  const std::vector<std::byte> file = file_of(Fixture::load("image/png.safetensors"), "0_1");
  expect_throws<FileError>([&] { decode_image(with_sides(file, 0xFF), "x.png"); },
                           {"x.png: expected an image of at most 178956970 pixels, found 65"});
  expect_throws<FileError>([&] { decode_image(with_sides(file, 0x20), "x.png"); },
                           {"x.png: expected an image of 82", "too few"});
}

TEST(ImageDecode, NamesWhatItFound) {
  expect_throws<FileError>([] { decode_image({}, "x.png"); },
                           "x.png: expected a PNG or JPEG image, found an empty file");
  const auto gif = std::as_bytes(std::span("GIF89a"));
  expect_throws<FileError>([&] { decode_image(gif, "x.png"); }, "found other content");
  expect_throws<FileError>([] { read_image("/nowhere/x.png"); }, "/nowhere/x.png: ");
}

TEST(ImageEncode, PngComesBack) {
  const Image image = fixture_image(Fixture::load("image/resize.safetensors"), "source");
  EXPECT_EQ(decode_image(encode_png(image), "rgb").pixels, image.pixels);
  const std::vector<uint8_t> grey{0, 1, 100, 200, 254, 255};
  const Image back = decode_image(encode_png(grey, 3, 2, 1), "grey");
  EXPECT_EQ(back.width, 3);
  for (size_t i = 0; i < back.pixels.size(); ++i) EXPECT_EQ(back.pixels[i], grey[i / 3]);
}

TEST(ImageEncode, WritesWholeFilesOrNone) {
  const Image image = fixture_image(Fixture::load("image/resize.safetensors"), "source");
  const TemporaryFolder folder;
  write_png(folder.path() / "x.png", image);
  EXPECT_EQ(read_image(folder.path() / "x.png").pixels, image.pixels);
  EXPECT_EQ(folder.files(), 1);
  expect_throws<FileError>([&] { write_png(folder.path() / "none/x.png", image); },
                           "none/x.png: expected");
  std::filesystem::create_directory(folder.path() / "taken");
  expect_throws<FileError>([&] { write_png(folder.path() / "taken", image); },
                           "taken: cannot be replaced");
  EXPECT_EQ(folder.files(), 2);
}

TEST(ImageEncode, RefusesSizesThatDoNotFit) {
  const std::vector<uint8_t> pixels(12);
  expect_throws<ValueError>([&] { encode_png(pixels, 2, 2, 2); }, "1 or 3 channels");
  expect_throws<ValueError>([&] { encode_png(pixels, 2, 3, 3); }, "2 x 3 x 3 bytes, found 12");
  expect_throws<ValueError>([&] { encode_png(pixels, -2, -2, 3); }, "positive sides");
  expect_throws<ValueError>([&] { encode_png(Image()); }, "positive sides");
}

}  // namespace
}  // namespace glassformer::testing
