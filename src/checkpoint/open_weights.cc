#include <algorithm>
#include <map>

#include "base/check.h"
#include "base/json.h"
#include "checkpoint/tensor_table.h"
#include "checkpoint/weight_files.h"
#include "glassformer/checkpoint/safetensors.h"
#include "glassformer/checkpoint/weights.h"

namespace glassformer {
namespace {

namespace fs = std::filesystem;

// Tensors of several files as one.
class Shards final : public StoredTensors {
 public:
  Shards(std::string where, std::vector<std::unique_ptr<SafetensorsFile>> files,
         std::vector<StoredTensor> tensors, std::vector<const SafetensorsFile*> files_of_tensors)
      : where_(std::move(where)),
        files_(std::move(files)),
        table_(std::move(tensors), where_),
        files_of_tensors_(std::move(files_of_tensors)) {}

  const std::vector<StoredTensor>& tensors() const override { return table_.tensors(); }
  const StoredTensor* find(std::string_view name) const override { return table_.find(name); }
  const std::string& where() const override { return where_; }
  Tensor get(std::string_view name) const override {
    return files_of_tensors_[table_.at(name, where_)]->get(name);
  }

 private:
  std::string where_;
  std::vector<std::unique_ptr<SafetensorsFile>> files_;
  TensorTable table_;
  std::vector<const SafetensorsFile*> files_of_tensors_;  // of tensors()
};

// The names of the tensors that the index looks for in each shard.
std::map<std::string, std::vector<std::string>> names_by_shard(const fs::path& index) {
  const Json json = read_json(index);
  const JsonFields map = JsonFields(json, index.string()).object("weight_map");
  std::map<std::string, std::vector<std::string>> shards;
  for (const auto& [name, file] : map.json().items()) {
    if (!file.is_string()) map.fail(name, "the name of a shard");
    shards[file.get<std::string>()].push_back(name);
  }
  return shards;
}

bool leaves_its_folder(const fs::path& path) {
  return path.empty() || path.is_absolute() ||
         std::find(path.begin(), path.end(), "..") != path.end();
}

std::unique_ptr<StoredTensors> open_shards(const fs::path& folder, const fs::path& index) {
  std::vector<std::unique_ptr<SafetensorsFile>> files;
  std::vector<StoredTensor> tensors;
  std::vector<const SafetensorsFile*> files_of_tensors;
  for (auto& [shard, names] : names_by_shard(index)) {
    require<FileError>(!leaves_its_folder(shard),
                       "{}: expected shards inside the folder, found '{}'", index.string(), shard);
    std::error_code error;
    require<FileError>(fs::exists(folder / shard, error), "{}: the shard '{}' is not in the folder",
                       index.string(), shard);
    files.push_back(std::make_unique<SafetensorsFile>(folder / shard));
    const SafetensorsFile& file = *files.back();
    size_t found = 0;
    for (const StoredTensor& tensor : file.tensors()) {
      if (!std::binary_search(names.begin(), names.end(), tensor.name)) continue;
      tensors.push_back(tensor);
      files_of_tensors.push_back(&file);
      ++found;
    }
    if (found == names.size()) continue;
    const auto missing = std::find_if(names.begin(), names.end(), [&](const std::string& name) {
      return file.find(name) == nullptr;
    });
    throw FileError(fmt::format("{}: the tensor '{}' is not in its shard '{}'", index.string(),
                                *missing, shard));
  }
  return std::make_unique<Shards>(folder.string(), std::move(files), std::move(tensors),
                                  std::move(files_of_tensors));
}

// The name of a file in the folder that other tools would unpickle, or nothing.
std::string pickle_in(const fs::path& folder) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string suffix = entry.path().extension().string();
    if (suffix == ".bin" || suffix == ".pt" || suffix == ".pth" || suffix == ".ckpt")
      return entry.path().filename().string();
  }
  return "";
}

}  // namespace

std::unique_ptr<StoredTensors> open_weights(const fs::path& folder) {
  std::error_code error;
  require<FileError>(fs::is_directory(folder, error), "{}: expected a model folder, found {}",
                     folder.string(), fs::exists(folder, error) ? "a file" : "nothing");
  // Hugging Face looks in this order too; save_weights() builds on it.
  if (fs::exists(folder / kWeightsFile, error))
    return std::make_unique<SafetensorsFile>(folder / kWeightsFile);
  if (fs::exists(folder / kWeightsIndex, error)) return open_shards(folder, folder / kWeightsIndex);
  const std::string pickle = pickle_in(folder);
  require<FileError>(pickle.empty(),
                     "{}: expected {}, found {}; pickle files can run code and are not opened: "
                     "convert with model.save_pretrained(folder, safe_serialization=True)",
                     folder.string(), kWeightsFile, pickle);
  throw FileError(fmt::format("{}: expected {} or {}, found neither", folder.string(), kWeightsFile,
                              kWeightsIndex));
}

}  // namespace glassformer
