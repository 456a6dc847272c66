#pragma once

#include <filesystem>

#include "glassformer/image/processor.h"

namespace glassformer {

// What FOLDER/preprocessor_config.json says; see ImageProcessor::load.
ImageProcessorOptions read_processor_options(const std::filesystem::path& folder);

}  // namespace glassformer
