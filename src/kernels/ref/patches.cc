#include "kernels/patches.h"

#include "kernels/access.h"
#include "kernels/ref/register.h"

namespace glassformer::ref {
namespace {

// body(offset in image, offset in patches) for every element.
template <class F>
void for_elements(const Tensor& image, PatchSize size, F&& body) {
  const int64_t channels = image.size(1), width = image.size(3);
  int64_t in_patches = 0;
  for (int64_t b = 0; b < image.size(0); ++b)
    for (int64_t y = 0; y < image.size(2); y += size.height)
      for (int64_t x = 0; x < width; x += size.width)
        for (int64_t c = 0; c < channels; ++c)
          for (int64_t i = 0; i < size.height; ++i)
            for (int64_t j = 0; j < size.width; ++j)
              body(((b * channels + c) * image.size(2) + y + i) * width + x + j, in_patches++);
}

template <class T>
void extract(const Tensor& image, const Tensor& patches, PatchSize size) {
  for_elements(image, size, [&](int64_t in_image, int64_t in_patches) {
    output<T>(patches)[in_patches] = input<T>(image)[in_image];
  });
}

template <class T>
void assemble(const Tensor& patches, const Tensor& image, PatchSize size) {
  for_elements(image, size, [&](int64_t in_image, int64_t in_patches) {
    output<T>(image)[in_image] = input<T>(patches)[in_patches];
  });
}

}  // namespace

void register_patches(Device device) {
  add_both(kExtractPatches, device, extract<float>, extract<double>);
  add_both(kAssemblePatches, device, assemble<float>, assemble<double>);
}

}  // namespace glassformer::ref
