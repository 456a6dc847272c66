#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

#include "base/atomic_file.h"
#include "base/check.h"
#include "base/json.h"
#include "checkpoint/safetensors_types.h"
#include "glassformer/checkpoint/safetensors.h"
#include "tensor/convert.h"

static_assert(std::endian::native == std::endian::little, "safetensors files are little-endian");

namespace glassformer {
namespace {

using Named = std::pair<std::string, Tensor>;

constexpr size_t kChunk = size_t{4} << 20;  // what is staged of a tensor on another device
constexpr size_t kAlignment = 8;

// The place of a dtype among the format's types.
size_t type_of(DType dtype) {
  size_t at = 0;
  while (kSafetensorsTypes[at].dtype != dtype) ++at;
  return at;
}

size_t bytes_of(const Tensor& tensor) {
  return static_cast<size_t>(tensor.count()) * size_of(tensor.dtype());
}

std::string quoted(const std::string& text) {
  try {
    return Json(text).dump();
  } catch (const Json::exception&) {
    throw ValueError("write_safetensors: expected names and metadata in UTF-8, found other bytes");
  }
}

std::vector<const Named*> in_file_order(std::span<const Named> tensors) {
  std::vector<const Named*> order;
  order.reserve(tensors.size());
  for (const Named& named : tensors) {
    require<ValueError>(named.second.defined(), "write_safetensors: '{}' is no tensor",
                        named.first);
    require<ValueError>(named.first != kSafetensorsMetadata,
                        "write_safetensors: the name '{}' is reserved", named.first);
    order.push_back(&named);
  }
  const auto key = [](const Named* named) {
    return std::make_pair(~type_of(named->second.dtype()), std::string_view(named->first));
  };
  std::sort(order.begin(), order.end(),
            [&](const Named* a, const Named* b) { return key(a) < key(b); });
  return order;
}

std::string header_of(const std::vector<const Named*>& order,
                      const std::map<std::string, std::string>& metadata) {
  std::string header = "{";
  if (!metadata.empty()) {
    header += quoted(std::string(kSafetensorsMetadata)) + ":{";
    for (const auto& [key, value] : metadata) {
      if (header.back() != '{') header += ',';
      header += quoted(key) + ':' + quoted(value);
    }
    header += '}';
  }
  size_t begin = 0;
  for (const Named* named : order) {
    const Tensor& tensor = named->second;
    const size_t end = begin + bytes_of(tensor);
    if (header.size() > 1) header += ',';
    header += fmt::format(R"({}:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})",
                          quoted(named->first), kSafetensorsTypes[type_of(tensor.dtype())].name,
                          fmt::join(tensor.shape(), ","), begin, end);
    begin = end;
  }
  header += '}';
  header.append((kAlignment - header.size() % kAlignment) % kAlignment, ' ');
  return header;
}

// The bytes that a contiguous tensor views, straight from its memory where the host can read it.
void write_contiguous(AtomicFile& file, const Tensor& tensor) {
  const size_t begin = static_cast<size_t>(tensor.offset()) * size_of(tensor.dtype());
  const size_t bytes = bytes_of(tensor);
  if (tensor.device() == Device::kCpu) {
    file.write(tensor.storage()->data() + begin, bytes);
    return;
  }
  std::vector<std::byte> chunk(std::min(bytes, kChunk));
  for (size_t done = 0; done < bytes; done += chunk.size()) {
    const size_t size = std::min(chunk.size(), bytes - done);
    tensor.storage()->copy_out(chunk.data(), begin + done, size);
    file.write(chunk.data(), size);
  }
}

void write_tensor(AtomicFile& file, const Tensor& tensor) {
  if (tensor.count() == 0) return;
  if (tensor.is_contiguous()) return write_contiguous(file, tensor);
  // A vector of bools is packed, so bools travel as the bytes they are.
  const Tensor bytes_kept =
      tensor.dtype() == DType::kBool
          ? Tensor::from_storage(tensor.storage(), tensor.shape(), tensor.strides(),
                                 tensor.offset(), DType::kInt8)
          : tensor;
  visit_dtype(bytes_kept.dtype(), [&]<class T>(T) {
    if constexpr (!std::is_same_v<T, bool>) {
      const std::vector<T> values = bytes_kept.to_vector<T>();
      file.write(values.data(), values.size() * sizeof(T));
    }
  });
}

}  // namespace

void write_safetensors(const std::filesystem::path& path, std::span<const Named> tensors,
                       const std::map<std::string, std::string>& metadata) {
  std::vector<std::string_view> names;
  names.reserve(tensors.size());
  for (const Named& named : tensors) names.emplace_back(named.first);
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  require<ValueError>(twice == names.end(), "write_safetensors: the name '{}' is there twice",
                      twice == names.end() ? "" : *twice);

  const std::vector<const Named*> order = in_file_order(tensors);
  const std::string header = header_of(order, metadata);
  require<ValueError>(header.size() <= kSafetensorsMaxHeader,
                      "write_safetensors: names and metadata take {} bytes; at most {} fit",
                      header.size(), kSafetensorsMaxHeader);
  const uint64_t length = header.size();
  AtomicFile file(path);
  file.write(&length, sizeof length);
  file.write(header);
  for (const Named* named : order) write_tensor(file, named->second);
  file.commit();
}

}  // namespace glassformer
