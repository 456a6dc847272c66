// Any bytes are a YAML document or a FileError.

#include "fuzz/fuzz_target.h"
#include "training/yaml.h"

FUZZ_TARGET(yaml) {
  glassformer::parse_yaml({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, "input");
}
