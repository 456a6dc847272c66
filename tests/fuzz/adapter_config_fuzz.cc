// Any adapter_config.json is the options of an adapter or one error.

#include "fuzz/fuzz_target.h"
#include "models/adapter_file.h"

FUZZ_TARGET(adapter_config) {
  const glassformer::Json json =
      glassformer::parse_json({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, "input");
  glassformer::adapter_options(glassformer::JsonFields(json, "input"));
}
