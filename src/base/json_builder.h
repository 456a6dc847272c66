#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/json.h"

namespace glassformer {

// Builds the value from the parser's events. Depth is refused as it appears and repeated keys where
// their object ends, so that a hostile text costs little more than its own length. (The library's
// own parser with a callback looks through the whole parent whenever an object ends.)
class JsonBuilder : public nlohmann::json_sax<Json> {
 public:
  explicit JsonBuilder(std::string_view where) : where_(where) {}
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

 protected:
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
    require<FileError>(open_.size() < kMaxDepth, "{}: nests deeper than {} levels", where_,
                       kMaxDepth);
    Json& placed = place(std::move(value));
    open_.push_back({&placed, {}});
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  static constexpr size_t kMaxDepth = 200;
  std::string_view where_;
  Json root_;
  std::vector<Open> open_;  // a list or a row of fields grows only while it is the last of these
};

}  // namespace glassformer
