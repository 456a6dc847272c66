#include <algorithm>
#include <regex>
#include <set>
#include <tuple>
#include <vector>

#include "base/atomic_file.h"
#include "base/check.h"
#include "base/json.h"
#include "checkpoint/weight_files.h"
#include "glassformer/checkpoint/safetensors.h"
#include "glassformer/checkpoint/weights.h"

namespace glassformer {
namespace {

namespace fs = std::filesystem;
using Named = std::pair<std::string, Tensor>;

int64_t bytes_of(const Tensor& tensor) {
  return tensor.count() * static_cast<int64_t>(size_of(tensor.dtype()));
}

bool is_same_view(const Tensor& a, const Tensor& b) {
  return a.storage() == b.storage() && a.offset() == b.offset() && a.dtype() == b.dtype() &&
         a.shape() == b.shape() && a.strides() == b.strides();
}

// The first of every group of tied tensors.
std::vector<Named> without_ties(std::span<const Named> tensors) {
  std::vector<Named> kept;
  std::multimap<const Storage*, const Tensor*> seen;
  for (const Named& named : tensors) {
    require<ValueError>(named.second.defined(), "save_weights: '{}' is no tensor", named.first);
    const Storage* storage = named.second.storage().get();
    const auto [begin, end] = seen.equal_range(storage);
    // Tensors without elements share nothing, wherever they point.
    const bool tied = named.second.count() > 0 && std::any_of(begin, end, [&](const auto& other) {
                        return is_same_view(named.second, *other.second);
                      });
    if (tied) continue;
    seen.emplace(storage, &named.second);
    kept.push_back(named);
  }
  return kept;
}

// Runs of `tensors`, each within the limit or of one tensor.
std::vector<std::span<const Named>> split(std::span<const Named> tensors, int64_t max_bytes) {
  std::vector<std::span<const Named>> shards;
  size_t begin = 0;
  int64_t bytes = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const int64_t more = bytes_of(tensors[i].second);
    if (i > begin && more > max_bytes - bytes) {
      shards.push_back(tensors.subspan(begin, i - begin));
      begin = i;
      bytes = 0;
    }
    bytes += more;
  }
  shards.push_back(tensors.subspan(begin));
  return shards;
}

// "model-00001-of-00003.safetensors", and from the second save into a folder on with a number after
// "model": a shard that the present index names must stay as it is until the index is replaced.
std::string shard_name(int save, size_t shard, size_t shards) {
  return fmt::format("model{}-{:05}-of-{:05}.safetensors",
                     save == 0 ? "" : fmt::format("-{}", save), shard + 1, shards);
}

// Also what a writer that was killed left of one.
bool is_shard_name(const std::string& name) {
  static const std::regex pattern(R"(\.?model(-\d+)?-\d{5,}-of-\d{5,}\.safetensors(\.tmp)?)");
  return std::regex_match(name, pattern);
}

// The names of the files in `folder` that are shards by their name.
std::set<std::string> shards_in(const fs::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    std::string name = entry.path().filename().string();
    if (is_shard_name(name)) names.insert(std::move(name));
  }
  return names;
}

// Names for `count` shards, none of which is there.
std::vector<std::string> fresh_names(size_t count, const std::set<std::string>& there) {
  for (int save = 0;; ++save) {
    std::vector<std::string> names;
    for (size_t i = 0; i < count; ++i) names.push_back(shard_name(save, i, count));
    if (std::none_of(names.begin(), names.end(),
                     [&](const std::string& name) { return there.contains(name); }))
      return names;
  }
}

void write_shards(const fs::path& folder, const std::vector<std::span<const Named>>& shards,
                  const std::vector<std::string>& names) {
  Json map = Json::object();
  int64_t total = 0;
  for (size_t i = 0; i < shards.size(); ++i) {
    for (const Named& named : shards[i]) {
      require<ValueError>(map.emplace(named.first, names[i]).second,
                          "save_weights: the name '{}' is there twice", named.first);
      total += bytes_of(named.second);
    }
    write_safetensors(folder / names[i], shards[i]);
  }
  AtomicFile index(folder / kWeightsIndex);
  index.write(Json{{"metadata", {{"total_size", total}}}, {"weight_map", map}}.dump(2) + "\n");
  index.commit();
}

}  // namespace

void save_weights(const fs::path& folder, std::span<const Named> tensors, int64_t max_shard_bytes) {
  require<ValueError>(max_shard_bytes >= 1,
                      "save_weights: expected shards of at least 1 byte, found {}",
                      max_shard_bytes);
  const std::vector<Named> kept = without_ties(tensors);
  const auto shards = split(kept, max_shard_bytes);
  try {
    make_folders(folder);
    const std::set<std::string> stale = shards_in(folder);
    // A single file is preferred over an index: it appears last, and disappears first.
    if (shards.size() == 1) {
      write_safetensors(folder / kWeightsFile, kept);
      fs::remove(folder / kWeightsIndex);
    } else {
      const std::vector<std::string> names = fresh_names(shards.size(), stale);
      try {
        write_shards(folder, shards, names);
      } catch (...) {  // shards that no index names
        std::error_code ignored;
        for (const std::string& name : names) fs::remove(folder / name, ignored);
        throw;
      }
      fs::remove(folder / kWeightsFile);
    }
    for (const std::string& name : stale) fs::remove(folder / name);
  } catch (const fs::filesystem_error& error) {
    throw FileError(
        fmt::format("{}: cannot be written: {}", folder.string(), error.code().message()));
  }
}

}  // namespace glassformer
