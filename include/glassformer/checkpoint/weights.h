#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "glassformer/tensor/stored_tensors.h"

namespace glassformer {

// The weights of a Hugging Face model folder: `model.safetensors`, or else the shards that
// `model.safetensors.index.json` names, each tensor in the shard that the index says. Throws
// FileError for a folder without either (what to do is in the message where there are pickle files,
// which are never opened), for a shard that is missing or outside the folder, and for a tensor that
// is not in its shard.
std::unique_ptr<StoredTensors> open_weights(const std::filesystem::path& folder);

// Writes `tensors` as open_weights() and Hugging Face read them, in the folder, which is made where
// it is not there: one file, or shards of at most `max_shard_bytes` (but never less than a tensor)
// in the order of `tensors`, with their index. Of tensors that are the same view of the same memory
// (tied weights) the first is written, as Hugging Face does.
//
// Whenever the process is killed the folder opens with all of its old weights or all of the new
// ones: new files never take the name of one in use, one step switches to them, and the old ones
// are removed afterwards. Throws FileError where the folder cannot be written, ValueError as
// write_safetensors() does and for max_shard_bytes < 1.
void save_weights(const std::filesystem::path& folder,
                  std::span<const std::pair<std::string, Tensor>> tensors,
                  int64_t max_shard_bytes = 5'000'000'000);

}  // namespace glassformer
