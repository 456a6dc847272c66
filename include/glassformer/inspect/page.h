#pragma once

#include <filesystem>
#include <string>

#include "glassformer/inspect/report.h"

namespace glassformer {

// The explorer: one HTML page that shows a report, opens from disk and loads nothing. Attention
// weights and rollouts are in it as 16-bit square roots, each exact to 1/65535; other tensors as
// float16, scaled by a power of two so that none is too large or too small for it.
std::string page_html(const Report& report);

// Writes it, whole or not at all. Throws FileError.
void write_page(const Report& report, const std::filesystem::path& path);

}  // namespace glassformer
