#pragma once

#include <string_view>

namespace glassformer {

// web/ as one page without a report, made by cmake/JoinPage.cmake.
extern const std::string_view kPageShell;

// Where the report goes.
inline constexpr std::string_view kPageMark = "<!-- capture -->";

}  // namespace glassformer
