#include <algorithm>
#include <map>

#include "base/check.h"
#include "text/jinja/builtins.h"
#include "text/jinja/strings.h"
#include "text/unicode.h"
#include "text/utf8.h"

namespace glassformer::jinja {
namespace {

using Method = Value (*)(const Value&, const Arguments&);

std::string text_argument(const Arguments& arguments, size_t index, std::string_view name) {
  const Value* value = arguments.find(index, name);
  return value == nullptr || value->is_none() ? std::string() : value->text();
}
int64_t count_argument(const Arguments& arguments, size_t index, std::string_view name) {
  const Value* value = arguments.find(index, name);
  return value == nullptr ? -1 : value->integer();
}
const Value& required(const Arguments& arguments, size_t index) {
  require<ValueError>(index < arguments.positional.size(),
                      "chat template: a method misses its argument {}", index + 1);
  return arguments.positional[index];
}

// Words between spaces.
List split_spaces(std::string_view text, int64_t most) {
  List parts;
  std::string_view rest = text;
  for (;;) {
    const std::string left = strip(rest, "", true, false);
    rest = rest.substr(rest.size() - left.size());
    if (rest.empty()) return parts;
    if (most >= 0 && static_cast<int64_t>(parts.size()) == most) {
      parts.emplace_back(strip(rest, "", false, true));
      return parts;
    }
    size_t end = 0;
    for (size_t next = 0; next < rest.size(); end = next)
      if (is_space(next_character(rest, next))) break;
    parts.emplace_back(std::string(rest.substr(0, end)));
    rest.remove_prefix(end);
  }
}

Value split(const Value& value, const Arguments& arguments, bool from_right) {
  const std::string separator = text_argument(arguments, 0, "sep");
  const int64_t most = count_argument(arguments, 1, "maxsplit");
  std::string_view text = value.text();
  if (arguments.find(0, "sep") == nullptr || arguments.find(0, "sep")->is_none()) {
    require<ValueError>(!from_right || most < 0,
                        "chat template: rsplit without a separator takes no maxsplit");
    return split_spaces(text, most);
  }
  require<ValueError>(!separator.empty(), "chat template: split by an empty separator");
  List parts;
  while (most < 0 || static_cast<int64_t>(parts.size()) < most) {
    const size_t at = from_right ? text.rfind(separator) : text.find(separator);
    if (at == text.npos) break;
    if (from_right) {
      parts.emplace_back(std::string(text.substr(at + separator.size())));
      text = text.substr(0, at);
    } else {
      parts.emplace_back(std::string(text.substr(0, at)));
      text.remove_prefix(at + separator.size());
    }
  }
  parts.emplace_back(std::string(text));
  if (from_right) std::reverse(parts.begin(), parts.end());
  return parts;
}

Value split_lines(const Value& value, const Arguments&) {
  List lines;
  std::string_view text = value.text();
  while (!text.empty()) {
    const size_t end = std::min(text.find_first_of("\r\n"), text.size());
    lines.emplace_back(std::string(text.substr(0, end)));
    const bool both = text.substr(end, 2) == "\r\n";
    text.remove_prefix(std::min(end + (both ? 2 : 1), text.size()));
  }
  return lines;
}

// One prefix, or any of several.
bool starts_or_ends(const Value& value, const Arguments& arguments, bool starts) {
  const Value& wanted = required(arguments, 0);
  const List all = wanted.is_list() ? wanted.list() : List{wanted};
  return std::any_of(all.begin(), all.end(), [&](const Value& one) {
    return starts ? value.text().starts_with(one.text()) : value.text().ends_with(one.text());
  });
}

Value strip_method(const Value& value, const Arguments& arguments, bool left, bool right) {
  return strip(value.text(), text_argument(arguments, 0, "chars"), left, right);
}

Value find(const Value& value, const Arguments& arguments) {
  const size_t at = value.text().find(required(arguments, 0).text());
  if (at == std::string::npos) return int64_t{-1};
  return static_cast<int64_t>(count_characters(std::string_view(value.text()).substr(0, at)));
}

Value count(const Value& value, const Arguments& arguments) {
  const std::string& wanted = required(arguments, 0).text();
  if (wanted.empty()) return static_cast<int64_t>(value.length() + 1);
  int64_t found = 0;
  for (size_t at = value.text().find(wanted); at != std::string::npos;
       at = value.text().find(wanted, at + wanted.size()))
    ++found;
  return found;
}

const std::map<std::string_view, Method>& text_methods() {
  static const std::map<std::string_view, Method> table = {
      {"capitalize",
       [](const Value& v, const Arguments&) -> Value { return capitalize(v.text()); }},
      {"count", count},
      {"endswith",
       [](const Value& v, const Arguments& a) -> Value { return starts_or_ends(v, a, false); }},
      {"find", find},
      {"isdigit",
       [](const Value& v, const Arguments&) -> Value {
         return !v.text().empty() && v.text().find_first_not_of("0123456789") == std::string::npos;
       }},
      {"join",
       [](const Value& v, const Arguments& a) {
         return apply_filter("join", required(a, 0), {{v}, {}});
       }},
      {"lower", [](const Value& v, const Arguments&) -> Value { return lower(v.text()); }},
      {"lstrip",
       [](const Value& v, const Arguments& a) { return strip_method(v, a, true, false); }},
      {"removeprefix",
       [](const Value& v, const Arguments& a) -> Value {
         const std::string& prefix = required(a, 0).text();
         return v.text().starts_with(prefix) ? v.text().substr(prefix.size()) : v.text();
       }},
      {"removesuffix",
       [](const Value& v, const Arguments& a) -> Value {
         const std::string& suffix = required(a, 0).text();
         return v.text().ends_with(suffix) ? v.text().substr(0, v.text().size() - suffix.size())
                                           : v.text();
       }},
      {"replace",
       [](const Value& v, const Arguments& a) -> Value {
         return replace(v.text(), required(a, 0).text(), required(a, 1).text(),
                        count_argument(a, 2, "count"));
       }},
      {"rsplit", [](const Value& v, const Arguments& a) { return split(v, a, true); }},
      {"rstrip",
       [](const Value& v, const Arguments& a) { return strip_method(v, a, false, true); }},
      {"split", [](const Value& v, const Arguments& a) { return split(v, a, false); }},
      {"splitlines", split_lines},
      {"startswith",
       [](const Value& v, const Arguments& a) -> Value { return starts_or_ends(v, a, true); }},
      {"strip", [](const Value& v, const Arguments& a) { return strip_method(v, a, true, true); }},
      {"title", [](const Value& v, const Arguments&) -> Value { return title(v.text()); }},
      {"upper", [](const Value& v, const Arguments&) -> Value { return upper(v.text()); }},
  };
  return table;
}

const std::map<std::string_view, Method>& dict_methods() {
  static const std::map<std::string_view, Method> table = {
      {"get",
       [](const Value& v, const Arguments& a) -> Value {
         const Value* found = v.dict().find(required(a, 0).text());
         if (found != nullptr) return *found;
         const Value* otherwise = a.find(1, "default");
         return otherwise != nullptr ? *otherwise : Value(None{});
       }},
      {"items", [](const Value& v, const Arguments& a) { return apply_filter("items", v, a); }},
      {"keys", [](const Value& v, const Arguments&) -> Value { return v.elements(); }},
      {"values",
       [](const Value& v, const Arguments&) -> Value {
         List values;
         for (const auto& [key, value] : v.dict().items) values.push_back(value);
         return values;
       }},
  };
  return table;
}

}  // namespace

bool call_method(const Value& object, std::string_view name, const Arguments& arguments,
                 Value& result) {
  if (!object.is_text() && !object.is_dict()) return false;
  const auto& methods = object.is_text() ? text_methods() : dict_methods();
  const auto found = methods.find(name);
  if (found == methods.end()) return false;
  result = found->second(object, arguments);
  return true;
}

}  // namespace glassformer::jinja
