#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

namespace glassformer::jinja {

class Value;
using List = std::vector<Value>;

// Keys in the order in which they came, as in Python.
struct Dict {
  std::vector<std::pair<std::string, Value>> items;
  bool is_namespace = false;  // its attributes may be set

  const Value* find(std::string_view key) const;
  void set(std::string_view key, Value value);
};

struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> named;

  // The argument at `index`, or the one of that name; null where it was not given.
  const Value* find(size_t index, std::string_view name) const;
};
using Function = std::function<Value(const Arguments&)>;

struct Undefined {
  std::string name;
};
struct None {};

// A value of a template, as Python has it. Lists and dictionaries are shared, not copied.
class Value {
 public:
  Value() : data_(Undefined{}) {}
  Value(None) : data_(None{}) {}                 // NOLINT(google-explicit-constructor)
  Value(bool b) : data_(b) {}                    // NOLINT(google-explicit-constructor)
  Value(int64_t i) : data_(i) {}                 // NOLINT(google-explicit-constructor)
  Value(double d) : data_(d) {}                  // NOLINT(google-explicit-constructor)
  Value(std::string s) : data_(std::move(s)) {}  // NOLINT(google-explicit-constructor)
  Value(List list) : data_(std::make_shared<List>(std::move(list))) {}    // NOLINT
  Value(Dict dict) : data_(std::make_shared<Dict>(std::move(dict))) {}    // NOLINT
  Value(Function f) : data_(std::make_shared<Function>(std::move(f))) {}  // NOLINT
  static Value undefined(std::string name);
  static Value from_json(const nlohmann::ordered_json& json);

  bool is_undefined() const { return std::holds_alternative<Undefined>(data_); }
  bool is_none() const { return std::holds_alternative<None>(data_); }
  bool is_boolean() const { return std::holds_alternative<bool>(data_); }
  bool is_integer() const { return std::holds_alternative<int64_t>(data_); }
  bool is_real() const { return std::holds_alternative<double>(data_); }
  bool is_number() const { return is_boolean() || is_integer() || is_real(); }
  bool is_text() const { return std::holds_alternative<std::string>(data_); }
  bool is_list() const { return std::holds_alternative<std::shared_ptr<List>>(data_); }
  bool is_dict() const { return std::holds_alternative<std::shared_ptr<Dict>>(data_); }
  bool is_function() const { return std::holds_alternative<std::shared_ptr<Function>>(data_); }

  // Each throws ValueError, saying what was expected, for another kind.
  const std::string& text() const;
  const List& list() const;
  const Dict& dict() const;
  Dict& mutable_dict() const;
  int64_t integer() const;
  double real() const;
  Value call(const Arguments& arguments) const;

  bool truth() const;
  size_t length() const;
  // What a loop goes over: elements, keys or characters.
  List elements() const;
  // Python's str() and repr().
  std::string to_text() const;
  std::string repr(int depth = 0) const;
  const char* kind() const;
  std::string undefined_name() const;

  bool equals(const Value& other) const;
  // Negative, zero or positive; throws ValueError for kinds that have no order.
  int compare(const Value& other) const;
  bool contains(const Value& item) const;

 private:
  std::variant<Undefined, None, bool, int64_t, double, std::string, std::shared_ptr<List>,
               std::shared_ptr<Dict>, std::shared_ptr<Function>>
      data_;
};

// json.dumps(value, ensure_ascii=False, indent=indent, sort_keys=sort); indent below 0 is none.
std::string to_json(const Value& value, int indent = -1, bool sort = false, int depth = 0);
std::string real_to_text(double value);

}  // namespace glassformer::jinja
