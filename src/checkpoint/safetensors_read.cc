#include <algorithm>
#include <bit>
#include <cstring>
#include <tuple>

#include "base/check.h"
#include "base/json.h"
#include "checkpoint/safetensors_types.h"
#include "checkpoint/tensor_table.h"
#include "glassformer/checkpoint/safetensors.h"

static_assert(std::endian::native == std::endian::little, "safetensors files are little-endian");

namespace glassformer {
namespace {

// What get() needs of a tensor, beside what is listed.
struct Place {
  size_t begin = 0;  // in the file
  size_t rank = 0;
  std::optional<DType> dtype;
};

struct Entry {
  StoredTensor listed;
  Place place;
};

struct Header {
  std::string_view text;
  size_t data_begin;
};

Header header_of(const Storage& file, const std::string& where) {
  uint64_t length = 0;
  require<FileError>(file.bytes() >= sizeof length,
                     "{}: expected a safetensors file, found {} bytes", where, file.bytes());
  std::memcpy(&length, file.data(), sizeof length);
  require<FileError>(length <= kSafetensorsMaxHeader,
                     "{}: expected a header of at most {} bytes, found {}", where,
                     kSafetensorsMaxHeader, length);
  require<FileError>(length <= file.bytes() - sizeof length,
                     "{}: expected a header of {} bytes, found a file of {}", where, length,
                     file.bytes());
  const std::string_view text(reinterpret_cast<const char*>(file.data()) + sizeof length, length);
  require<FileError>(text.starts_with('{'), "{}: expected a header that begins with '{{'", where);
  return {text, sizeof length + length};
}

std::map<std::string, std::string> read_metadata(const Json& json, const std::string& where) {
  const JsonFields fields(json, where + ": " + std::string(kSafetensorsMetadata));
  std::map<std::string, std::string> metadata;
  for (const auto& [key, value] : json.items()) {
    if (!value.is_string()) fields.fail(key, "a string");
    metadata.emplace(key, value.get<std::string>());
  }
  return metadata;
}

// Offsets as the header gives them, counted from the end of the header.
Entry read_entry(const std::string& name, const Json& json, const std::string& where) {
  const JsonFields fields(json, fmt::format("{}: tensor '{}'", where, name));
  const std::string type = fields.text("dtype");
  const std::vector<int64_t> shape = fields.integers("shape");
  const std::vector<int64_t> offsets = fields.integers("data_offsets");
  if (offsets.size() != 2 || offsets[0] < 0 || offsets[0] > offsets[1])
    fields.fail("data_offsets", "a beginning and an end");
  const auto known = std::find_if(kSafetensorsTypes.begin(), kSafetensorsTypes.end(),
                                  [&](const SafetensorsType& t) { return t.name == type; });
  const bool is_known = known != kSafetensorsTypes.end();
  const int64_t bytes = offsets[1] - offsets[0];
  // A type that is not known to us may have any width, but its sizes must be sizes.
  const std::optional<int64_t> expected = bytes_of(shape, is_known ? known->bits : 8);
  require<FileError>(expected && (!is_known || *expected == bytes),
                     "{}: shape {} of {} does not take the {} bytes it has", fields.where(),
                     fields.at("shape").dump(), type, bytes);
  return {{name, type, listed_shape(shape), bytes},
          {static_cast<size_t>(offsets[0]), shape.size(),
           is_known ? known->dtype : std::optional<DType>()}};
}

// Sorts by place, makes the places those in the file, and holds them to fill it.
void place(std::vector<Entry>& entries, size_t data_begin, size_t file_bytes,
           const std::string& where) {
  const auto key = [](const Entry& entry) {
    return std::tie(entry.place.begin, entry.listed.bytes, entry.listed.name);
  };
  std::sort(entries.begin(), entries.end(),
            [&](const Entry& a, const Entry& b) { return key(a) < key(b); });
  size_t filled = 0;
  for (Entry& entry : entries) {
    require<FileError>(entry.place.begin == filled,
                       "{}: tensor '{}' begins at {} where {} was expected: tensors must not "
                       "overlap or leave gaps",
                       where, entry.listed.name, entry.place.begin, filled);
    filled += static_cast<size_t>(entry.listed.bytes);
    require<FileError>(filled <= file_bytes - data_begin,
                       "{}: tensor '{}' ends at {}, after the end of the data at {}", where,
                       entry.listed.name, filled, file_bytes - data_begin);
    entry.place.begin += data_begin;
  }
  require<FileError>(filled == file_bytes - data_begin, "{}: expected {} bytes of data, found {}",
                     where, filled, file_bytes - data_begin);
}

}  // namespace

struct SafetensorsFile::Content {
  std::string where;
  std::shared_ptr<Storage> file;
  TensorTable table;
  std::vector<Place> places;  // of table.tensors()
  std::map<std::string, std::string> metadata;
};

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path)
    : SafetensorsFile(Storage::map_file(path), path.string()) {}

SafetensorsFile::SafetensorsFile(std::shared_ptr<Storage> file, std::string where) {
  const Header header = header_of(*file, where);
  const Json json = parse_json(header.text, where);
  std::map<std::string, std::string> metadata;
  std::vector<Entry> entries;
  entries.reserve(json.size());
  for (const auto& [name, value] : json.items()) {
    if (name == kSafetensorsMetadata) {
      metadata = read_metadata(value, where);
    } else {
      entries.push_back(read_entry(name, value, where));
    }
  }
  place(entries, header.data_begin, file->bytes(), where);

  std::vector<StoredTensor> listed;
  std::vector<Place> places;
  listed.reserve(entries.size());
  places.reserve(entries.size());
  for (Entry& entry : entries) {
    listed.push_back(std::move(entry.listed));
    places.push_back(entry.place);
  }
  TensorTable table(std::move(listed), where);
  content_ = std::make_unique<Content>(Content{std::move(where), std::move(file), std::move(table),
                                               std::move(places), std::move(metadata)});
}

SafetensorsFile::~SafetensorsFile() = default;
SafetensorsFile::SafetensorsFile(SafetensorsFile&&) noexcept = default;
SafetensorsFile& SafetensorsFile::operator=(SafetensorsFile&&) noexcept = default;

const std::vector<StoredTensor>& SafetensorsFile::tensors() const {
  return content_->table.tensors();
}
const StoredTensor* SafetensorsFile::find(std::string_view name) const {
  return content_->table.find(name);
}
const std::string& SafetensorsFile::where() const { return content_->where; }
const std::map<std::string, std::string>& SafetensorsFile::metadata() const {
  return content_->metadata;
}

Tensor SafetensorsFile::get(std::string_view name) const {
  const size_t at = content_->table.at(name, where());
  const StoredTensor& tensor = tensors()[at];
  const Place& place = content_->places[at];
  const std::string what = fmt::format("{}: tensor '{}'", where(), name);
  require<FileError>(place.dtype.has_value(),
                     "{} has the type {}; F64, F32, F16, BF16, I64, I32, I8 and BOOL are read",
                     what, tensor.type);
  require<FileError>(place.rank <= kMaxRank, "{} has {} axes; at most {} are read", what,
                     place.rank, kMaxRank);
  return tensor_at(content_->file, place.begin, static_cast<size_t>(tensor.bytes), tensor.shape,
                   *place.dtype, what);
}

}  // namespace glassformer
