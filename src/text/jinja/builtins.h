#pragma once

#include <string_view>

#include "text/jinja/value.h"

namespace glassformer::jinja {

// All throw ValueError for wrong arguments.
Value apply_filter(std::string_view name, const Value& value, const Arguments& arguments);
bool apply_test(std::string_view name, const Value& value, const Arguments& arguments);
// A method of a string or a dictionary; false where there is none of this name.
bool call_method(const Value& object, std::string_view name, const Arguments& arguments,
                 Value& result);
// range, namespace, dict, raise_exception, strftime_now.
const Value* find_global(std::string_view name);
// Python's attribute: "a.b" as selectattr and its like take it.
Value get_attribute(const Value& object, std::string_view path);
// object[key], undefined where it is not there.
Value get_item(const Value& object, const Value& key);

// No string or list of a template grows beyond this.
constexpr size_t kLargest = size_t{16} << 20;
void check_size(size_t size);

}  // namespace glassformer::jinja
