#include "text/jinja/value.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "text/utf8.h"

namespace glassformer::jinja {
namespace {

constexpr int kDeepest = 100;

[[noreturn]] void wrong_kind(const char* expected, const Value& found) {
  throw ValueError(
      found.is_undefined()
          ? fmt::format("chat template: '{}' is undefined", found.undefined_name())
          : fmt::format("chat template: expected {}, found {}", expected, found.kind()));
}

std::string quote_json(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    switch (c) {
      case '"': result += "\\\""; break;
      case '\\': result += "\\\\"; break;
      case '\n': result += "\\n"; break;
      case '\r': result += "\\r"; break;
      case '\t': result += "\\t"; break;
      case '\b': result += "\\b"; break;
      case '\f': result += "\\f"; break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          result += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
        } else {
          result += c;
        }
    }
  }
  return result += '"';
}

std::string quote_python(const std::string& text) {
  const char mark = text.find('\'') != text.npos && text.find('"') == text.npos ? '"' : '\'';
  std::string result(1, mark);
  for (const char c : text) {
    switch (c) {
      case '\n': result += "\\n"; break;
      case '\r': result += "\\r"; break;
      case '\t': result += "\\t"; break;
      case '\\': result += "\\\\"; break;
      default:
        if (c == mark) result += '\\';
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
          result += fmt::format("\\x{:02x}", static_cast<unsigned>(c));
        } else {
          result += c;
        }
    }
  }
  return result += mark;
}

}  // namespace

const Value* Dict::find(std::string_view key) const {
  for (const auto& [name, value] : items)
    if (name == key) return &value;
  return nullptr;
}

void Dict::set(std::string_view key, Value value) {
  for (auto& [name, old] : items)
    if (name == key) {
      old = std::move(value);
      return;
    }
  items.emplace_back(key, std::move(value));
}

const Value* Arguments::find(size_t index, std::string_view name) const {
  if (index < positional.size()) return &positional[index];
  for (const auto& [key, value] : named)
    if (key == name) return &value;
  return nullptr;
}

Value Value::undefined(std::string name) {
  Value value;
  value.data_ = Undefined{std::move(name)};
  return value;
}

Value Value::from_json(const nlohmann::ordered_json& json) {
  if (json.is_null()) return None{};
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_float() || (json.is_number_unsigned() && json.get<uint64_t>() > INT64_MAX))
    return json.get<double>();
  if (json.is_number()) return json.get<int64_t>();
  if (json.is_string()) return json.get<std::string>();
  if (json.is_array()) {
    List list;
    for (const auto& one : json) list.push_back(from_json(one));
    return list;
  }
  Dict dict;
  for (const auto& [key, one] : json.items()) dict.items.emplace_back(key, from_json(one));
  return dict;
}

const char* Value::kind() const {
  constexpr const char* kNames[] = {"something undefined",
                                    "none",
                                    "a boolean",
                                    "a whole number",
                                    "a number",
                                    "a string",
                                    "a list",
                                    "a dictionary",
                                    "a function"};
  return kNames[data_.index()];
}

std::string Value::undefined_name() const {
  const auto* undefined = std::get_if<Undefined>(&data_);
  return undefined != nullptr ? undefined->name : "";
}

const std::string& Value::text() const {
  if (!is_text()) wrong_kind("a string", *this);
  return std::get<std::string>(data_);
}
const List& Value::list() const {
  if (!is_list()) wrong_kind("a list", *this);
  return *std::get<std::shared_ptr<List>>(data_);
}
const Dict& Value::dict() const {
  if (!is_dict()) wrong_kind("a dictionary", *this);
  return *std::get<std::shared_ptr<Dict>>(data_);
}
Dict& Value::mutable_dict() const {
  if (!is_dict()) wrong_kind("a namespace", *this);
  return *std::get<std::shared_ptr<Dict>>(data_);
}
int64_t Value::integer() const {
  if (is_boolean()) return std::get<bool>(data_) ? 1 : 0;
  if (!is_integer()) wrong_kind("a whole number", *this);
  return std::get<int64_t>(data_);
}
double Value::real() const {
  if (is_real()) return std::get<double>(data_);
  if (!is_number()) wrong_kind("a number", *this);
  return static_cast<double>(integer());
}
Value Value::call(const Arguments& arguments) const {
  if (!is_function()) wrong_kind("a function", *this);
  return (*std::get<std::shared_ptr<Function>>(data_))(arguments);
}

bool Value::truth() const {
  if (is_undefined() || is_none()) return false;
  if (is_boolean()) return std::get<bool>(data_);
  if (is_integer()) return integer() != 0;
  if (is_real()) return real() != 0;
  if (is_text()) return !text().empty();
  if (is_list()) return !list().empty();
  if (is_dict()) return dict().is_namespace || !dict().items.empty();
  return true;
}

