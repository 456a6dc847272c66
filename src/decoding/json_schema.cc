#include "decoding/json_schema.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/check.h"
#include "base/json.h"
#include "decoding/regex_pattern.h"

namespace glassformer {
namespace {

// Properties are written in the order in which the schema has them.
using Schema = nlohmann::ordered_json;

constexpr int kDeepest = 32;
constexpr int kAnyDepth = 2;  // how deep a value nests that no schema describes
constexpr int64_t kMostCount = 100000;

class Compiler {
 public:
  explicit Compiler(const Schema& root) : root_(root) {}

  PatternPtr compile(const Schema& schema, const std::string& place) {
    require<ValueError>(++depth_ <= kDeepest, "json_schema: {} nests deeper than {}", place,
                        kDeepest);
    PatternPtr pattern = described(schema, place);
    --depth_;
    return pattern;
  }

 private:
  [[noreturn]] static void fail(const std::string& place, const std::string& what) {
    throw ValueError(fmt::format("json_schema: {}: {}", place, what));
  }

  PatternPtr described(const Schema& schema, const std::string& place) {
    if (schema.is_boolean() && schema.get<bool>()) return any(kAnyDepth);
    if (!schema.is_object()) fail(place, "expected an object or true, found " + found(schema));
    check_keywords(schema, place);
    if (schema.contains("$ref")) return reference(schema["$ref"], place);
    if (schema.contains("const")) return literal(schema["const"].dump());
    if (schema.contains("enum")) return enumeration(schema["enum"], place + "/enum");
    for (const char* name : {"anyOf", "oneOf"})
      if (schema.contains(name)) return alternatives(schema[name], place + "/" + name);
    if (!schema.contains("type")) {
      if (schema.contains("properties")) return object(schema, place);
      if (schema.contains("items")) return array(schema, place);
      return any(kAnyDepth);
    }
    const Schema& type = schema["type"];
    if (!type.is_array()) return typed(type, schema, place);
    std::vector<PatternPtr> choices;
    for (const Schema& one : type) choices.push_back(typed(one, schema, place));
    if (choices.empty()) fail(place + "/type", "an empty list");
    return choice(std::move(choices));
  }

  static std::string found(const Schema& schema) { return describe(Json(schema)); }

  static void check_keywords(const Schema& schema, const std::string& place) {
    static const std::set<std::string> known = {
        "$ref",  "$defs",       "definitions", "$schema",    "$id",       "$comment",
        "title", "description", "default",     "examples",   "const",     "enum",
        "anyOf", "oneOf",       "type",        "properties", "required",  "additionalProperties",
        "items", "minItems",    "maxItems",    "minLength",  "maxLength", "pattern"};
    for (const auto& [name, value] : schema.items())
      if (!known.contains(name)) fail(place, "the keyword '" + name + "' is not supported");
  }

  PatternPtr reference(const Schema& ref, const std::string& place) {
    if (!ref.is_string() || !ref.get<std::string>().starts_with("#/"))
      fail(place + "/$ref", "expected \"#/...\", found " + found(ref));
    const auto target = ref.get<std::string>();
    if (const auto known = references_.find(target); known != references_.end()) {
      if (!known->second) fail(place, target + " refers to itself, which no automaton can follow");
      return known->second;
    }
    const Schema* schema = nullptr;
    try {
      schema = &root_.at(Schema::json_pointer(target.substr(1)));
    } catch (const Schema::exception&) {
      fail(place, target + " is not there");
    }
    references_[target] = nullptr;  // being worked out
    return references_[target] = compile(*schema, target);
  }

  static PatternPtr enumeration(const Schema& values, const std::string& place) {
    if (!values.is_array() || values.empty())
      fail(place, "expected a list, found " + found(values));
    std::vector<PatternPtr> choices;
    for (const Schema& value : values) choices.push_back(literal(value.dump()));
    return choice(std::move(choices));
  }

  PatternPtr alternatives(const Schema& schemas, const std::string& place) {
    if (!schemas.is_array() || schemas.empty())
      fail(place, "expected a list of schemas, found " + found(schemas));
    std::vector<PatternPtr> choices;
    for (size_t i = 0; i < schemas.size(); ++i)
      choices.push_back(compile(schemas[i], place + "/" + std::to_string(i)));
    return choice(std::move(choices));
  }

  PatternPtr typed(const Schema& type, const Schema& schema, const std::string& place) {
    if (type == "object") return object(schema, place);
    if (type == "array") return array(schema, place);
    if (type == "string") return text(schema, place);
    if (type == "number") return number();
    if (type == "integer") return integer();
    if (type == "boolean") return choice({literal("true"), literal("false")});
    if (type == "null") return literal("null");
    fail(place + "/type", "unknown type " + found(type));
  }

  static int64_t count(const Schema& schema, const char* name, const std::string& place,
                       int64_t otherwise) {
    if (!schema.contains(name)) return otherwise;
    const Schema& value = schema[name];
    if (!value.is_number_integer() || value < 0 || value > kMostCount)
      fail(place + "/" + name,
           fmt::format("expected a whole number up to {}, found {}", kMostCount, found(value)));
    return value.get<int64_t>();
  }

  // Of a count of things: [least, most]; most is none where there is no limit.
  static std::pair<int64_t, std::optional<int64_t>> counts(const Schema& schema, const char* min,
                                                           const char* max,
                                                           const std::string& place) {
    const int64_t least = count(schema, min, place, 0), most = count(schema, max, place, -1);
    if (most >= 0 && most < least) fail(place, fmt::format("{} is below {}", max, min));
    return {least, most >= 0 ? std::optional(most) : std::nullopt};
  }

