#include "support/fixture.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <fstream>
#include <ios>
#include <stdexcept>

static_assert(std::endian::native == std::endian::little, "fixtures are little-endian");

namespace glassformer::testing {
namespace {

using nlohmann::json;

constexpr std::size_t kLengthSize = 8;

std::size_t element_size(const std::string& dtype) {
  if (dtype == "F64" || dtype == "I64") return 8;
  if (dtype == "F32") return 4;
  if (dtype == "BF16") return 2;
  if (dtype == "BOOL" || dtype == "U8") return 1;
  return 0;
}

std::filesystem::path in_fixtures(const std::filesystem::path& path) {
  return std::filesystem::path(GLASSFORMER_FIXTURES_DIR) / path;  // an absolute path stays itself
}

template <typename T>
T read_as(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

double widen(const std::string& dtype, const std::byte* at) {
  if (dtype == "F64") return read_as<double>(at);
  if (dtype == "F32") return read_as<float>(at);
  if (dtype == "I64") return static_cast<double>(read_as<std::int64_t>(at));
  if (dtype == "BOOL" || dtype == "U8") return std::to_integer<int>(*at);
  // BF16 is the upper half of a float32.
  return std::bit_cast<float>(static_cast<std::uint32_t>(read_as<std::uint16_t>(at)) << 16U);
}

}  // namespace

Fixture Fixture::load(const std::filesystem::path& path) { return Fixture(in_fixtures(path)); }

std::vector<std::filesystem::path> Fixture::list(const std::filesystem::path& folder,
                                                 std::string_view prefix) {
  const std::filesystem::path where = in_fixtures(folder);
  std::vector<std::filesystem::path> found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(where, error)) {
    const std::filesystem::path& path = entry.path();
    if (path.extension() == ".safetensors" && path.filename().string().starts_with(prefix)) {
      found.push_back(path);
    }
  }
  if (error) throw std::runtime_error(where.string() + ": " + error.message());
  if (found.empty()) {
    throw std::runtime_error(where.string() + ": no fixture begins with '" + std::string(prefix) +
                             "'");
  }
  std::sort(found.begin(), found.end());
  return found;
}

Fixture::Fixture(const std::filesystem::path& path)
    : path_(path.string()), name_(path.stem().string()) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) fail("cannot be opened");
  const std::streamoff size = file.tellg();
  if (size < static_cast<std::streamoff>(kLengthSize)) fail("is shorter than a header's length");
  content_.resize(static_cast<std::size_t>(size));
  file.seekg(0);
  if (!file.read(reinterpret_cast<char*>(content_.data()), size)) fail("cannot be read");
  const auto header_size = read_as<std::uint64_t>(content_.data());
  if (header_size > content_.size() - kLengthSize) fail("has a header longer than the file");
  try {
    parse(static_cast<std::size_t>(header_size));
  } catch (const json::exception& error) {
    fail(std::string("has a malformed header: ") + error.what());
  }
}

void Fixture::parse(std::size_t header_size) {
  const char* text = reinterpret_cast<const char*>(content_.data()) + kLengthSize;
  const json header = json::parse(text, text + header_size);
  if (!header.is_object()) fail("has a header that is not an object");
  for (const auto& [key, value] : header.items()) {
    if (key == "__metadata__") {
      metadata_ = value.get<std::map<std::string, std::string>>();
    } else {
      tensors_.emplace(key, parse_entry(key, value, kLengthSize + header_size));
    }
  }
  if (has_meta("attributes")) attributes_ = meta_json("attributes");
  if (!attributes_.is_object()) fail("has attributes that are not an object");
}

Fixture::Entry Fixture::parse_entry(const std::string& tensor, const json& description,
                                    std::size_t data_begin) const {
  Entry entry{description.at("dtype").get<std::string>(),
              description.at("shape").get<std::vector<std::int64_t>>(), 0, 0};
  std::size_t size = element_size(entry.dtype);
  if (size == 0) fail("tensor " + tensor + " has the unknown type " + entry.dtype);
  const std::size_t available = content_.size() - data_begin;
  for (const std::int64_t extent : entry.shape) {
    const auto count = static_cast<std::size_t>(extent);
    // Bounding each product by the file keeps the next one from overflowing.
    if (extent < 0 || (count != 0 && size > available / count)) {
      fail("tensor " + tensor + " has a shape that does not fit the file");
    }
    size *= count;
  }
  const auto offsets = description.at("data_offsets").get<std::vector<std::uint64_t>>();
  if (offsets.size() != 2 || offsets[0] > offsets[1] || offsets[1] > available ||
      offsets[1] - offsets[0] != size) {
    fail("tensor " + tensor + " has offsets that do not fit its shape or the file");
  }
  entry.begin = data_begin + static_cast<std::size_t>(offsets[0]);
  entry.size = size;
  return entry;
}

std::vector<std::string> Fixture::tensors() const {
  std::vector<std::string> names;
  for (const auto& [tensor, entry] : tensors_) names.push_back(tensor);
  return names;
}

std::span<const std::byte> Fixture::bytes(const std::string& tensor) const {
  const Entry& entry = find(tensor);
  return std::span<const std::byte>(content_).subspan(entry.begin, entry.size);
}

std::vector<double> Fixture::doubles(const std::string& tensor) const {
  const std::string& type = dtype(tensor);
  const std::span<const std::byte> data = bytes(tensor);
  const std::size_t step = element_size(type);
  std::vector<double> result(data.size() / step);
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = widen(type, data.data() + i * step);
  return result;
}

const std::string& Fixture::meta(const std::string& key) const {
  const auto found = metadata_.find(key);
  if (found == metadata_.end()) fail("has no metadata " + key);
  return found->second;
}

json Fixture::meta_json(const std::string& key) const {
  try {
    return json::parse(meta(key));
  } catch (const json::exception& error) {
    fail("metadata " + key + " is not JSON: " + error.what());
  }
}

const json& Fixture::attribute(const std::string& key) const {
  const auto found = attributes_.find(key);
  if (found == attributes_.end()) fail("has no attribute " + key);
  return *found;
}

const Fixture::Entry& Fixture::find(const std::string& tensor) const {
  const auto found = tensors_.find(tensor);
  if (found == tensors_.end()) fail("has no tensor " + tensor);
  return found->second;
}

void Fixture::fail(const std::string& what) const { throw std::runtime_error(path_ + " " + what); }

}  // namespace glassformer::testing
