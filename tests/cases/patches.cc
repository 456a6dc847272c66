#include "glassformer/ops/patches.h"

#include "support/op_case.h"

namespace glassformer::testing {

std::vector<OpCase> cases_patches() {
  const auto patches = [](int64_t height, int64_t width) {
    return [height, width](const std::vector<Tensor>& in) {
      return std::vector{extract_patches(in[0], height, width)};
    };
  };
  return {
      {.op = "extract_patches",
       .name = "vit",
       .inputs = {{{2, 3, 32, 48}}},
       .run = patches(16, 16),
       .bench_inputs = {{{64, 3, 224, 224}}}},
      {.op = "extract_patches",
       .name = "oblong",
       .inputs = {{{2, 2, 6, 15}}},
       .run = patches(3, 5)},
      {.op = "extract_patches", .name = "pixels", .inputs = {{{1, 3, 2, 4}}}, .run = patches(1, 1)},
      {.op = "extract_patches",
       .name = "no_images",
       .inputs = {{{0, 3, 4, 4}}},
       .run = patches(2, 2)},
  };
}

}  // namespace glassformer::testing