size_t Value::length() const {
  if (is_undefined()) return 0;
  if (is_text()) return count_characters(text());
  if (is_dict()) return dict().items.size();
  return list().size();
}

List Value::elements() const {
  if (is_undefined()) return {};
  if (is_list()) return list();
  List result;
  if (is_dict()) {
    for (const auto& [key, value] : dict().items) result.emplace_back(key);
  } else if (is_text()) {
    const std::string& all = text();
    for (size_t at = 0; at < all.size();) {
      const size_t size = character_size(all[at]);
      result.emplace_back(all.substr(at, size));
      at += size;
    }
  } else {
    wrong_kind("something to loop over", *this);
  }
  return result;
}

std::string real_to_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == text.npos) text += ".0";
  return text;
}

std::string Value::to_text() const {
  if (is_undefined()) return {};
  return is_text() ? text() : repr();
}

std::string Value::repr(int depth) const {
  require<ValueError>(depth < kDeepest, "chat template: a value nests deeper than {} levels",
                      kDeepest);
  if (is_undefined()) return "Undefined";
  if (is_none()) return "None";
  if (is_boolean()) return std::get<bool>(data_) ? "True" : "False";
  if (is_integer()) return std::to_string(integer());
  if (is_real()) return real_to_text(real());
  if (is_text()) return quote_python(text());
  std::string result;
  if (is_list()) {
    for (const Value& one : list()) (result += result.empty() ? "" : ", ") += one.repr(depth + 1);
    return fmt::format("[{}]", result);
  }
  if (is_dict()) {
    for (const auto& [key, one] : dict().items)
      result += fmt::format("{}{}: {}", result.empty() ? "" : ", ", quote_python(key),
                            one.repr(depth + 1));
    return fmt::format("{{{}}}", result);
  }
  return "<function>";
}

bool Value::equals(const Value& other) const {
  if (is_number() && other.is_number()) return real() == other.real();
  if (data_.index() != other.data_.index()) return false;
  if (is_text()) return text() == other.text();
  if (is_list())
    return std::equal(list().begin(), list().end(), other.list().begin(), other.list().end(),
                      [](const Value& a, const Value& b) { return a.equals(b); });
  if (is_dict()) {
    if (dict().items.size() != other.dict().items.size()) return false;
    return std::all_of(dict().items.begin(), dict().items.end(), [&](const auto& item) {
      const Value* same = other.dict().find(item.first);
      return same != nullptr && item.second.equals(*same);
    });
  }
  return is_undefined() || is_none();
}

int Value::compare(const Value& other) const {
  if (is_text() && other.is_text()) return text().compare(other.text());
  const double a = real();
  const double b = other.real();
  return a < b ? -1 : a > b ? 1 : 0;
}

bool Value::contains(const Value& item) const {
  if (is_text()) return text().find(item.text()) != std::string::npos;
  if (is_dict()) return item.is_text() && dict().find(item.text()) != nullptr;
  if (is_undefined()) return false;
  return std::any_of(list().begin(), list().end(),
                     [&](const Value& one) { return one.equals(item); });
}

std::string to_json(const Value& value, int indent, bool sort, int depth) {
  require<ValueError>(depth < kDeepest, "chat template: a value nests deeper than {} levels",
                      kDeepest);
  if (value.is_none()) return "null";
  if (value.is_boolean()) return value.truth() ? "true" : "false";
  if (value.is_integer()) return std::to_string(value.integer());
  if (value.is_real()) return real_to_text(value.real());
  if (value.is_text()) return quote_json(value.text());
  std::vector<std::string> parts;
  if (value.is_list()) {
    for (const Value& one : value.list()) parts.push_back(to_json(one, indent, sort, depth + 1));
  } else {
    auto items = value.dict().items;  // throws for what JSON does not have
    if (sort)
      std::stable_sort(items.begin(), items.end(),
                       [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [key, one] : items)
      parts.push_back(
          fmt::format("{}: {}", quote_json(key), to_json(one, indent, sort, depth + 1)));
  }
  const bool is_list = value.is_list();
  if (parts.empty()) return is_list ? "[]" : "{}";
  std::string inner;
  if (indent < 0) {
    inner = fmt::format("{}", fmt::join(parts, ", "));
  } else {
    const std::string margin(static_cast<size_t>(indent) * static_cast<size_t>(depth + 1), ' ');
    const std::string outer(static_cast<size_t>(indent) * static_cast<size_t>(depth), ' ');
    inner = fmt::format("\n{}{}\n{}", margin, fmt::join(parts, ",\n" + margin), outer);
  }
  return is_list ? fmt::format("[{}]", inner) : fmt::format("{{{}}}", inner);
}

}  // namespace glassformer::jinja
