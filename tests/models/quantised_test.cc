// Models with quantised weights: written, opened, run, and refused where a file does not fit.
#include <algorithm>
#include <fstream>

#include <gtest/gtest.h>

#include "base/json.h"
#include "glassformer/glassformer.h"
#include "support/compare.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"
#include "support/throws.h"

namespace glassformer {
namespace {

using testing::distance;
using testing::expect_throws;
using testing::same_bits;
using testing::TemporaryFolder;
using Activations = LoadOptions::Activations;

std::filesystem::path fixture(const char* name) {
  return std::filesystem::path(GLASSFORMER_FIXTURES_DIR) / "models" / name;
}

Tensor some_ids(int64_t batch, int64_t length) {
  std::vector<int64_t> ids;
  for (int64_t i = 0; i < batch * length; ++i) ids.push_back(5 + i * 7 % 80);
  return from_vector(ids, {batch, length});
}

Tensor hidden_of(const Model& model, const Tensor& ids) {
  const NoGrad no_grad;
  TransformerInput input;
  input.input_ids = ids;
  return model(input).last_hidden_state;
}

Model quantised(const std::filesystem::path& from, QuantScheme scheme,
                const std::filesystem::path& folder, Activations activations = Activations::kInt8) {
  Model::open(from).save(folder, {.scheme = scheme});
  return Model::open(folder, {.activations = activations});
}

// The larger of the errors with float and with int8 activations.
double error_of(const std::filesystem::path& from, QuantScheme scheme) {
  const TemporaryFolder folder;
  const Tensor ids = some_ids(2, 9), exact = hidden_of(Model::open(from), ids);
  double worst = 0;
  for (const Activations activations : {Activations::kFloat, Activations::kInt8}) {
    const auto name = activations == Activations::kFloat ? "float" : "int8";
    const Model model = quantised(from, scheme, folder.path() / name, activations);
    worst = std::max(worst, distance(hidden_of(model, ids), exact));
  }
  return worst;
}

// Fused and transposed projections, gates, tied and untied outputs. Errors are over the largest
// number, of random weights, which feel quantising more than trained ones.
TEST(QuantisedModel, IsNearTheModelItWasMadeOf) {
  double worst = 0;
  for (const char* name : {"bert-masked-lm", "gpt2", "llama-3", "qwen3"})
    worst = std::max(worst, error_of(fixture(name), QuantScheme::kInt8));
  std::printf("int8: %.3g\n", worst);
  EXPECT_LT(worst, 0.1);  // measured: 0.059
}

TEST(QuantisedModel, IsNearTheTrainedModelItWasMadeOf) {
  const auto stories = testing::shared_data("models/stories260K");
  if (stories.empty()) GTEST_SKIP() << "needs models/stories260K below GLASSFORMER_DATA";
  const double int8 = error_of(stories, QuantScheme::kInt8);
  const double int4 = error_of(stories, QuantScheme::kInt4);
  std::printf("int8: %.3g, int4: %.3g\n", int8, int4);
  EXPECT_LT(int8, 0.03);  // measured: 0.020; 0.0076 with activations in groups of 32
  EXPECT_LT(int4, 0.12);  // measured: 0.062
}

TEST(QuantisedModel, ComputesTheSameAloneAndInABatch) {
  for (const QuantScheme scheme : {QuantScheme::kInt8, QuantScheme::kInt4}) {
    const TemporaryFolder folder;
    const Model model = quantised(fixture("llama-3"), scheme, folder.path());
    const Tensor ids = some_ids(5, 9);
    const Tensor all = hidden_of(model, ids);
    const Tensor alone = hidden_of(model, contiguous(slice(ids, 0, 3, 4)));
    EXPECT_TRUE(same_bits(alone, contiguous(slice(all, 0, 3, 4))));
  }
}

TEST(QuantisedModel, ComputesOnRefWhatItComputesOnCpu) {
  const TemporaryFolder folder;
  for (const Activations activations : {Activations::kFloat, Activations::kInt8}) {
    const Model model = quantised(fixture("gpt2"), QuantScheme::kInt4, folder.path(), activations);
    const Model naive =
        Model::open(folder.path(), {.device = Device::kRef, .activations = activations});
    const Tensor ids = some_ids(2, 9);
    const double error =
        distance(hidden_of(model, ids), to(hidden_of(naive, to(ids, Device::kRef)), Device::kCpu));
    // A code of an activation that rounds the other way is a step of 1/127.
    EXPECT_LT(error, activations == Activations::kFloat ? 1e-5 : 1e-2);
  }
}

TEST(QuantisedModel, IsReadAndTrainedAsItsNumbers) {
  const TemporaryFolder folder;
  const Model packed =
      quantised(fixture("gpt2"), QuantScheme::kInt8, folder.path(), Activations::kFloat);
  const Tensor ids = some_ids(2, 9), expected = hidden_of(packed, ids);
  for (const LoadOptions::Purpose purpose :
       {LoadOptions::Purpose::kReading, LoadOptions::Purpose::kTraining})
    EXPECT_LT(distance(hidden_of(Model::open(folder.path(), {.purpose = purpose}), ids), expected),
              1e-5);
}

// Fused and transposed projections (gpt2), grouped heads (llama-3).
TEST(QuantisedModel, IsSavedAsItIs) {
  for (const char* name : {"gpt2", "llama-3"})
    for (const QuantScheme scheme : {QuantScheme::kInt8, QuantScheme::kInt4}) {
      const TemporaryFolder folder;
      const Model model = quantised(fixture(name), scheme, folder.path() / "once");
      model.save(folder.path() / "again");
      const auto once = open_weights(folder.path() / "once");
      const auto again = open_weights(folder.path() / "again");
      ASSERT_EQ(once->tensors().size(), again->tensors().size());
      for (const StoredTensor& tensor : once->tensors())
        EXPECT_TRUE(same_bits(once->get(tensor.name), again->get(tensor.name))) << tensor.name;
      const Tensor ids = some_ids(2, 9);
      EXPECT_TRUE(
          same_bits(hidden_of(Model::open(folder.path() / "again"), ids), hidden_of(model, ids)));
      for (const SaveOptions& other :
           {SaveOptions{.scheme = QuantScheme::kInt8}, SaveOptions{.dtype = DType::kBFloat16}})
        expect_throws<UnsupportedError>([&] { model.save(folder.path() / "other", other); },
                                        "quantised already");
    }
}

// A folder of a GGUF file's floating weights is the same model; of its blocks none is made.
TEST(QuantisedModel, IsMadeOfAGgufFile) {
  const auto gguf = std::filesystem::path(GLASSFORMER_FIXTURES_DIR) / "gguf";
  for (const char* name : {"gpt2.gguf", "llama.gguf", "qwen2-full.gguf"}) {
    const TemporaryFolder folder;
    const Model model = Model::open(gguf / name);
    const auto parameters = model.transformer().parameters();
    const bool blocks = std::any_of(parameters.begin(), parameters.end(),
                                    [](const Parameter& p) { return p.quantised.defined(); });
    if (blocks) {
      expect_throws<UnsupportedError>([&] { model.save(folder.path()); }, "quantised already (Q");
      continue;
    }
    const Tensor ids = some_ids(2, 9), exact = hidden_of(model, ids);
    model.save(folder.path() / "float");
    EXPECT_LT(distance(hidden_of(Model::open(folder.path() / "float"), ids), exact), 1e-5) << name;
    model.save(folder.path() / "int8", {.scheme = QuantScheme::kInt8});
    EXPECT_LT(distance(hidden_of(Model::open(folder.path() / "int8"), ids), exact), 0.1) << name;
  }
}

TEST(QuantisedModel, BFloat16IsWrittenAsSuch) {
  const TemporaryFolder folder;
  Model::open(fixture("gpt2")).save(folder.path(), {.dtype = DType::kBFloat16});
  const auto stored = open_weights(folder.path());
  for (const StoredTensor& tensor : stored->tensors())
    EXPECT_EQ(tensor.type, "BF16") << tensor.name;
  EXPECT_EQ(Model::open(folder.path(), {.dtype = std::nullopt}).transformer().options().dtype,
            DType::kBFloat16);
}

// ------------------------------------------------------------------------------------ bad folders

class BadQuantised : public ::testing::Test {
 protected:
  BadQuantised() {
    Model::open(fixture("gpt2")).save(folder_.path(), {.scheme = QuantScheme::kInt4});
  }

