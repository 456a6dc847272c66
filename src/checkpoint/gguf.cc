#include "glassformer/checkpoint/gguf.h"

#include <algorithm>
#include <bit>

#include "base/check.h"
#include "base/parallel.h"
#include "checkpoint/gguf_metadata.h"
#include "checkpoint/gguf_reader.h"
#include "checkpoint/gguf_types.h"
#include "checkpoint/tensor_table.h"
#include "tensor/quantised_row.h"

namespace glassformer {
namespace {

constexpr uint32_t kMagic = 0x46554747;  // "GGUF"
constexpr uint32_t kDefaultAlignment = 32;

// What get() needs of a tensor, beside what is listed.
struct Place {
  uint64_t begin = 0;  // in the file
  const GgufType* type = nullptr;
};

struct Tensors {
  std::vector<StoredTensor> listed;
  std::vector<Place> places;
};

// Reads up to the tables and says how many keys and tensors there are.
struct Counts {
  uint64_t tensors, keys;
};
Counts read_counts(GgufReader& reader, const std::string& where) {
  require<FileError>(reader.number<uint32_t>() == kMagic, "{}: expected a GGUF file", where);
  const auto version = reader.number<uint32_t>();
  require<FileError>((version & 0xFFFFU) != 0, "{}: expected a little-endian file, found another",
                     where);
  require<FileError>(version == 2 || version == 3, "{}: expected GGUF version 2 or 3, found {}",
                     where, version);
  const auto tensors = reader.number<uint64_t>();
  return {tensors, reader.number<uint64_t>()};
}

uint64_t alignment_of(const GgufMetadata& metadata, const std::string& where) {
  constexpr const char* kKey = "general.alignment";
  if (!metadata.has(kKey)) return kDefaultAlignment;
  const auto alignment = metadata.value<int64_t>(kKey);
  require<FileError>(alignment > 0 && alignment <= (1 << 30) &&
                         std::has_single_bit(static_cast<uint64_t>(alignment)),
                     "{}: key '{}' must be a power of two, found {}", where, kKey, alignment);
  return static_cast<uint64_t>(alignment);
}

// One line of the tensor table; its place is counted from the beginning of the data.
void read_tensor(GgufReader& reader, uint64_t alignment, const std::string& where, Tensors& out) {
  const std::string name(reader.text());
  const std::string what = fmt::format("{}: tensor '{}'", where, name);
  const auto rank = reader.number<uint32_t>();
  require<FileError>(rank <= kMaxRank, "{} has {} axes; at most {} are read", what, rank, kMaxRank);
  std::vector<int64_t> shape(rank);
  // The file's first axis is the one whose elements lie together: our last.
  for (uint32_t i = 0; i < rank; ++i) shape[rank - 1 - i] = reader.number<int64_t>();
  const auto id = reader.number<uint32_t>();
  const auto begin = reader.number<uint64_t>();
  const GgufType* type = find_gguf_type(id);

  const std::optional<int64_t> count = bytes_of(shape, 8);
  const int64_t row = rank == 0 ? 1 : shape.back();
  require<FileError>(count && (type == nullptr || row % type->count == 0),
                     "{}: expected sizes that make whole blocks of {}, found [{}]", what,
                     type ? type->name : "elements", fmt::join(shape, ", "));
  require<FileError>(begin % alignment == 0, "{} begins at {}, no multiple of {}", what, begin,
                     alignment);
  const int64_t bytes = type ? *count / type->count * type->bytes : 0;  // 0 where it is not known
  out.listed.push_back(
      {name, type ? std::string(type->name) : fmt::format("type {}", id), Shape(shape), bytes});
  out.places.push_back({begin, type});
}

// Makes places those in the file, and holds the tensors to be in it and apart.
void place(Tensors& tensors, uint64_t data_begin, uint64_t file_bytes, const std::string& where) {
  std::vector<size_t> order(tensors.places.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::make_pair(tensors.places[a].begin, tensors.listed[a].bytes) <
           std::make_pair(tensors.places[b].begin, tensors.listed[b].bytes);
  });
  const uint64_t data_bytes = file_bytes - std::min(data_begin, file_bytes);
  uint64_t end = 0;
  for (const size_t i : order) {
    const StoredTensor& tensor = tensors.listed[i];
    const auto bytes = static_cast<uint64_t>(tensor.bytes);
    uint64_t& begin = tensors.places[i].begin;
    require<FileError>(begin <= data_bytes && bytes <= data_bytes - begin,
                       "{}: tensor '{}' of {} bytes at {} leaves the data of {} bytes", where,
                       tensor.name, bytes, begin, data_bytes);
    require<FileError>(begin >= end, "{}: tensor '{}' at {} overlaps the one that ends at {}",
                       where, tensor.name, begin, end);
    end = begin + bytes;
    begin += data_begin;
  }
}

}  // namespace

struct GgufFile::Content {
  std::string where;
  std::shared_ptr<Storage> file;
  GgufMetadata metadata;
  TensorTable table;
  std::vector<Place> places;  // of table.tensors()
};

GgufFile::GgufFile(const std::filesystem::path& path)
    : GgufFile(Storage::map_file(path), path.string()) {}

