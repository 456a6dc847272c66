#include "glassformer/training/checkpoint.h"

#include <algorithm>
#include <charconv>

#include <zlib.h>

#include "base/atomic_file.h"
#include "base/atomic_folder.h"
#include "base/check.h"
#include "base/json.h"
#include "base/mapped_file.h"
#include "glassformer/autograd/no_grad.h"
#include "glassformer/checkpoint/safetensors.h"
#include "glassformer/checkpoint/weights.h"
#include "glassformer/ops/arithmetic.h"
#include "glassformer/ops/copy.h"

namespace glassformer {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPrefix = "checkpoint-";
constexpr const char* kStateFile = "trainer.json";
constexpr int64_t kFormat = 1;

uint32_t checksum(const void* data, size_t bytes) {
  return static_cast<uint32_t>(crc32_z(0, static_cast<const Bytef*>(data), bytes));
}

// Size and CRC-32 of every file but trainer.json itself.
Json files_of(const fs::path& folder) {
  Json files = Json::object();
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (!entry.is_regular_file() || name == kStateFile) continue;
    const MappedFile file(entry.path());
    files[name] = {{"bytes", file.bytes()}, {"crc32", checksum(file.data(), file.bytes())}};
  }
  return files;
}

Json to_json(const TrainingState& state) {
  Json json{{"step", state.step},
            {"epoch", state.position.epoch},
            {"batch", state.position.batch},
            {"best_step", state.best_step},
            {"evaluations_since_best", state.evaluations_since_best}};
  if (std::isfinite(state.best_loss)) json["best_loss"] = state.best_loss;
  return json;
}

TrainingState state_from(const JsonFields& fields) {
  TrainingState state;
  state.step = fields.integer("step");
  state.position = {fields.integer("epoch"), fields.integer("batch")};
  state.best_loss = fields.number("best_loss", state.best_loss);
  state.best_step = fields.integer("best_step");
  state.evaluations_since_best = fields.integer("evaluations_since_best");
  return state;
}

void write_state(const fs::path& folder, const CheckpointContent& content) {
  Json body{{"format", kFormat},
            {"optimizer_steps", content.optimizer_steps},
            {"state", to_json(content.state)},
            {"files", files_of(folder)}};
  const std::string text = body.dump();
  body["crc32"] = checksum(text.data(), text.size());
  AtomicFile file(folder / kStateFile);
  file.write(body.dump(2) + "\n");
  file.commit();
}

void check_file(const fs::path& path, const JsonFields& expected) {
  require<FileError>(fs::is_regular_file(path), "{}: is missing from its checkpoint",
                     path.string());
  const MappedFile file(path);
  require<FileError>(file.bytes() == static_cast<uint64_t>(expected.integer("bytes")),
                     "{}: expected {} bytes, found {}: it was cut short or changed", path.string(),
                     expected.integer("bytes"), file.bytes());
  require<FileError>(checksum(file.data(), file.bytes()) == expected.integer("crc32"),
                     "{}: its checksum is not that of what was written: it was changed",
                     path.string());
}

}  // namespace

fs::path write_checkpoint(const fs::path& run, const CheckpointContent& content) {
  fs::path target = run / (kPrefix + std::to_string(content.state.step));
  AtomicFolder folder(target);
  content.learner->save(folder.path());
  write_safetensors(folder.path() / "optimizer.safetensors", content.optimizer);
  if (!content.average.empty())
    write_safetensors(folder.path() / "average.safetensors", content.average);
  write_state(folder.path(), content);
  folder.commit();
  return target;
}

CheckpointInfo read_checkpoint(const fs::path& checkpoint) {
  const fs::path path = checkpoint / kStateFile;
  Json json = read_json(path);
  const JsonFields fields(json, path.string());
  const int64_t format = fields.integer("format");
  require<FileError>(format == kFormat, "{}: expected a checkpoint of format {}, found {}",
                     path.string(), kFormat, format);
  Json body = json;
  body.erase("crc32");
  const std::string text = body.dump();
  require<FileError>(checksum(text.data(), text.size()) == fields.integer("crc32"),
                     "{}: its checksum is not that of what was written: it was changed",
                     path.string());
  const Json& files = fields.at("files");
  for (auto file = files.begin(); file != files.end(); ++file)
    check_file(checkpoint / file.key(), JsonFields(file.value(), path.string()));
  return {state_from(fields.object("state")), fields.integer("optimizer_steps")};
}

std::vector<std::pair<int64_t, fs::path>> checkpoints_of(const fs::path& run) {
  std::vector<std::pair<int64_t, fs::path>> found;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(run, ignored)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kPrefix) || !entry.is_directory()) continue;
    int64_t step = 0;
    const char* end = name.data() + name.size();
    const auto [at, error] =
        std::from_chars(name.data() + std::string_view(kPrefix).size(), end, step);
    if (error == std::errc() && at == end) found.emplace_back(step, entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

void prune_checkpoints(const fs::path& run, int64_t keep, int64_t best) {
  const auto all = checkpoints_of(run);
  for (size_t i = 0; i + static_cast<size_t>(keep) < all.size(); ++i)
    if (all[i].first != best) AtomicFolder::remove(all[i].second);
}

void average_checkpoints(const std::vector<fs::path>& checkpoints, const fs::path& out) {
  require<ValueError>(!checkpoints.empty(), "average: expected checkpoints, found none");
  const NoGrad no_grad;
  std::vector<std::unique_ptr<StoredTensors>> stored;
  stored.reserve(checkpoints.size());
  for (const fs::path& path : checkpoints) stored.push_back(open_weights(path));
  std::vector<std::pair<std::string, Tensor>> means;
  for (const StoredTensor& tensor : stored.front()->tensors()) {
    Tensor sum = clone(stored.front()->get(tensor.name));
    if (is_floating(sum.dtype())) {
      for (size_t i = 1; i < stored.size(); ++i) {
        const Tensor other = stored[i]->get(tensor.name);
        require<FileError>(other.shape() == sum.shape() && other.dtype() == sum.dtype(),
                           "{}: tensor '{}' does not fit that of {}", stored[i]->where(),
                           tensor.name, stored.front()->where());
        sum = sum + other;
      }
      sum = sum / static_cast<double>(stored.size());
    }
    means.emplace_back(tensor.name, sum);
  }
  save_weights(out, means);
  copy_files(checkpoints.back() / "config.json", out / "config.json");
}

}  // namespace glassformer
