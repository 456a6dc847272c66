#include <cstdio>

#include <jpeglib.h>

#include "base/check.h"
#include "image/codec.h"

namespace glassformer {
namespace {

// A block of 64 pixels takes a bit or more under Huffman codes; arithmetic codes have no such
// bound, and are given what a plain picture could reach.
constexpr int64_t kPixelsPerByte = 512;
constexpr int64_t kArithmeticPixelsPerByte = 32768;
// A progressive file holds some ten scans. Hostile ones repeat a scan that costs a few bytes.
constexpr int kMaxScans = 100;
// The coefficients of the largest progressive image, and some.
constexpr long kMaxMemory = 1200L << 20;

class JpegReader {
 public:
  JpegReader(std::span<const std::byte> file, std::string_view name) : file_(file), name_(name) {}
  ~JpegReader() { jpeg_destroy_decompress(&codec_); }
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;

  Image read() {
    check(succeeds(error_, [this] { read_header(); }));
    Image image = promised_image(name_, codec_.image_width, codec_.image_height, file_.size(),
                                 codec_.arith_code ? kArithmeticPixelsPerByte : kPixelsPerByte);
    if (codec_.num_components == 4) cmyk_row_.resize(codec_.image_width * size_t{4});
    check(succeeds(error_, [this, &image] { read_rows(image); }));
    return image;
  }

 private:
  void check(bool succeeded) const {
    require<FileError>(succeeded, "{}: expected a sound JPEG image, found: {}", name_,
                       error_.text.data());
  }

  void read_header() {
    codec_.err = jpeg_std_error(&handlers_);
    codec_.client_data = this;
    handlers_.error_exit = on_error;
    handlers_.emit_message = on_warning;
    jpeg_create_decompress(&codec_);
    codec_.mem->max_memory_to_use = kMaxMemory;
    progress_.progress_monitor = limit_scans;
    codec_.progress = &progress_;
    jpeg_mem_src(&codec_, reinterpret_cast<const unsigned char*>(file_.data()), file_.size());
    codec_.src->fill_input_buffer = ends_early;
    jpeg_read_header(&codec_, TRUE);
    switch (codec_.num_components) {
      case 1:
      case 3: codec_.out_color_space = JCS_RGB; break;
      case 4: codec_.out_color_space = JCS_CMYK; break;
      default: error_.jump("neither 1, 3 nor 4 colour components");
    }
  }

  void read_rows(Image& image) {
    jpeg_start_decompress(&codec_);
    while (codec_.output_scanline < codec_.output_height) {
      uint8_t* rgb = image.row(codec_.output_scanline);
      JSAMPROW row = cmyk_row_.empty() ? rgb : cmyk_row_.data();
      jpeg_read_scanlines(&codec_, &row, 1);
      if (!cmyk_row_.empty()) cmyk_to_rgb(rgb);
    }
    jpeg_finish_decompress(&codec_);
  }

  // Inverted, as Adobe stores it and as Pillow takes for granted: 255 is no ink.
  void cmyk_to_rgb(uint8_t* rgb) const {
    for (size_t i = 0; i < cmyk_row_.size(); i += 4) {
      const int key = cmyk_row_[i + 3];
      for (size_t c = 0; c < 3; ++c) {
        const int product = (255 - cmyk_row_[i + c]) * key + 128;
        *rgb++ = static_cast<uint8_t>(key - ((product + (product >> 8)) >> 8));  // product / 255
      }
    }
  }

  static JpegReader& self(j_common_ptr codec) {
    return *static_cast<JpegReader*>(codec->client_data);
  }
  static void on_error(j_common_ptr codec) {
    std::array<char, JMSG_LENGTH_MAX> message;
    codec->err->format_message(codec, message.data());
    self(codec).error_.jump(message.data());
  }
  static void on_warning(j_common_ptr, int) {}
  static boolean ends_early(j_decompress_ptr codec) {
    static_cast<JpegReader*>(codec->client_data)->error_.jump("the file ends too early");
  }
  static void limit_scans(j_common_ptr codec) {
    JpegReader& reader = self(codec);
    if (reader.codec_.input_scan_number > kMaxScans) reader.error_.jump("more than 100 scans");
  }

  std::span<const std::byte> file_;
  std::string_view name_;
  CodecError error_;
  jpeg_decompress_struct codec_{};
  jpeg_error_mgr handlers_{};
  jpeg_progress_mgr progress_{};
  std::vector<uint8_t> cmyk_row_;
};

}  // namespace

Image decode_jpeg(std::span<const std::byte> file, std::string_view name) {
  return JpegReader(file, name).read();
}

}  // namespace glassformer
