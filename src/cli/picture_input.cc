#include "cli/picture_input.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "glassformer/autograd/no_grad.h"
#include "glassformer/image/processor.h"
#include "glassformer/ops/arithmetic.h"
#include "glassformer/ops/copy.h"
#include "glassformer/ops/pointwise.h"
#include "glassformer/ops/reduce.h"
#include "glassformer/ops/view.h"

namespace glassformer {

void run_over_pictures(
    const Model& model, const std::filesystem::path& folder, const std::vector<std::string>& files,
    const std::function<void(const std::vector<size_t>&, const TransformerOutput&)>& take) {
  require<ValueError>(!files.empty(), "expected picture files, found none");
  const NoGrad no_grad;
  const ImageProcessor process = ImageProcessor::load(folder);
  const TensorOptions options = model.transformer().options();
  constexpr size_t kAtOnce = 8;
  for (size_t next = 0; next < files.size(); next += kAtOnce) {
    std::vector<size_t> numbers;
    std::vector<Image> images;
    for (size_t i = next; i < std::min(files.size(), next + kAtOnce); ++i) {
      numbers.push_back(i);
      images.push_back(read_image(files[i]));
    }
    TransformerInput input;
    input.pixel_values = to(cast(process(images), options.dtype), options.device);
    take(numbers, model(input));
  }
}

Tensor picture_vectors(const TransformerOutput& output, bool normalize) {
  const NoGrad no_grad;
  Tensor vectors = cast(output.pooler_output.defined() ? output.pooler_output
                                                       : select(output.last_hidden_state, 1, 0),
                        DType::kFloat32);
  if (!normalize) return vectors;
  return vectors / clamp(sqrt(sum(square(vectors), {-1}, true)), 1e-12, INFINITY);
}

}  // namespace glassformer
