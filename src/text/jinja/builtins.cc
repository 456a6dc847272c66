#include "text/jinja/builtins.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <map>

#include "base/check.h"
#include "text/jinja/ast.h"
#include "text/jinja/strings.h"
#include "text/unicode.h"
#include "text/utf8.h"

namespace glassformer::jinja {
namespace {

using Filter = Value (*)(const Value&, const Arguments&);
using Test = bool (*)(const Value&, const Arguments&);

Value argument(const Arguments& arguments, size_t index, std::string_view name,
               const Value& otherwise) {
  const Value* value = arguments.find(index, name);
  return value != nullptr ? *value : otherwise;
}
const Value& required(const Arguments& arguments, size_t index, std::string_view name) {
  const Value* value = arguments.find(index, name);
  require<ValueError>(value != nullptr, "chat template: the argument '{}' is missing", name);
  return *value;
}

Value filter_join(const Value& value, const Arguments& arguments) {
  const std::string separator = argument(arguments, 0, "d", std::string()).to_text();
  const Value* attribute = arguments.find(1, "attribute");
  std::string text;
  bool first = true;
  for (const Value& one : value.elements()) {
    if (!first) text += separator;
    first = false;
    text += (attribute != nullptr ? get_attribute(one, attribute->text()) : one).to_text();
    check_size(text.size());
  }
  return text;
}

Value filter_default(const Value& value, const Arguments& arguments) {
  const bool falsy = argument(arguments, 1, "boolean", false).truth();
  return value.is_undefined() || (falsy && !value.truth())
             ? argument(arguments, 0, "default_value", std::string())
             : value;
}

Value filter_tojson(const Value& value, const Arguments& arguments) {
  const Value* indent = arguments.find(1, "indent");
  const int64_t spaces = indent != nullptr && !indent->is_none() ? indent->integer() : -1;
  require<ValueError>(spaces <= 64, "chat template: tojson with an indent of {}", spaces);
  const Value* sort = arguments.find(3, "sort_keys");
  return to_json(value, static_cast<int>(spaces), sort != nullptr && sort->truth());
}

Value filter_items(const Value& value, const Arguments&) {
  List items;
  if (value.is_undefined()) return items;
  for (const auto& [key, one] : value.dict().items) items.emplace_back(List{key, one});
  return items;
}

Value filter_dictsort(const Value& value, const Arguments&) {
  List items = filter_items(value, {}).list();
  std::stable_sort(items.begin(), items.end(), [](const Value& a, const Value& b) {
    return lower(a.list()[0].text()) < lower(b.list()[0].text());
  });
  return items;
}

Value filter_sort(const Value& value, const Arguments& arguments) {
  List items = value.elements();
  const bool reverse = argument(arguments, 0, "reverse", false).truth();
  const bool exact = argument(arguments, 1, "case_sensitive", false).truth();
  const Value* attribute = arguments.find(2, "attribute");
  const auto key = [&](const Value& one) {
    Value k = attribute != nullptr ? get_attribute(one, attribute->text()) : one;
    return k.is_text() && !exact ? Value(lower(k.text())) : k;
  };
  // Keys are compared once before sorting, so that an order that fails cannot break the sort.
  for (size_t i = 1; i < items.size(); ++i) key(items[i - 1]).compare(key(items[i]));
  std::stable_sort(items.begin(), items.end(), [&](const Value& a, const Value& b) {
    const int order = key(a).compare(key(b));
    return reverse ? order > 0 : order < 0;
  });
  return items;
}

// select, reject and, of an attribute, selectattr, rejectattr.
Value filter_select(const Value& value, const Arguments& arguments, bool attribute, bool wanted) {
  List kept;
  const size_t first = attribute ? 1 : 0;
  Arguments rest;
  for (size_t i = first + 1; i < arguments.positional.size(); ++i)
    rest.positional.push_back(arguments.positional[i]);
  for (const Value& one : value.elements()) {
    const Value subject =
        attribute ? get_attribute(one, required(arguments, 0, "attribute").text()) : one;
    bool holds = subject.truth();
    if (first < arguments.positional.size()) {
      const std::string& test = arguments.positional[first].text();
      require<ValueError>(has_test(test), "chat template: the test '{}' is not supported", test);
      holds = apply_test(test, subject, rest);
    }
    if (holds == wanted) kept.push_back(one);
  }
  return kept;
}

Value filter_map(const Value& value, const Arguments& arguments) {
  List mapped;
  const Value* attribute = arguments.positional.empty() ? arguments.find(9, "attribute") : nullptr;
  Arguments rest;
  for (size_t i = 1; i < arguments.positional.size(); ++i)
    rest.positional.push_back(arguments.positional[i]);
  for (const Value& one : value.elements()) {
    if (attribute != nullptr) {
      Value found = get_attribute(one, attribute->text());
      if (const Value* otherwise = arguments.find(9, "default"); otherwise && found.is_undefined())
        found = *otherwise;
      mapped.push_back(std::move(found));
    } else {
      const std::string& name = required(arguments, 0, "filter").text();
      require<ValueError>(has_filter(name), "chat template: the filter '{}' is not supported",
                          name);
      mapped.push_back(apply_filter(name, one, rest));
    }
  }
  return mapped;
}

Value filter_int(const Value& value, const Arguments& arguments) {
  if (value.is_real() && std::abs(value.real()) < 9e18) return static_cast<int64_t>(value.real());
  if (value.is_number()) return value.integer();
  const std::string text = value.is_text() ? strip(value.text(), "", true, true) : "";
  try {
    size_t used = 0;
    const int64_t number = std::stoll(text, &used);
    if (used == text.size()) return number;
  } catch (const std::exception&) {
  }
  return argument(arguments, 0, "default", int64_t{0});
}

Value filter_float(const Value& value, const Arguments& arguments) {
  if (value.is_number()) return value.real();
  try {
    return std::stod(value.to_text());
  } catch (const std::exception&) {
    return argument(arguments, 0, "default", 0.0);
  }
}

Value filter_round(const Value& value, const Arguments& arguments) {
  const int64_t digits = argument(arguments, 0, "precision", int64_t{0}).integer();
  const double scale = std::pow(10.0, static_cast<double>(std::clamp<int64_t>(digits, -15, 15)));
  return std::nearbyint(value.real() * scale) / scale;
}

Value filter_abs(const Value& value, const Arguments&) {
  return value.is_real() ? Value(std::abs(value.real()))
                         : Value(value.integer() < 0 ? -value.integer() : value.integer());
}

Value extreme(const Value& value, bool largest) {
  const List items = value.elements();
  if (items.empty()) return Value::undefined("min or max of nothing");
  const Value* best = &items[0];
  for (const Value& one : items)
    if (largest ? one.compare(*best) > 0 : one.compare(*best) < 0) best = &one;
  return *best;
}

Value filter_sum(const Value& value, const Arguments& arguments) {
  const Value* attribute = arguments.find(0, "attribute");
  double sum = 0;
  bool whole = true;
  for (const Value& one : value.elements()) {
    const Value item =
        attribute != nullptr && attribute->is_text() ? get_attribute(one, attribute->text()) : one;
    whole &= !item.is_real();
    sum += item.real();
  }
  return whole && std::abs(sum) < 9e15 ? Value(static_cast<int64_t>(sum)) : Value(sum);
}

Value filter_unique(const Value& value, const Arguments&) {
  List kept;
  for (const Value& one : value.elements())
    if (std::none_of(kept.begin(), kept.end(), [&](const Value& k) { return k.equals(one); }))
      kept.push_back(one);
  return kept;
}

Value filter_reverse(const Value& value, const Arguments&) {
  List items = value.elements();
  std::reverse(items.begin(), items.end());
  if (!value.is_text()) return items;
  std::string text;
  for (const Value& one : items) text += one.text();
  return text;
}

Value filter_indent(const Value& value, const Arguments& arguments) {
  const Value width = argument(arguments, 0, "width", int64_t{4});
  const bool first = argument(arguments, 1, "first", false).truth();
  const bool blank = argument(arguments, 2, "blank", false).truth();
  if (!width.is_text())
    require<ValueError>(width.integer() >= 0 && width.integer() <= 1000,
                        "chat template: an indent of {}", width.integer());
  const std::string margin =
      width.is_text() ? width.text() : std::string(static_cast<size_t>(width.integer()), ' ');
  return indent(value.to_text(), margin, first, blank);
}

const std::map<std::string_view, Filter>& filters() {
  static const std::map<std::string_view, Filter> table = {
      {"abs", filter_abs},
      {"capitalize",
       [](const Value& v, const Arguments&) -> Value { return capitalize(v.to_text()); }},
      {"count",
       [](const Value& v, const Arguments&) -> Value { return static_cast<int64_t>(v.length()); }},
      {"d", filter_default},
      {"default", filter_default},
      {"dictsort", filter_dictsort},
      {"e", [](const Value& v, const Arguments&) -> Value { return escape(v.to_text()); }},
      {"escape", [](const Value& v, const Arguments&) -> Value { return escape(v.to_text()); }},
      {"first",
       [](const Value& v, const Arguments&) -> Value {
         const List items = v.elements();
         return items.empty() ? Value::undefined("first of nothing") : items.front();
       }},
      {"float", filter_float},
      {"indent", filter_indent},
      {"int", filter_int},
      {"items", filter_items},
      {"join", filter_join},
      {"last",
       [](const Value& v, const Arguments&) -> Value {
         const List items = v.elements();
         return items.empty() ? Value::undefined("last of nothing") : items.back();
       }},
      {"length",
       [](const Value& v, const Arguments&) -> Value { return static_cast<int64_t>(v.length()); }},
      {"list", [](const Value& v, const Arguments&) -> Value { return v.elements(); }},
      {"lower", [](const Value& v, const Arguments&) -> Value { return lower(v.to_text()); }},
      {"map", filter_map},
      {"max", [](const Value& v, const Arguments&) -> Value { return extreme(v, true); }},
      {"min", [](const Value& v, const Arguments&) -> Value { return extreme(v, false); }},
      {"reject",
       [](const Value& v, const Arguments& a) { return filter_select(v, a, false, false); }},
      {"rejectattr",
       [](const Value& v, const Arguments& a) { return filter_select(v, a, true, false); }},
      {"replace",
       [](const Value& v, const Arguments& a) -> Value {
         return replace(v.to_text(), required(a, 0, "old").to_text(),
                        required(a, 1, "new").to_text());
       }},
      {"reverse", filter_reverse},
      {"round", filter_round},
      {"safe", [](const Value& v, const Arguments&) { return v; }},
      {"select",
       [](const Value& v, const Arguments& a) { return filter_select(v, a, false, true); }},
      {"selectattr",
       [](const Value& v, const Arguments& a) { return filter_select(v, a, true, true); }},
      {"sort", filter_sort},
      {"string", [](const Value& v, const Arguments&) -> Value { return v.to_text(); }},
      {"sum", filter_sum},
      {"title", [](const Value& v, const Arguments&) -> Value { return title(v.to_text()); }},
      {"tojson", filter_tojson},
      {"trim",
       [](const Value& v, const Arguments& a) -> Value {
         const Value* chars = a.find(0, "chars");
         return strip(v.to_text(), chars != nullptr ? chars->text() : "", true, true);
       }},
      {"unique", filter_unique},
      {"upper", [](const Value& v, const Arguments&) -> Value { return upper(v.to_text()); }},
  };
  return table;
}

const std::map<std::string_view, Test>& tests() {
  static const auto other = [](const Arguments& a) -> const Value& {
    return required(a, 0, "other");
  };
  static const std::map<std::string_view, Test> table = {
      {"boolean", [](const Value& v, const Arguments&) { return v.is_boolean(); }},
      {"callable", [](const Value& v, const Arguments&) { return v.is_function(); }},
      {"defined", [](const Value& v, const Arguments&) { return !v.is_undefined(); }},
      {"divisibleby",
       [](const Value& v, const Arguments& a) {
         const int64_t by = other(a).integer();
         return by != 0 && by != -1 ? v.integer() % by == 0 : by != 0;
       }},
      {"eq", [](const Value& v, const Arguments& a) { return v.equals(other(a)); }},
      {"equalto", [](const Value& v, const Arguments& a) { return v.equals(other(a)); }},
      {"even", [](const Value& v, const Arguments&) { return v.integer() % 2 == 0; }},
      {"false", [](const Value& v, const Arguments&) { return v.is_boolean() && !v.truth(); }},
      {"float", [](const Value& v, const Arguments&) { return v.is_real(); }},
      {"ge", [](const Value& v, const Arguments& a) { return v.compare(other(a)) >= 0; }},
      {"gt", [](const Value& v, const Arguments& a) { return v.compare(other(a)) > 0; }},
      {"in", [](const Value& v, const Arguments& a) { return other(a).contains(v); }},
      {"integer", [](const Value& v, const Arguments&) { return v.is_integer(); }},
      {"iterable",
       [](const Value& v, const Arguments&) {
         return v.is_list() || v.is_dict() || v.is_text() || v.is_undefined();
       }},
      {"le", [](const Value& v, const Arguments& a) { return v.compare(other(a)) <= 0; }},
      {"lower", [](const Value& v, const Arguments&) { return lower(v.to_text()) == v.to_text(); }},
      {"lt", [](const Value& v, const Arguments& a) { return v.compare(other(a)) < 0; }},
      {"mapping", [](const Value& v, const Arguments&) { return v.is_dict(); }},
      {"ne", [](const Value& v, const Arguments& a) { return !v.equals(other(a)); }},
      {"none", [](const Value& v, const Arguments&) { return v.is_none(); }},
      {"number", [](const Value& v, const Arguments&) { return v.is_number(); }},
      {"odd", [](const Value& v, const Arguments&) { return v.integer() % 2 != 0; }},
      {"sequence",
       [](const Value& v, const Arguments&) {
         return v.is_list() || v.is_dict() || v.is_text() || v.is_undefined();
       }},
      {"string", [](const Value& v, const Arguments&) { return v.is_text(); }},
      {"true", [](const Value& v, const Arguments&) { return v.is_boolean() && v.truth(); }},
      {"undefined", [](const Value& v, const Arguments&) { return v.is_undefined(); }},
      {"upper", [](const Value& v, const Arguments&) { return upper(v.to_text()) == v.to_text(); }},
  };
  return table;
}

Value make_range(const Arguments& arguments) {
  const auto at = [&](size_t i) { return arguments.positional[i].integer(); };
  const size_t count = arguments.positional.size();
  require<ValueError>(count >= 1 && count <= 3, "chat template: range takes one to three numbers");
  const int64_t begin = count > 1 ? at(0) : 0;
  const int64_t end = count > 1 ? at(1) : at(0);
  const int64_t step = count > 2 ? at(2) : 1;
  require<ValueError>(step != 0, "chat template: range with a step of 0");
  constexpr size_t kMost = 100000;  // as the sandbox of Jinja has it
  List numbers;
  for (int64_t i = begin; step > 0 ? i < end : i > end;) {
    numbers.emplace_back(i);
    require<ValueError>(numbers.size() <= kMost, "chat template: a range over {} numbers", kMost);
    if (__builtin_add_overflow(i, step, &i)) break;
  }
  return numbers;
}

Value make_dict(const Arguments& arguments, bool is_namespace) {
  Dict dict;
  if (!arguments.positional.empty()) dict.items = arguments.positional[0].dict().items;
  for (const auto& [key, value] : arguments.named) dict.set(key, value);
  dict.is_namespace = is_namespace;
  return dict;
}

Value time_now(const Arguments& arguments) {
  const std::string& format = required(arguments, 0, "format").text();
  check_size(format.size() * 16);
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  localtime_r(&now, &parts);
  std::string text(format.size() * 16 + 64, '\0');
  text.resize(std::strftime(text.data(), text.size(), format.c_str(), &parts));
  return text;
}

}  // namespace

void check_size(size_t size) {
  require<ValueError>(size <= kLargest, "chat template: a value larger than {} bytes", kLargest);
}

bool has_filter(std::string_view name) { return filters().contains(name); }
bool has_test(std::string_view name) { return tests().contains(name); }

Value apply_filter(std::string_view name, const Value& value, const Arguments& arguments) {
  return filters().at(name)(value, arguments);
}
bool apply_test(std::string_view name, const Value& value, const Arguments& arguments) {
  return tests().at(name)(value, arguments);
}

const Value* find_global(std::string_view name) {
  static const std::map<std::string_view, Value> table = {
      {"range", Function(make_range)},
      {"namespace", Function([](const Arguments& a) { return make_dict(a, true); })},
      {"dict", Function([](const Arguments& a) { return make_dict(a, false); })},
      {"strftime_now", Function(time_now)},
      {"raise_exception", Function([](const Arguments& a) -> Value {
         throw ValueError(fmt::format("chat template: {}", required(a, 0, "message").to_text()));
       })},
  };
  const auto found = table.find(name);
  return found == table.end() ? nullptr : &found->second;
}

Value get_item(const Value& object, const Value& key) {
  if (object.is_dict() && key.is_text()) {
    const Value* found = object.dict().find(key.text());
    return found != nullptr ? *found : Value::undefined(key.text());
  }
  if ((object.is_list() || object.is_text()) && (key.is_integer() || key.is_boolean())) {
    const auto size = static_cast<int64_t>(object.length());
    const int64_t index = key.integer() < 0 ? key.integer() + size : key.integer();
    if (index < 0 || index >= size)
      return Value::undefined(fmt::format("element {}", key.integer()));
    return object.is_list() ? object.list()[static_cast<size_t>(index)]
                            : object.elements()[static_cast<size_t>(index)];
  }
  require<ValueError>(!object.is_undefined(), "chat template: '{}' is undefined",
                      object.undefined_name());
  return Value::undefined(key.to_text());
}

Value get_attribute(const Value& object, std::string_view path) {
  Value value = object;
  while (!path.empty()) {
    const size_t dot = std::min(path.find('.'), path.size());
    const std::string part(path.substr(0, dot));
    const bool number =
        !part.empty() && part.size() < 10 && part.find_first_not_of("0123456789") == part.npos;
    value = get_item(value, number ? Value(static_cast<int64_t>(std::stoll(part))) : Value(part));
    path.remove_prefix(std::min(dot + 1, path.size()));
  }
  return value;
}

}  // namespace glassformer::jinja
