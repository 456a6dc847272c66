#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "glassformer/tensor/stored_tensors.h"

namespace glassformer {

// A safetensors file: eight bytes of length, a JSON header, then the numbers of every tensor.
//
// The file is mapped, and opening reads the header only. It is held to the format: a header of at
// most 100 MB, tensors that fill the rest of the file without gap or overlap, sizes that agree with
// shapes and types. The types F64 F32 F16 BF16 I64 I32 I8 BOOL are ours; get() refuses the others,
// and tensors of over kMaxRank axes. Tensors keep the mapping alive; the file may be replaced or
// deleted meanwhile, but must not be changed or cut in place.
class SafetensorsFile final : public StoredTensors {
 public:
  // Throws FileError, naming the file and the fault.
  explicit SafetensorsFile(const std::filesystem::path& path);
  // The same from memory, which `where` names in messages.
  SafetensorsFile(std::shared_ptr<Storage> file, std::string where);
  ~SafetensorsFile() override;
  SafetensorsFile(SafetensorsFile&&) noexcept;
  SafetensorsFile& operator=(SafetensorsFile&&) noexcept;

  const std::vector<StoredTensor>& tensors() const override;
  const StoredTensor* find(std::string_view name) const override;
  const std::string& where() const override;
  Tensor get(std::string_view name) const override;

  // The header's free texts ("__metadata__").
  const std::map<std::string, std::string>& metadata() const;

 private:
  struct Content;
  std::unique_ptr<const Content> content_;
};

// Writes `tensors`, of any strides and on any device, in the order and layout that the Python
// library gives them: wide types first, then by name, the data aligned to 8 bytes. The path holds
// its old content until the new one is complete. Throws FileError where it cannot be written and
// ValueError for a name that is there twice, that is reserved, or that is not UTF-8.
void write_safetensors(const std::filesystem::path& path,
                       std::span<const std::pair<std::string, Tensor>> tensors,
                       const std::map<std::string, std::string>& metadata = {{"format", "pt"}});

}  // namespace glassformer