  static PatternPtr text(const Schema& schema, const std::string& place) {
    const auto [least, most] = counts(schema, "minLength", "maxLength", place);
    PatternPtr content;
    if (schema.contains("pattern")) {
      if (!schema["pattern"].is_string())
        fail(place + "/pattern", "expected a string, found " + found(schema["pattern"]));
      if (least > 0 || most) fail(place, "pattern together with minLength or maxLength");
      content = parse_regex(schema["pattern"].get<std::string>(), /*in_json_string=*/true);
    } else {
      CharacterSet all;
      content = repeat(json_characters(all.inverted()), least, most);
    }
    return sequence({literal("\""), content, literal("\"")});
  }

  // Bounded, so that a model cannot go on with digits for ever.
  static PatternPtr integer() { return parse_regex("-?(0|[1-9][0-9]{0,17})"); }
  static PatternPtr number() {
    return parse_regex("-?(0|[1-9][0-9]{0,17})(\\.[0-9]{1,17})?([eE][-+]?[0-9]{1,3})?");
  }
  static PatternPtr separator(char mark) {
    return sequence({literal({&mark, 1}), parse_regex(" ?")});
  }

  // least to most elements with commas between them.
  static PatternPtr list(const PatternPtr& element, int64_t least, std::optional<int64_t> most) {
    if (most && *most == 0) return sequence({});
    const auto more = most ? std::optional(*most - 1) : std::nullopt;
    PatternPtr some = sequence({element, repeat(sequence({separator(','), element}),
                                                std::max<int64_t>(0, least - 1), more)});
    return least == 0 ? optional(std::move(some)) : some;
  }

  PatternPtr array(const Schema& schema, const std::string& place) {
    const auto [least, most] = counts(schema, "minItems", "maxItems", place);
    const PatternPtr element =
        schema.contains("items") ? compile(schema["items"], place + "/items") : any(kAnyDepth - 1);
    return sequence({literal("["), list(element, least, most), literal("]")});
  }

  static PatternPtr any_text() { return text(Schema::object(), ""); }

  PatternPtr object(const Schema& schema, const std::string& place) {
    const Schema properties = schema.value("properties", Schema::object());
    const Schema required = schema.value("required", Schema::array());
    const Schema more = schema.value("additionalProperties", Schema(properties.empty()));
    if (!properties.is_object()) fail(place + "/properties", "expected an object");
    if (!required.is_array()) fail(place + "/required", "expected a list of names");
    for (const Schema& name : required)
      if (!name.is_string() || !properties.contains(name.get<std::string>()))
        fail(place + "/required", found(name) + " is not among the properties");
    if (properties.empty() && (!more.is_boolean() || more.get<bool>())) {
      const PatternPtr value =
          more.is_boolean() ? any(kAnyDepth - 1) : compile(more, place + "/additionalProperties");
      return sequence({literal("{"),
                       list(sequence({any_text(), separator(':'), value}), 0, std::nullopt),
                       literal("}")});
    }
    std::vector<PatternPtr> members;
    std::vector<bool> needed;
    for (const auto& [name, value] : properties.items()) {
      members.push_back(sequence({literal(Schema(name).dump()), separator(':'),
                                  compile(value, fmt::format("{}/properties/{}", place, name))}));
      needed.push_back(std::find(required.begin(), required.end(), name) != required.end());
    }
    return sequence({literal("{"), members_in_order(members, needed), literal("}")});
  }

  // One of the members comes first; each later one has a comma before it.
  static PatternPtr members_in_order(const std::vector<PatternPtr>& members,
                                     const std::vector<bool>& needed) {
    std::vector<PatternPtr> choices;
    for (size_t first = 0; first < members.size(); ++first) {
      std::vector<PatternPtr> parts = {members[first]};
      for (size_t i = first + 1; i < members.size(); ++i) {
        PatternPtr member = sequence({separator(','), members[i]});
        parts.push_back(needed[i] ? member : optional(member));
      }
      choices.push_back(sequence(std::move(parts)));
      if (needed[first]) return choice(std::move(choices));
    }
    choices.push_back(sequence({}));
    return choice(std::move(choices));
  }

  // Any value that nests at most so deep.
  static PatternPtr any(int depth) {
    std::vector<PatternPtr> choices = {literal("true"), literal("false"), literal("null"), number(),
                                       any_text()};
    if (depth > 0) {
      const PatternPtr inner = any(depth - 1);
      const PatternPtr member = sequence({any_text(), separator(':'), inner});
      choices.push_back(sequence({literal("["), list(inner, 0, std::nullopt), literal("]")}));
      choices.push_back(sequence({literal("{"), list(member, 0, std::nullopt), literal("}")}));
    }
    return choice(std::move(choices));
  }

  const Schema& root_;
  std::map<std::string, PatternPtr> references_;  // null while being worked out
  int depth_ = 0;
};

}  // namespace

PatternPtr parse_json_schema(const std::string& schema) {
  try {
    parse_json(schema, "json_schema");  // refuses depth and repeated keys
    const Schema root = Schema::parse(schema);
    return Compiler(root).compile(root, "#");
  } catch (const FileError& error) {
    throw ValueError(error.what());
  } catch (const Schema::exception& error) {
    throw ValueError(fmt::format("json_schema: {}", error.what()));
  }
}

}  // namespace glassformer
