#pragma once

#include <string>
#include <string_view>

namespace glassformer::jinja {

// Python's methods of strings. All take and give UTF-8.
std::string lower(std::string_view text);
std::string upper(std::string_view text);
std::string capitalize(std::string_view text);
std::string title(std::string_view text);
// Without `characters` spaces go.
std::string strip(std::string_view text, std::string_view characters, bool left, bool right);
// At most `count` times, where it is not negative.
std::string replace(std::string_view text, std::string_view from, std::string_view to,
                    int64_t count = -1);
std::string indent(std::string_view text, std::string_view margin, bool first, bool blank);
std::string escape(std::string_view text);  // &, <, >, ', "

}  // namespace glassformer::jinja
