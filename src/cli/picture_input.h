#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "glassformer/models/model.h"

namespace glassformer {

// Runs a vision model over picture files, prepared as the folder says, a few at a time; `take` is
// given their numbers. Throws ValueError where there are none, FileError for one that is none.
void run_over_pictures(
    const Model& model, const std::filesystem::path& folder, const std::vector<std::string>& files,
    const std::function<void(const std::vector<size_t>&, const TransformerOutput&)>& take);

// One vector a picture, [pictures, width]: the pooler's where there is one, otherwise [CLS]'s.
Tensor picture_vectors(const TransformerOutput& output, bool normalize);

}  // namespace glassformer
