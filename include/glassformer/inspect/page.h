#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "glassformer/inspect/report.h"

namespace glassformer {

// The explorer: one HTML page that shows a report, or several with a switch between them, opens
// from disk and loads nothing. Attention weights and rollouts are in it as 16-bit square roots,
// each exact to 1/65535; other tensors as float16, scaled by a power of two so that none is too
// large or too small for it. Throws ValueError where there is no report.
std::string page_html(std::span<const Report> reports);

// Writes it, whole or not at all. Throws FileError.
void write_page(std::span<const Report> reports, const std::filesystem::path& path);

}  // namespace glassformer
