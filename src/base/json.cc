#include "base/json.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/check.h"
#include "base/mapped_file.h"

namespace glassformer {
namespace {

constexpr size_t kMaxDepth = 200;
constexpr size_t kMaxFile = size_t{1} << 30;

// Builds the value from the parser's events. Depth is refused as it appears and repeated keys where
// their object ends, so that a hostile text costs little more than its own length. (The library's
// own parser with a callback looks through the whole parent whenever an object ends.)
class Builder final : public nlohmann::json_sax<Json> {
 public:
  explicit Builder(std::string_view where) : where_(where) {}
  Json take() { return std::move(root_); }

  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(int64_t value) override { return put(value); }
  bool number_unsigned(uint64_t value) override { return put(value); }
  bool number_float(double value, const std::string& /*text*/) override { return put(value); }
  bool string(std::string& value) override { return put(std::move(value)); }
  bool binary(Json::binary_t& value) override { return put(std::move(value)); }
  bool start_object(size_t /*size*/) override { return open(Json::object()); }
  bool start_array(size_t /*size*/) override { return open(Json::array()); }
  bool end_array() override { return close(); }

  bool key(std::string& key) override {
    open_.back().fields.emplace_back(std::move(key), nullptr);
    return true;
  }
  bool end_object() override {
    // Sorted first: a vocabulary's tree is then built, and later walked, in the order of memory.
    auto& object = open_.back().value->get_ref<Json::object_t&>();
    for (Field* field : sorted(open_.back().fields)) {
      require<FileError>(object.empty() || object.rbegin()->first != field->first,
                         "{}: the key '{}' is there twice", where_, field->first);
      object.emplace_hint(object.end(), std::move(field->first), std::move(field->second));
    }
    return close();
  }

  bool parse_error(size_t /*position*/, const std::string& /*token*/,
                   const Json::exception& error) override {
    throw FileError(fmt::format("{}: not JSON: {}", where_, error.what()));
  }

 private:
  using Field = std::pair<std::string, Json>;
  struct Open {
    Json* value;
    std::vector<Field> fields;  // of an object, which gets them when it ends
  };

  // By their names. The first bytes settle most comparisons without a look at the text.
  static std::vector<Field*> sorted(std::vector<Field>& fields) {
    struct Key {
      uint64_t start;
      Field* field;
      bool operator<(const Key& other) const {
        return start != other.start ? start < other.start : field->first < other.field->first;
      }
    };
    std::vector<Key> keys;
    keys.reserve(fields.size());
    for (Field& field : fields) {
      uint64_t start = 0;
      for (size_t i = 0; i < 8; ++i)
        start = start << 8 | (i < field.first.size() ? static_cast<uint8_t>(field.first[i]) : 0);
      keys.push_back({start, &field});
    }
    std::sort(keys.begin(), keys.end());
    std::vector<Field*> result;
    result.reserve(keys.size());
    for (const Key& key : keys) result.push_back(key.field);
    return result;
  }

  Json& place(Json value) {
    if (open_.empty()) return root_ = std::move(value);
    if (!open_.back().value->is_array())
      return open_.back().fields.back().second = std::move(value);
    return open_.back().value->get_ref<Json::array_t&>().emplace_back(std::move(value));
  }
  bool put(Json value) {
    place(std::move(value));
    return true;
  }
  bool open(Json value) {
    require<FileError>(open_.size() < kMaxDepth, "{}: JSON nests deeper than {} levels", where_,
                       kMaxDepth);
    Json& placed = place(std::move(value));
    open_.push_back({&placed, {}});
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  std::string_view where_;
  Json root_;
  std::vector<Open> open_;  // a list or a row of fields grows only while it is the last of these
};

bool is_whole(const Json& value) {
  return value.is_number_integer() &&
         !(value.is_number_unsigned() && value.get<uint64_t>() > uint64_t{INT64_MAX});
}

}  // namespace

Json parse_json(std::string_view text, std::string_view where) {
  Builder builder(where);
  Json::sax_parse(text.begin(), text.end(), &builder);
  return builder.take();
}

Json read_json(const std::filesystem::path& path) {
  const MappedFile file(path);
  require<FileError>(file.bytes() <= kMaxFile, "{}: JSON of {} bytes; at most {} are read",
                     path.string(), file.bytes(), kMaxFile);
  return parse_json({reinterpret_cast<const char*>(file.data()), file.bytes()}, path.string());
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

void JsonFields::fail(std::string_view name, std::string_view expected) const {
  const Json* found = find(name);
  throw FileError(fmt::format("{}: field '{}' must be {}, found {}", where_, name, expected,
                              found ? describe(*found) : "nothing"));
}

std::string describe(const Json& value) {
  if (value.is_array()) return fmt::format("a list of {}", value.size());
  if (value.is_object()) return fmt::format("an object of {} fields", value.size());
  std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  constexpr size_t kShown = 60;
  return text.size() <= kShown ? text : text.substr(0, kShown) + "...";
}

}  // namespace glassformer
