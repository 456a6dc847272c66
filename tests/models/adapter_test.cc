// Low-rank adapters against PEFT. The folders are made by tools/fixtures/adapters.py.

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "glassformer/glassformer.h"
#include "support/compare.h"
#include "support/temporary_folder.h"
#include "support/throws.h"

namespace glassformer::testing {
namespace {

namespace fs = std::filesystem;
using Purpose = LoadOptions::Purpose;
using Tensors = std::map<std::string, Tensor>;

fs::path fixture(const char* kind, const std::string& name) {
  return fs::path(GLASSFORMER_FIXTURES_DIR) / kind / name;
}
fs::path base(const std::string& name) { return fixture("models", name); }
fs::path adapter(const std::string& name) { return fixture("adapters", name); }

Tensors read_all(const fs::path& path) {
  const SafetensorsFile file(path);
  Tensors tensors;
  for (const StoredTensor& tensor : file.tensors()) tensors[tensor.name] = file.get(tensor.name);
  return tensors;
}

Tensor logits_of(const Model& model, const Tensors& expected, const Context& context = {}) {
  TransformerInput input;
  input.input_ids = expected.at("in.input_ids");
  input.attention_mask = expected.at("in.attention_mask");
  if (expected.contains("in.token_type_ids"))
    input.token_type_ids = expected.at("in.token_type_ids");
  const Tensor logits = model(input, context).logits;
  if (logits.rank() == 2) return logits;
  return logits * unsqueeze(cast(input.attention_mask, DType::kFloat32), -1);  // padding is open
}

Tensor expected_logits(const Tensors& expected) {
  const Tensor logits = expected.at("out.logits");
  if (logits.rank() == 2) return logits;
  return logits * unsqueeze(cast(expected.at("in.attention_mask"), DType::kFloat32), -1);
}

// The gradients of all that is trained, under PEFT's names.
Tensors gradients_of(const Model& model) {
  std::map<std::string, std::vector<Tensor>> parts;
  for (const Parameter& parameter : model.transformer().parameters()) {
    if (!parameter.value.requires_grad()) continue;
    std::string name = "base_model.model." + model.stored_name(parameter.name);
    if (name.ends_with(".lora_a")) name.replace(name.size() - 6, 6, "lora_A.weight");
    if (name.ends_with(".lora_b")) name.replace(name.size() - 6, 6, "lora_B.weight");
    parts[name].push_back(parameter.value.grad());
  }
  Tensors gradients;
  for (const auto& [name, list] : parts) gradients[name] = concatenate(list, 0);
  return gradients;
}

class Adapters : public ::testing::TestWithParam<const char*> {
 protected:
  Model open(Purpose purpose) const {
    return Model::open(base(GetParam()), {.purpose = purpose, .adapter = adapter(GetParam())});
  }
  Tensors expected_ = read_all(adapter(GetParam()) / "expected.safetensors");
};

TEST_P(Adapters, LogitsEqualPeftMergedAndNot) {
  for (const Purpose purpose : {Purpose::kTraining, Purpose::kInference, Purpose::kReading}) {
    const double error = distance(logits_of(open(purpose), expected_), expected_logits(expected_));
    std::cout << GetParam() << ": relative error of logits " << error << "\n";
    EXPECT_LT(error, 1e-5);  // measured: at most 1.9e-6
  }
  const Model plain = Model::open(base(GetParam()));
  EXPECT_GT(distance(logits_of(plain, expected_), expected_logits(expected_)), 0.05);
}

TEST_P(Adapters, GradientsEqualPeft) {
  const Model model = open(Purpose::kTraining);
  backward(sum(logits_of(model, expected_) * expected_.at("weights")));
  const Tensors gradients = gradients_of(model);
  size_t theirs = 0;
  double largest = 0;
  for (const auto& [name, value] : expected_) {
    if (!name.starts_with("grad.")) continue;
    ++theirs;
    ASSERT_TRUE(gradients.contains(name.substr(5))) << name;
    largest = std::max(largest, distance(gradients.at(name.substr(5)), value));
  }
  EXPECT_EQ(gradients.size(), theirs);
  std::cout << GetParam() << ": relative error of gradients " << largest << "\n";
  EXPECT_LT(largest, 1e-5);  // measured: at most 3.4e-6
}

TEST_P(Adapters, AreSavedAsTheyCame) {
  const TemporaryFolder folder;
  const Model model = open(Purpose::kTraining);
  model.save_adapter(folder.path() / "adapter");
  const Tensors theirs = read_all(adapter(GetParam()) / "adapter_model.safetensors");
  const Tensors ours = read_all(folder.path() / "adapter" / "adapter_model.safetensors");
  ASSERT_EQ(ours.size(), theirs.size());
  for (const auto& [name, value] : theirs) {
    ASSERT_TRUE(ours.contains(name)) << name;
    EXPECT_TRUE(same_bits(ours.at(name), value)) << name;
  }
  const Model again = Model::open(
      base(GetParam()), {.purpose = Purpose::kTraining, .adapter = folder.path() / "adapter"});
  EXPECT_TRUE(same_bits(logits_of(again, expected_), logits_of(model, expected_)));

  model.save(folder.path() / "merged");
  const Model merged = Model::open(folder.path() / "merged");
  EXPECT_LT(distance(logits_of(merged, expected_), expected_logits(expected_)), 1e-5);
}

TEST_P(Adapters, CopiesTrainTheSameWithNumbersOfTheirOwn) {
  const Model model = open(Purpose::kTraining);
  const Model twin = model.copy({}, /*trainable=*/true);
  EXPECT_TRUE(same_bits(logits_of(twin, expected_), logits_of(model, expected_)));
  const std::vector<Parameter>& ours = twin.transformer().parameters();
  const std::vector<Parameter>& theirs = model.transformer().parameters();
  ASSERT_EQ(ours.size(), theirs.size());  // GPT-2: a shared `a` is shared in the copy too
  for (size_t i = 0; i < ours.size(); ++i) {
    EXPECT_EQ(ours[i].name, theirs[i].name);
    EXPECT_EQ(ours[i].value.requires_grad(), theirs[i].value.requires_grad()) << ours[i].name;
    EXPECT_NE(ours[i].value.storage(), theirs[i].value.storage()) << ours[i].name;
  }
  const TemporaryFolder folder;
  twin.save_adapter(folder.path());
  const Tensors saved = read_all(folder.path() / "adapter_model.safetensors");
  for (const auto& [name, value] : read_all(adapter(GetParam()) / "adapter_model.safetensors"))
    EXPECT_TRUE(same_bits(saved.at(name), value)) << name;
}

// A step in bfloat16 moves the float32 pairs of the master nearly as one in float32 does.
TEST_P(Adapters, TrainInBFloat16) {
  std::map<Precision, Tensors> moved;
  for (const Precision precision :
       {Precision::kFloat32, Precision::kBFloat16, Precision::kBFloat16Stochastic}) {
    const ModelLearner learner(open(Purpose::kTraining), precision);
    Optimizer optimizer(learner.parameters(), {.kind = OptimizerOptions::Kind::kSgd});
    Batch batch;
    batch.input.input_ids = expected_.at("in.input_ids");
    batch.input.attention_mask = expected_.at("in.attention_mask");
    const Tensor logits = learner(batch, {});
    backward(mean(square(cast(logits, DType::kFloat32))));
    optimizer.step(1);
    const TemporaryFolder folder;
    learner.save(folder.path());
    moved[precision] = read_all(folder.path() / "adapter_model.safetensors");
  }
  const Tensors before = read_all(adapter(GetParam()) / "adapter_model.safetensors");
  const auto change = [&](Precision precision, const std::string& name) {
    return cast(moved[precision].at(name), DType::kFloat32) - before.at(name);
  };
  double errors = 0, squares = 0;
  for (const auto& [name, value] : before) {
    const Tensor exact = change(Precision::kFloat32, name);
    EXPECT_GT(sum_of_squares(exact), 0) << name;
    EXPECT_EQ(moved[Precision::kBFloat16].at(name).dtype(), DType::kFloat32);
    EXPECT_EQ(moved[Precision::kBFloat16Stochastic].at(name).dtype(), DType::kBFloat16);
    EXPECT_GT(sum_of_squares(change(Precision::kBFloat16Stochastic, name)), 0) << name;
    errors += sum_of_squares(change(Precision::kBFloat16, name) - exact);
    squares += sum_of_squares(exact);
  }
  const double error = std::sqrt(errors / squares);
  std::cout << GetParam() << ": relative error of a step " << error << "\n";
  EXPECT_LT(error, 0.1);  // measured: at most 7.2e-2
}

INSTANTIATE_TEST_SUITE_P(Peft, Adapters, ::testing::Values("bert-sequence", "llama", "gpt2"),
                         [](const auto& info) { return std::string(info.param).substr(0, 4); });

Model open_lora(const std::string& name, const LoraOptions& options) {
  return Model::open(base(name), {.purpose = Purpose::kTraining, .lora = options});
}

std::set<std::string> trained_names(const Model& model) {
  std::set<std::string> names;
  for (const Parameter& parameter : model.transformer().parameters())
    if (parameter.value.requires_grad()) names.insert(parameter.name);
  return names;
}

TEST(Lora, StartsAsTheModelAndTrainsOnlyThePairs) {
  const Tensors expected = read_all(adapter("llama") / "expected.safetensors");
  const Model model = open_lora("llama", {.rank = 3, .targets = {"q_proj"}, .seed = 5});
  const Model plain = Model::open(base("llama"), {.purpose = Purpose::kTraining});
  EXPECT_EQ(distance(logits_of(model, expected), logits_of(plain, expected)), 0);
  const std::set<std::string> names = {
      "decoder.0.self_attention.query.lora_a", "decoder.0.self_attention.query.lora_b",
      "decoder.1.self_attention.query.lora_a", "decoder.1.self_attention.query.lora_b"};
  EXPECT_EQ(trained_names(model), names);
  std::vector<Tensor> starts;
  for (const Parameter& parameter : model.transformer().parameters()) {
    if (!parameter.name.ends_with("lora_a")) continue;
    EXPECT_EQ(parameter.value.shape(), (Shape{3, 32}));
    const double bound = 1 / std::sqrt(32.0);
    const std::vector<double> values = parameter.value.to_vector<double>();
    const double most = std::ranges::max(values), least = std::ranges::min(values);
    EXPECT_TRUE(most <= bound && most > 0.8 * bound && least >= -bound && least < -0.8 * bound);
    starts.push_back(parameter.value);
  }
  EXPECT_FALSE(same_bits(starts[0], starts[1]));
}

TEST(Lora, TargetsByOurNames) {
  const TemporaryFolder folder;
  const Model model = open_lora("llama", {.targets = {"self_attention.query", "gate"}});
  EXPECT_EQ(trained_names(model).size(), 8);
  model.save_adapter(folder.path());
  const auto config = nlohmann::json::parse(std::ifstream(folder.path() / "adapter_config.json"));
  EXPECT_EQ(config["target_modules"],
            (std::vector<std::string>{
                "model.layers.0.mlp.gate_proj", "model.layers.0.self_attn.q_proj",
                "model.layers.1.mlp.gate_proj", "model.layers.1.self_attn.q_proj"}));
}

// Masks come from the context's generator, and a probe that reads draws none of its own.
TEST(Lora, DropoutIsDrawnFromTheContext) {
  const Tensors expected = read_all(adapter("gpt2") / "expected.safetensors");
  const Model model = open_lora("gpt2", {.dropout = 0.5, .targets = {"c_attn", "mlp.c_proj"}});
  for (const Parameter& parameter : model.transformer().parameters())
    if (parameter.name.ends_with("lora_b")) {
      const NoGrad no_grad;
      Tensor b = parameter.value;
      fill_(b, 0.1);
    }
  const auto run = [&](uint64_t seed, Probe* probe) {
    Generator random(seed);
    return logits_of(model, expected, {.probe = probe, .random = &random});
  };
  EXPECT_TRUE(same_bits(run(1, nullptr), run(1, nullptr)));
  EXPECT_FALSE(same_bits(run(1, nullptr), run(2, nullptr)));
  Capture capture({"decoder.*.feed_forward.output", "decoder.*.self_attention.output"});
  EXPECT_TRUE(same_bits(run(1, nullptr), run(1, &capture)));
}

TEST(Lora, Errors) {
  expect_throws<ValueError>([] { open_lora("gpt2", {.targets = {"query"}}); }, {"query", "c_attn"});
  expect_throws<ValueError>(
      [] {
        open_lora("llama", {.targets = {"q_proj", "lm_head"}});
      },
      {"lm_head", "gate_proj"});
  expect_throws<ValueError>([] { open_lora("llama", {}); }, {"target", "o_proj"});
  expect_throws<ValueError>([] { open_lora("llama", {.rank = 0, .targets = {"q_proj"}}); },
                            {"rank", "0"});
  expect_throws<ValueError>([] { open_lora("llama", {.dropout = 1, .targets = {"q_proj"}}); },
                            {"dropout"});
  expect_throws<ValueError>(
      [] { open_lora("bert-sequence", {.targets = {"query"}, .also_trained = {"score"}}); },
      {"score"});
  expect_throws<UnsupportedError>(
      [] { open_lora("gpt2", {.targets = {"c_attn"}, .also_trained = {"wte"}}); },
      {"embedding.tokens"});
  expect_throws<ValueError>([] { open_lora("transformer-2017", {.targets = {"query"}}); },
                            {"in_proj_weight"});
  const LoraOptions lora{.targets = {"c_attn"}};
  expect_throws<ValueError>([&] { Model::open(base("gpt2"), {.lora = lora}); }, {"trained"});
  expect_throws<UnsupportedError>(
      [&] {
        Model::open(fixture("gguf", "gpt2.gguf"), {.purpose = Purpose::kTraining, .lora = lora});
      },
      {"gpt2.gguf"});
  expect_throws<ValueError>([] { Model::open(base("gpt2")).save_adapter("nowhere"); }, {"nowhere"});
  expect_throws<FileError>([] { Model::open(base("gpt2"), {.adapter = adapter("llama")}); },
                           {"adapter_model.safetensors", "no layer", "base_model.model."});
  expect_throws<FileError>([] { Model::open(base("gpt2"), {.adapter = base("gpt2")}); },
                           {"adapter_config.json"});
}

// One field at a time of a good configuration.
TEST(Lora, AdaptersOfOtherKindsAreRefusedByName) {
  const TemporaryFolder folder;
  fs::copy(adapter("gpt2"), folder.path(), fs::copy_options::recursive);
  const auto good = nlohmann::json::parse(std::ifstream(folder.path() / "adapter_config.json"));
  const std::vector<std::pair<std::string, nlohmann::json>> changes = {
      {"peft_type", "IA3"},
      {"use_dora", true},
      {"bias", "all"},
      {"rank_pattern", {{"a", 3}}},
      {"r", 0},
      {"lora_dropout", 1.5},
      {"init_lora_weights", "pissa"},
      {"lora_alpha", "x"},
      {"r", 3}};
  for (const auto& [field, value] : changes) {
    auto config = good;
    config[field] = value;
    std::ofstream(folder.path() / "adapter_config.json") << config;
    const bool rank = field == "r" && value == 3;
    expect_throws<Error>([&] { Model::open(base("gpt2"), {.adapter = folder.path()}); },
                         {rank ? "lora_A.weight" : field.c_str()});
  }
}

}  // namespace
}  // namespace glassformer::testing
