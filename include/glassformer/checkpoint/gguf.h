#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "glassformer/tensor/stored_tensors.h"

namespace glassformer {

// A tensor as the file holds it: rows of blocks, in the layout of its type.
struct GgufBlocks {
  std::string_view type;  // "F32", "Q4_K", ...
  Shape shape;            // row-major, the last axis in blocks of block_count elements
  int64_t block_count = 1;
  int64_t block_bytes = 0;
  std::span<const std::byte> bytes;  // valid while the GgufFile lives
};

// A GGUF file (versions 2 and 3, little-endian): key–value metadata, then tensors.
//
// The file is mapped, and opening reads the tables only. Every count, size and offset is held to
// the file before anything is made from it. Shapes are row-major: the file's axes in reverse.
// get() views F32, F16, BF16, F64, I8, I32 and I64, expands Q8_0, Q4_0, Q4_K and Q6_K to float32,
// and refuses the other types, which are listed. The file must not be changed while it is open.
class GgufFile final : public StoredTensors {
 public:
  // Throws FileError, naming the file and the fault.
  explicit GgufFile(const std::filesystem::path& path);
  // The same from memory, which `where` names in messages.
  GgufFile(std::shared_ptr<Storage> file, std::string where);
  ~GgufFile() override;
  GgufFile(GgufFile&&) noexcept;
  GgufFile& operator=(GgufFile&&) noexcept;

  const std::vector<StoredTensor>& tensors() const override;
  const StoredTensor* find(std::string_view name) const override;
  const std::string& where() const override;
  Tensor get(std::string_view name) const override;
  std::optional<QuantisedTensor> quantised(std::string_view name) const override;
  // Throws FileError for an unknown name or a type whose blocks we do not know.
  GgufBlocks blocks(std::string_view name) const;

  // Metadata. The keys are sorted. Each of these throws FileError where the key is absent or its
  // value is of another kind, or too large for int64. Texts are bytes: not all tokens are UTF-8.
  std::vector<std::string> keys() const;
  bool has(std::string_view key) const;
  int64_t integer(std::string_view key) const;
  double number(std::string_view key) const;  // an integer too
  bool boolean(std::string_view key) const;
  std::string text(std::string_view key) const;
  std::vector<int64_t> integers(std::string_view key) const;
  std::vector<double> numbers(std::string_view key) const;
  std::vector<bool> booleans(std::string_view key) const;
  std::vector<std::string> texts(std::string_view key) const;

  // `otherwise` where the key is absent.
  int64_t integer(std::string_view key, int64_t otherwise) const;
  double number(std::string_view key, double otherwise) const;
  bool boolean(std::string_view key, bool otherwise) const;
  std::string text(std::string_view key, std::string_view otherwise) const;

 private:
  struct Content;
  std::unique_ptr<const Content> content_;
};

}  // namespace glassformer
