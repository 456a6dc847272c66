#include "base/json.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/check.h"
#include "base/json_builder.h"
#include "base/mapped_file.h"
#include "base/nearest.h"

namespace glassformer {
namespace {

constexpr size_t kMaxFile = size_t{1} << 30;

bool is_whole(const Json& value) {
  return value.is_number_integer() &&
         !(value.is_number_unsigned() && value.get<uint64_t>() > uint64_t{INT64_MAX});
}

}  // namespace

Json parse_json(std::string_view text, std::string_view where) {
  JsonBuilder builder(where);
  Json::sax_parse(text.begin(), text.end(), &builder);
  return builder.take();
}

Json read_json(const std::filesystem::path& path, JsonParser parse) {
  const MappedFile file(path);
  require<FileError>(file.bytes() <= kMaxFile, "{}: JSON of {} bytes; at most {} are read",
                     path.string(), file.bytes(), kMaxFile);
  return parse({reinterpret_cast<const char*>(file.data()), file.bytes()}, path.string());
}

JsonFields::JsonFields(const Json& object, std::string where)
    : object_(&object), where_(std::move(where)) {
  require<FileError>(object.is_object(), "{}: expected a JSON object, found {}", where_,
                     describe(object));
}

const Json* JsonFields::find(std::string_view name) const {
  const auto field = object_->find(name);
  return field == object_->end() || field->is_null() ? nullptr : &*field;
}

const Json& JsonFields::at(std::string_view name) const {
  const Json* field = find(name);
  require<FileError>(field != nullptr, "{}: field '{}' is missing", where_, name);
  return *field;
}

int64_t JsonFields::integer(std::string_view name) const {
  if (!is_whole(at(name))) fail(name, "a whole number");
  return at(name).get<int64_t>();
}

double JsonFields::number(std::string_view name) const {
  if (!at(name).is_number()) fail(name, "a number");
  return at(name).get<double>();
}

bool JsonFields::boolean(std::string_view name) const {
  if (!at(name).is_boolean()) fail(name, "true or false");
  return at(name).get<bool>();
}

std::string JsonFields::text(std::string_view name) const {
  if (!at(name).is_string()) fail(name, "a string");
  return at(name).get<std::string>();
}

std::vector<int64_t> JsonFields::integers(std::string_view name) const {
  const Json& list = at(name);
  if (!list.is_array()) fail(name, "a list of whole numbers");
  std::vector<int64_t> numbers;
  numbers.reserve(list.size());
  for (const Json& value : list) {
    if (!is_whole(value)) fail(name, "a list of whole numbers");
    numbers.push_back(value.get<int64_t>());
  }
  return numbers;
}

std::vector<std::string> JsonFields::texts(std::string_view name) const {
  const Json& list = at(name);
  if (!list.is_array()) fail(name, "a list of strings");
  std::vector<std::string> texts;
  texts.reserve(list.size());
  for (const Json& value : list) {
    if (!value.is_string()) fail(name, "a list of strings");
    texts.push_back(value.get<std::string>());
  }
  return texts;
}

JsonFields JsonFields::object(std::string_view name) const {
  return {at(name), fmt::format("{}: {}", where_, name)};
}

int64_t JsonFields::integer(std::string_view name, int64_t otherwise) const {
  return has(name) ? integer(name) : otherwise;
}

double JsonFields::number(std::string_view name, double otherwise) const {
  return has(name) ? number(name) : otherwise;
}

bool JsonFields::boolean(std::string_view name, bool otherwise) const {
  return has(name) ? boolean(name) : otherwise;
}

std::string JsonFields::text(std::string_view name, std::string_view otherwise) const {
  return has(name) ? text(name) : std::string(otherwise);
}

void JsonFields::reject_unknown(std::span<const std::string_view> known) const {
  for (const auto& [name, value] : object_->items())
    require<FileError>(std::find(known.begin(), known.end(), name) != known.end(),
                       "{}: unknown field '{}'{}", where_, name, nearest_hint(name, known));
}

void JsonFields::fail(std::string_view name, std::string_view expected) const {
  const Json* found = find(name);
  throw FileError(fmt::format("{}: field '{}' must be {}, found {}", where_, name, expected,
                              found ? describe(*found) : "nothing"));
}

std::string describe(const Json& value) {
  if (value.is_array()) return fmt::format("a list of {}", value.size());
  if (value.is_binary()) return "a table";
  if (value.is_object()) return fmt::format("an object of {} fields", value.size());
  std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  constexpr size_t kShown = 60;
  return text.size() <= kShown ? text : text.substr(0, kShown) + "...";
}

}  // namespace glassformer
