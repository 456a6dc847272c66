#include "fuzz/fuzz_target.h"
#include "fuzz/stored.h"
#include "glassformer/checkpoint/safetensors.h"

FUZZ_TARGET(safetensors) {
  const glassformer::SafetensorsFile file(glassformer::testing::storage_of(bytes), "input");
  glassformer::testing::read_everything(file);
}