GgufFile::GgufFile(std::shared_ptr<Storage> file, std::string where) {
  GgufReader reader({file->data(), file->bytes()}, where);
  const Counts counts = read_counts(reader, where);
  GgufMetadata metadata(reader, counts.keys, where);
  const uint64_t alignment = alignment_of(metadata, where);
  Tensors tensors;
  for (uint64_t i = 0; i < counts.tensors; ++i) read_tensor(reader, alignment, where, tensors);
  const uint64_t data_begin = (reader.position() + alignment - 1) / alignment * alignment;
  place(tensors, data_begin, file->bytes(), where);
  TensorTable table(std::move(tensors.listed), where);
  content_ =
      std::make_unique<Content>(Content{std::move(where), std::move(file), std::move(metadata),
                                        std::move(table), std::move(tensors.places)});
}

GgufFile::~GgufFile() = default;
GgufFile::GgufFile(GgufFile&&) noexcept = default;
GgufFile& GgufFile::operator=(GgufFile&&) noexcept = default;

const std::vector<StoredTensor>& GgufFile::tensors() const { return content_->table.tensors(); }
const StoredTensor* GgufFile::find(std::string_view name) const {
  return content_->table.find(name);
}
const std::string& GgufFile::where() const { return content_->where; }

GgufBlocks GgufFile::blocks(std::string_view name) const {
  const size_t at = content_->table.at(name, where());
  const StoredTensor& tensor = tensors()[at];
  const Place& place = content_->places[at];
  require<FileError>(place.type != nullptr, "{}: tensor '{}' has the {}, which is not known",
                     where(), name, tensor.type);
  return {place.type->name,
          tensor.shape,
          place.type->count,
          place.type->bytes,
          {content_->file->data() + place.begin, static_cast<size_t>(tensor.bytes)}};
}

Tensor GgufFile::get(std::string_view name) const {
  const GgufBlocks stored = blocks(name);
  const GgufType& type = *content_->places[content_->table.at(name, where())].type;
  const std::string what = fmt::format("{}: tensor '{}'", where(), name);
  if (type.dtype)
    return tensor_at(content_->file,
                     static_cast<size_t>(stored.bytes.data() - content_->file->data()),
                     stored.bytes.size(), stored.shape, *type.dtype, what);
  require<FileError>(
      type.scheme.has_value(),
      "{} has the type {}; of the quantised types Q8_0, Q4_0, Q4_K and Q6_K are read", what,
      type.name);
  Tensor expanded = empty(stored.shape);
  if (expanded.count() == 0) return expanded;
  const QuantisedTensor rows = *quantised(name);
  float* out = expanded.mutable_data<float>();
  const int64_t grain = 8192 / rows.columns + 1;  // rows that are worth a thread
  parallel_ranges(rows.rows, grain, [&](int64_t begin, int64_t end) {
    QuantisedRow scratch;
    for (int64_t i = begin; i < end; ++i) expand_row(rows, i, scratch, out + i * rows.columns);
  });
  return expanded;
}

std::optional<QuantisedTensor> GgufFile::quantised(std::string_view name) const {
  const Place& place = content_->places[content_->table.at(name, where())];
  if (place.type == nullptr || !place.type->scheme) return std::nullopt;
  const GgufBlocks stored = blocks(name);
  QuantisedTensor x;
  x.scheme = *place.type->scheme;
  x.columns = stored.shape.rank() == 0 ? 1 : stored.shape[stored.shape.rank() - 1];
  if (count_of(stored.shape) == 0) return std::nullopt;
  const int64_t bytes = row_bytes(x.scheme, x.columns);
  x.rows = count_of(stored.shape) / x.columns;
  x.codes = tensor_at(content_->file, place.begin, stored.bytes.size(), {x.rows, bytes},
                      DType::kInt8, where());
  return x;
}

std::vector<std::string> GgufFile::keys() const { return content_->metadata.keys(); }
bool GgufFile::has(std::string_view key) const { return content_->metadata.has(key); }
int64_t GgufFile::integer(std::string_view key) const {
  return content_->metadata.value<int64_t>(key);
}
double GgufFile::number(std::string_view key) const {
  return content_->metadata.value<double>(key);
}
bool GgufFile::boolean(std::string_view key) const { return content_->metadata.value<bool>(key); }
std::string GgufFile::text(std::string_view key) const {
  return content_->metadata.value<std::string>(key);
}
std::vector<int64_t> GgufFile::integers(std::string_view key) const {
  return content_->metadata.list<int64_t>(key);
}
std::vector<double> GgufFile::numbers(std::string_view key) const {
  return content_->metadata.list<double>(key);
}
std::vector<bool> GgufFile::booleans(std::string_view key) const {
  return content_->metadata.list<bool>(key);
}
std::vector<std::string> GgufFile::texts(std::string_view key) const {
  return content_->metadata.list<std::string>(key);
}

int64_t GgufFile::integer(std::string_view key, int64_t otherwise) const {
  return has(key) ? integer(key) : otherwise;
}
double GgufFile::number(std::string_view key, double otherwise) const {
  return has(key) ? number(key) : otherwise;
}
bool GgufFile::boolean(std::string_view key, bool otherwise) const {
  return has(key) ? boolean(key) : otherwise;
}
std::string GgufFile::text(std::string_view key, std::string_view otherwise) const {
  return has(key) ? text(key) : std::string(otherwise);
}

}  // namespace glassformer
