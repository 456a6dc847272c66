#include "text/jinja/strings.h"

#include <utf8proc.h>

#include "text/jinja/builtins.h"
#include "text/unicode.h"
#include "text/utf8.h"

namespace glassformer::jinja {
namespace {

char32_t to_upper(char32_t c) {
  return static_cast<char32_t>(utf8proc_toupper(static_cast<utf8proc_int32_t>(c)));
}

// map(c, whether a letter stands before it) for each character.
template <class Map>
std::string map_characters(std::string_view text, Map&& map) {
  std::string result;
  bool after_letter = false;
  for (size_t at = 0; at < text.size();) {
    const char32_t c = next_character(text, at);
    append_utf8(result, map(c, after_letter));
    after_letter = is_letter(c);
  }
  return result;
}

}  // namespace

std::string lower(std::string_view text) {
  return map_characters(text, [](char32_t c, bool) { return to_lower(c); });
}
std::string upper(std::string_view text) {
  return map_characters(text, [](char32_t c, bool) { return to_upper(c); });
}
std::string capitalize(std::string_view text) {
  bool first = true;
  return map_characters(text, [&](char32_t c, bool) {
    const bool is_first = first;
    first = false;
    return is_first ? to_upper(c) : to_lower(c);
  });
}
std::string title(std::string_view text) {
  return map_characters(text,
                        [](char32_t c, bool inside) { return inside ? to_lower(c) : to_upper(c); });
}

std::string strip(std::string_view text, std::string_view characters, bool left, bool right) {
  const std::u32string set = to_utf32(characters);
  const auto goes = [&](char32_t c) { return set.empty() ? is_space(c) : set.find(c) != set.npos; };
  while (left && !text.empty()) {
    size_t next = 0;
    if (!goes(next_character(text, next))) break;
    text.remove_prefix(next);
  }
  while (right && !text.empty()) {
    const char32_t c = last_character(text);
    if (!goes(c)) break;
    text.remove_suffix(utf8_size(c));
  }
  return std::string(text);
}

std::string replace(std::string_view text, std::string_view from, std::string_view to,
                    int64_t count) {
  std::string result;
  size_t open = 0;
  while (count != 0) {
    // An empty `from` stands between all characters.
    size_t at = text.find(from, open);
    if (at == text.npos) break;
    if (from.empty()) {
      result += to;
      if (at >= text.size()) break;
      at += character_size(text[at]);
      result += text.substr(open, at - open);
    } else {
      result.append(text.substr(open, at - open)).append(to);
      at += from.size();
    }
    check_size(result.size());
    open = at;
    if (count > 0) --count;
  }
  result += text.substr(std::min(open, text.size()));
  return result;
}

std::string indent(std::string_view text, std::string_view margin, bool first, bool blank) {
  std::string result;
  for (bool start = true; start || !text.empty(); start = false) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    if ((start ? first : true) && (blank || start || !line.empty())) result += margin;
    result += line;
    check_size(result.size());
    if (end == text.size()) break;
    result += '\n';
    text.remove_prefix(end + 1);
  }
  return result;
}

std::string escape(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&': result += "&amp;"; break;
      case '<': result += "&lt;"; break;
      case '>': result += "&gt;"; break;
      case '\'': result += "&#39;"; break;
      case '"': result += "&#34;"; break;
      default: result += c;
    }
  }
  return result;
}

}  // namespace glassformer::jinja
