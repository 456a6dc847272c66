#include "base/json.h"
#include "fuzz/fuzz_target.h"

using glassformer::JsonFields;

FUZZ_TARGET(json) {
  const glassformer::Json json =
      glassformer::parse_json({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, "input");
  const JsonFields fields(json, "input");
  for (const auto& [name, value] : json.items()) {
    glassformer::describe(value);
    if (value.is_string()) fields.text(name);
    if (value.is_boolean()) fields.boolean(name);
    if (value.is_number()) fields.number(name);
    if (value.is_object()) fields.object(name).has("a");
    if (value.is_array()) fields.integers(name);
    fields.integer(name, 0);
  }
}
