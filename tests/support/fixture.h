#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace glassformer::testing {

// One fixture: the tensors and options of one case, read from a safetensors file that a script in
// tools/fixtures wrote. The README beside the fixtures says what each family holds.
//
// Metadata is text, or JSON where it is not plain text. The key `attributes` holds a JSON object,
// the options of the op; an option that is absent has the op's default.
//
// Everything here throws std::runtime_error, naming the file, for a file that is malformed and for
// a name that is not there.
class Fixture {
 public:
  // A relative path is taken from GLASSFORMER_FIXTURES_DIR.
  static Fixture load(const std::filesystem::path& path);

  // The fixtures in a folder whose names begin with `prefix`, sorted. Finding none is an error: a
  // test over an empty list would pass.
  static std::vector<std::filesystem::path> list(const std::filesystem::path& folder,
                                                 std::string_view prefix = "");

  // The name of the case: the file's name without its extension.
  const std::string& name() const { return name_; }

  bool has(const std::string& tensor) const { return tensors_.contains(tensor); }
  std::vector<std::string> tensors() const;

  // "F32", "F64", "I64", "BF16", "U8" or "BOOL".
  const std::string& dtype(const std::string& tensor) const { return find(tensor).dtype; }
  const std::vector<std::int64_t>& shape(const std::string& tensor) const {
    return find(tensor).shape;
  }
  // Row-major, little-endian, and aligned to the element. Valid while this Fixture lives.
  std::span<const std::byte> bytes(const std::string& tensor) const;
  // Every element, whatever its type, widened to double.
  std::vector<double> doubles(const std::string& tensor) const;

  bool has_meta(const std::string& key) const { return metadata_.contains(key); }
  // The text of a metadata value, as it stands in the file.
  const std::string& meta(const std::string& key) const;
  // A metadata value that is JSON, parsed.
  nlohmann::json meta_json(const std::string& key) const;

  bool has_attribute(const std::string& key) const { return attributes_.contains(key); }
  // An option of the op.
  const nlohmann::json& attribute(const std::string& key) const;
  // The same, or `fallback` where the option is absent.
  template <typename T>
  T attribute_or(const std::string& key, T fallback) const {
    return has_attribute(key) ? attribute(key).get<T>() : fallback;
  }

 private:
  struct Entry {
    std::string dtype;
    std::vector<std::int64_t> shape;
    std::size_t begin;
    std::size_t size;
  };

  explicit Fixture(const std::filesystem::path& path);

  // Reads the header, which is the first `header_size` bytes after the length.
  void parse(std::size_t header_size);
  Entry parse_entry(const std::string& tensor, const nlohmann::json& description,
                    std::size_t data_begin) const;
  const Entry& find(const std::string& tensor) const;
  [[noreturn]] void fail(const std::string& what) const;

  std::string path_;
  std::string name_;
  std::vector<std::byte> content_;
  std::map<std::string, Entry> tensors_;
  std::map<std::string, std::string> metadata_;
  nlohmann::json attributes_ = nlohmann::json::object();
};

}  // namespace glassformer::testing
