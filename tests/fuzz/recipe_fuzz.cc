// Any config.json is a recipe or one error, and never costs much memory.

#include "fuzz/fuzz_target.h"
#include "models/recipe.h"

FUZZ_TARGET(recipe) {
  const glassformer::Json json =
      glassformer::parse_json({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, "input");
  glassformer::make_recipe(glassformer::JsonFields(json, "input"));
}