  void set_config(const Json& quantization) {
    const auto path = folder_.path() / "config.json";
    Json json = read_json(path);
    json["quantization_config"] = quantization;
    std::ofstream(path) << json.dump();
  }

  // Replaces the first tensor whose name ends so.
  void replace(const std::string& ending, const Tensor& with) {
    const auto stored = open_weights(folder_.path());
    std::vector<std::pair<std::string, Tensor>> tensors;
    bool done = false;
    for (const StoredTensor& tensor : stored->tensors()) {
      const bool here = !done && tensor.name.ends_with(ending);
      tensors.emplace_back(tensor.name, here ? with : stored->get(tensor.name));
      done = done || here;
    }
    ASSERT_TRUE(done);
    save_weights(folder_.path(), tensors);
  }

  void expect_refused(std::initializer_list<const char*> parts) {
    expect_throws<FileError>([&] { Model::open(folder_.path()); }, parts);
  }

  TemporaryFolder folder_;
};

TEST_F(BadQuantised, OtherEnginesAreNamed) {
  for (const char* method : {"gptq", "awq", "bitsandbytes"}) {
    set_config({{"quant_method", method}, {"bits", 4}});
    expect_refused({"config.json", method});
  }
}

TEST_F(BadQuantised, UnknownTypesAndGroups) {
  set_config({{"quant_method", "glassformer"}, {"type", "int3"}});
  expect_refused({"int8 or int4", "int3"});
  set_config({{"quant_method", "glassformer"}, {"type", "int4"}, {"group_size", 33}});
  expect_refused({"group_size", "multiple of 32", "33"});
  set_config({{"quant_method", "glassformer"}, {"type", "int4"}, {"group_size", 64}});
  expect_refused({"scale"});  // those of the file are for groups of 32
}

TEST_F(BadQuantised, PartsThatDoNotFit) {
  replace(".weight.scale", zeros({3, 2}, {DType::kFloat16, Device::kCpu}));
  expect_refused({"scales", "[3, 2]"});
}

TEST_F(BadQuantised, ScalesThatAreNoNumbers) {
  replace(".weight.scale", zeros({3}, {DType::kInt8, Device::kCpu}));
  expect_refused({"scales", "float16"});
}

}  // namespace
}  // namespace glassformer
