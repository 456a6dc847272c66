#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace glassformer {

using Json = nlohmann::json;

// JSON from a stranger. Throws FileError, naming `where`, for text that is no JSON, that nests
// deeper than 200 levels, or that names a key of an object twice.
Json parse_json(std::string_view text, std::string_view where);
// The same from a file, or by another parser of the kind. Throws FileError also for a file that
// cannot be read or is over 1 GiB.
using JsonParser = Json (*)(std::string_view text, std::string_view where);
Json read_json(const std::filesystem::path& path, JsonParser parse = parse_json);

// The fields of a JSON object, with errors that say where, which field, what was expected and what
// was found. A field that is null counts as absent. Throws FileError.
class JsonFields {
 public:
  // `where` names the object in messages: a file, or a file and the path to a nested object.
  JsonFields(const Json& object, std::string where);

  bool has(std::string_view name) const { return find(name) != nullptr; }
  // Null where the field is absent.
  const Json* find(std::string_view name) const;
  // Throws where the field is absent.
  const Json& at(std::string_view name) const;

  int64_t integer(std::string_view name) const;
  double number(std::string_view name) const;
  bool boolean(std::string_view name) const;
  std::string text(std::string_view name) const;
  std::vector<int64_t> integers(std::string_view name) const;
  std::vector<std::string> texts(std::string_view name) const;
  JsonFields object(std::string_view name) const;

  int64_t integer(std::string_view name, int64_t otherwise) const;
  double number(std::string_view name, double otherwise) const;
  bool boolean(std::string_view name, bool otherwise) const;
  std::string text(std::string_view name, std::string_view otherwise) const;

  // Throws FileError for a field that is none of `known`, with those that come near.
  void reject_unknown(std::span<const std::string_view> known) const;
  void reject_unknown(std::initializer_list<std::string_view> known) const {
    reject_unknown(std::span(known.begin(), known.size()));
  }

  const std::string& where() const { return where_; }
  const Json& json() const { return *object_; }
  // Throws a FileError: "where: field 'name' must be `expected`, found ...".
  [[noreturn]] void fail(std::string_view name, std::string_view expected) const;

 private:
  const Json* object_;  // the caller's; it outlives this
  std::string where_;
};

// What a message says was found: the value itself where it is short, otherwise its kind.
std::string describe(const Json& value);

}  // namespace glassformer
