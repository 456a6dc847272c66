// The weights that a probe reads, in every family and precision.

#include <cmath>
#include <filesystem>

#include <gtest/gtest.h>

#include "glassformer/autograd/no_grad.h"
#include "glassformer/checkpoint/safetensors.h"
#include "glassformer/inspect/capture.h"
#include "glassformer/inspect/named_pass.h"
#include "glassformer/ops/ops.h"
#include "glassformer/tensor/memory.h"
#include "inspect/small_models.h"

namespace glassformer {
namespace {

// Those of Hugging Face's run, which has padding in it.
NamedTensors inputs_of(const std::filesystem::path& folder) {
  const SafetensorsFile file(folder / "expected.safetensors");
  NamedTensors inputs;
  for (const StoredTensor& tensor : file.tensors())
    if (tensor.name.starts_with("in.")) inputs[tensor.name.substr(3)] = file.get(tensor.name);
  return inputs;
}

// What the fused kernel used is the softmax of the scores that are computed step by step beside it.
// Rows that attend to nothing are zeros.
double error_of(const Model& model, const NamedTensors& inputs) {
  const NamedTensors steps =
      named_pass(model, inputs, {.probes = {"**.weights", "**.masked_scores"}});
  double largest = 0;
  for (const auto& [name, weights] : steps) {
    if (!name.ends_with(".weights")) continue;
    const std::string place = name.substr(0, name.size() - std::string(".weights").size());
    const Tensor scores = cast(steps.at(place + ".masked_scores"), DType::kFloat64);
    const std::vector<double> expected = softmax(to(scores, Device::kCpu)).to_vector<double>();
    const std::vector<double> found = weights.to_vector<double>();
    for (size_t i = 0; i < found.size(); ++i)
      largest =
          std::max(largest, std::isnan(expected[i]) ? found[i] : std::abs(found[i] - expected[i]));
  }
  return largest;
}

TEST(ReadWeights, AreTheSoftmaxOfTheScoresInEveryFamilyAndPrecision) {
  double largest[2] = {};
  const std::filesystem::path models = std::filesystem::path(GLASSFORMER_FIXTURES_DIR) / "models";
  for (const auto& entry : std::filesystem::directory_iterator(models))
    for (const int precision : {0, 1}) {
      const DType dtype = precision == 0 ? DType::kFloat32 : DType::kBFloat16;
      const double error =
          error_of(Model::open(entry.path(), {.dtype = dtype}), inputs_of(entry.path()));
      // measured: 1.2e-6 and 8.8e-7
      EXPECT_LT(error, 4e-6) << entry.path().filename() << " in " << name_of(dtype);
      largest[precision] = std::max(largest[precision], error);
    }
  std::cout << "largest errors: float32 " << largest[0] << ", bfloat16 " << largest[1] << "\n";
}

// A whole model at 8,192 tokens: what a capture of one head, or of one row, adds to the peak of the
// pass is what it keeps.
TEST(ReadWeights, OfALongInputTakeLinearMemory) {
  constexpr int64_t kLength = 8192;
  const NoGrad no_grad;
  const Model model = Model::create(R"({"model_type": "llama", "vocab_size": 40,
      "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
      "num_key_value_heads": 2, "intermediate_size": 48, "max_position_embeddings": 8192})",
                                    3);
  std::vector<int64_t> ids(kLength);
  for (size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<int64_t>(i * 7 % 40);
  TransformerInput input;
  input.input_ids = testing::row_of(ids);
  const auto peak = [&](Capture& capture) {
    reset_peak_memory(Device::kCpu);
    const size_t before = memory_stats(Device::kCpu).bytes_in_use;
    model(input, {.probe = &capture});
    size_t kept = 0;
    for (const auto& [name, value] : capture.values())
      kept += static_cast<size_t>(value.count()) * sizeof(float);
    return memory_stats(Device::kCpu).peak_in_use - before - kept;
  };
  Capture nothing({}), head({"decoder.1.self_attention.weights"}, {2});
  Capture row({"decoder.*.self_attention.weights"}, {}, {kLength - 1});
  Capture scores({"decoder.*.self_attention.masked_scores"}, {}, {kLength - 1});
  const size_t usual = peak(nothing), linear = size_t{64} * kLength;
  EXPECT_LE(peak(head), usual + linear);
  EXPECT_LE(peak(row), usual + linear);
  EXPECT_LE(peak(scores), usual + 8 * linear);  // copies of keys in float32
}

}  // namespace
}  // namespace glassformer
