// Every family against the real Hugging Face class: outputs, hidden states and attentions of all
// layers. The folders are made by tools/fixtures/models.py.

#include <algorithm>
#include <cmath>
#include <filesystem>

#include <gtest/gtest.h>

#include "glassformer/checkpoint/safetensors.h"
#include "glassformer/inspect/named_pass.h"

namespace glassformer {
namespace {

std::filesystem::path models_folder() {
  return std::filesystem::path(GLASSFORMER_FIXTURES_DIR) / "models";
}

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(models_folder()))
    names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

struct Expected {
  NamedTensors inputs, outputs;
};

Expected expected_of(const std::filesystem::path& folder) {
  const SafetensorsFile file(folder / "expected.safetensors");
  Expected expected;
  for (const StoredTensor& tensor : file.tensors()) {
    const std::string& name = tensor.name;
    if (name.starts_with("in.")) expected.inputs[name.substr(3)] = file.get(name);
    if (name.starts_with("out.")) expected.outputs[name.substr(4)] = file.get(name);
  }
  return expected;
}

// The rows (tokens) of an output that count: those of padding in a decoder may attend to nothing,
// where Hugging Face leaves what the softmax of equal numbers gives.
std::vector<bool> counted_rows(const Model& model, const Expected& expected) {
  const auto mask = expected.inputs.find("attention_mask");
  const TransformerSpec& spec = model.transformer().spec();
  if (spec.encoder || mask == expected.inputs.end()) return {};
  return mask->second.to_vector<bool>();
}

// The largest difference over the largest magnitude, of [batch, rows, n] or [batch, heads, rows,
// n].
double error_of(const Tensor& ours, const Tensor& theirs, const std::vector<bool>& counted) {
  const std::vector<double> a = ours.to_vector<double>(), b = theirs.to_vector<double>();
  const auto width = static_cast<size_t>(theirs.size(-1));
  const auto rows = static_cast<size_t>(theirs.size(-2));
  const auto heads = static_cast<size_t>(theirs.rank() == 4 ? theirs.size(1) : 1);
  double difference = 0, size = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const size_t row = i / width % rows, batch = i / width / rows / heads;
    if (!counted.empty() && !counted[batch * rows + row]) continue;
    if (std::isnan(a[i])) return a[i];
    difference = std::max(difference, std::abs(a[i] - b[i]));
    size = std::max(size, std::abs(b[i]));
  }
  return difference / size;
}

// The largest error of all outputs that Hugging Face gave, and that each has its shape.
double largest_error(const Model& model, const Expected& expected) {
  const NamedTensors ours =
      named_pass(model, expected.inputs, {.attentions = true, .hidden_states = true});
  const std::vector<bool> counted = counted_rows(model, expected);
  double largest = 0;
  for (const auto& [name, theirs] : expected.outputs) {
    const auto found = ours.find(name);
    EXPECT_NE(found, ours.end()) << name;
    if (found == ours.end()) continue;
    EXPECT_EQ(found->second.shape(), theirs.shape()) << name;
    const double error = error_of(found->second, theirs, counted);
    EXPECT_LT(error, 1) << name;
    largest = std::max(largest, error);
  }
  return largest;
}

class Families : public testing::TestWithParam<std::string> {
 protected:
  std::filesystem::path folder() const { return models_folder() / GetParam(); }
};

TEST_P(Families, EqualHuggingFace) {
  const double error = largest_error(Model::open(folder()), expected_of(folder()));
  std::cout << GetParam() << ": largest relative error " << error << "\n";
  EXPECT_LT(error, 1e-4);  // measured: at most 5.1e-6
}

// bfloat16 has eight bits: errors of a few parts in a hundred of a tensor's largest element, in the
// outputs, hidden states and attentions of every family.
TEST_P(Families, AreCloseInBFloat16) {
  const Model model = Model::open(folder(), {.dtype = DType::kBFloat16});
  const double error = largest_error(model, expected_of(folder()));
  std::cout << GetParam() << ": largest relative error in bfloat16 " << error << "\n";
  EXPECT_LT(error, 0.08);  // measured: at most 0.060 (YaRN), 0.052 (T5), 0.038 (the others)
}

// The same weights in a GGUF file, as llama.cpp's converter lays them out, give the same numbers.
TEST(GgufModels, EqualTheirFolders) {
  for (const char* name : {"llama", "gpt2", "qwen2-full"}) {
    const Model model = Model::open(std::filesystem::path(GLASSFORMER_FIXTURES_DIR) / "gguf" /
                                    (std::string(name) + ".gguf"));
    EXPECT_LT(largest_error(model, expected_of(models_folder() / name)), 1e-4) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(All, Families, testing::ValuesIn(model_names()), [](const auto& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace glassformer
