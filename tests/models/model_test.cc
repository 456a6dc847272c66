#include "glassformer/models/model.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "glassformer/autograd/no_grad.h"
#include "glassformer/base/error.h"
#include "glassformer/checkpoint/weights.h"
#include "glassformer/models/sentence.h"
#include "glassformer/ops/backward.h"
#include "glassformer/ops/copy.h"
#include "glassformer/ops/reduce.h"
#include "glassformer/ops/view.h"
#include "support/temporary_folder.h"
#include "support/throws.h"

namespace glassformer {
namespace {

using testing::expect_throws;
using testing::TemporaryFolder;

std::filesystem::path fixture(const char* name) {
  return std::filesystem::path(GLASSFORMER_FIXTURES_DIR) / "models" / name;
}

TransformerInput some_ids(int64_t batch, int64_t length) {
  std::vector<int64_t> ids;
  for (int64_t i = 0; i < batch * length; ++i) ids.push_back(5 + i * 7 % 80);
  TransformerInput input;
  input.input_ids = from_vector(ids, {batch, length});
  return input;
}

std::vector<float> hidden_of(const Model& model, const TransformerInput& input) {
  const NoGrad no_grad;
  return model(input).last_hidden_state.to_vector<float>();
}

// Names, fused projections and transposed matrices all come back as they were.
TEST(Model, SavesWhatItOpened) {
  for (const char* name : {"bert-masked-lm", "gpt2", "gpt2-base", "llama-3", "qwen3"}) {
    const TemporaryFolder folder;
    const Model model = Model::open(fixture(name));
    model.save(folder.path());
    const TransformerInput input = some_ids(2, 9);
    EXPECT_EQ(hidden_of(Model::open(folder.path()), input), hidden_of(model, input)) << name;
    const auto before = open_weights(fixture(name)), after = open_weights(folder.path());
    ASSERT_EQ(before->tensors().size(), after->tensors().size()) << name;
    for (const StoredTensor& tensor : before->tensors())
      EXPECT_EQ(after->get(tensor.name).to_vector<float>(),
                before->get(tensor.name).to_vector<float>())
          << tensor.name;
  }
}

// Sequences end to end give the same bits as each by itself.
TEST(Model, PackedSequencesDoNotSeeEachOther) {
  const NoGrad no_grad;
  for (const char* name : {"bert", "roberta", "distilbert", "gpt2", "llama"}) {
    const Model model = Model::open(fixture(name));
    const TransformerInput one = some_ids(1, 5), two = some_ids(1, 3);
    TransformerInput packed;
    std::vector<int64_t> ids = one.input_ids.to_vector<int64_t>();
    for (const int64_t id : two.input_ids.to_vector<int64_t>()) ids.push_back(id);
    packed.input_ids = from_vector(ids, {8});
    packed.starts = from_vector(std::vector<int64_t>{0, 5, 8}, {3});
    std::vector<float> alone = model(one).last_hidden_state.to_vector<float>();
    for (const float x : model(two).last_hidden_state.to_vector<float>()) alone.push_back(x);
    EXPECT_EQ(model(packed).last_hidden_state.to_vector<float>(), alone) << name;
  }
}

TEST(Model, RunsOnTheReferenceDevice) {
  const NoGrad no_grad;
  for (const char* name : {"bert-sequence", "llama-3", "t5-gated", "deit-teacher"}) {
    const Model cpu = Model::open(fixture(name));
    const Model ref = Model::open(fixture(name), {.device = Device::kRef});
    TransformerInput input = some_ids(2, 7), there;
    if (cpu.transformer().spec().image) {
      input = {};
      input.pixel_values = from_vector(std::vector<float>(2 * 3 * 12 * 12, 0.25F), {2, 3, 12, 12});
      there.pixel_values = to(input.pixel_values, Device::kRef);
    } else {
      input.decoder_input_ids = input.input_ids;
      there.input_ids = there.decoder_input_ids = to(input.input_ids, Device::kRef);
    }
    EXPECT_THAT(
        ref(there).logits.to_vector<float>(),
        ::testing::Pointwise(::testing::FloatNear(5e-5F), cpu(input).logits.to_vector<float>()))
        << name;
  }
}

TEST(Model, CreatedModelsTrainEveryWeight) {
  const Model model = Model::create(
      R"({"model_type": "t5", "vocab_size": 96, "d_model": 16, "d_kv": 4, "d_ff": 24,
          "num_layers": 1, "num_heads": 2, "feed_forward_proj": "gated-gelu"})",
      7);
  TransformerInput input = some_ids(2, 6);
  input.decoder_input_ids = input.input_ids;
  Generator random(1);
  backward(mean(model(input, {.random = &random}).logits));
  for (const Parameter& parameter : model.transformer().parameters())
    EXPECT_TRUE(parameter.value.grad().defined()) << parameter.name;
}

// A layer of zeros before another never learns.
TEST(Model, CreatedModelsStartWithNoMatrixOfZeros) {
  const std::filesystem::path models = fixture("");
  int families = 0;
  for (const auto& entry : std::filesystem::directory_iterator(models)) {
    std::ifstream in(entry.path() / "config.json");
    const std::string config{std::istreambuf_iterator<char>(in), {}};
    if (config.empty() || config.find("quantization_config") != std::string::npos) continue;
    ++families;
    const Model model = Model::create(config, 3);
    for (const Parameter& parameter : model.transformer().parameters()) {
      if (!parameter.matrix) continue;
      const std::vector<float> values = parameter.value.to_vector<float>();
      EXPECT_THAT(values, ::testing::Contains(::testing::Ne(0)))
          << entry.path().filename() << ": " << parameter.name;
    }
  }
  EXPECT_GT(families, 20);
}

// Bytes of files called `name` that this process has in memory.
size_t resident_of_file(const std::string& name) {
  std::ifstream maps("/proc/self/smaps");
  size_t kilobytes = 0;
  bool ours = false;
  for (std::string line; std::getline(maps, line);) {
    if (line.find('-') < line.find(' ')) ours = line.ends_with(name);
    if (ours && line.starts_with("Rss:")) kilobytes += std::stoul(line.substr(4));
  }
  return kilobytes << 10;
}

// Queries, keys and values are joined before they are packed; in another type all are cast first.
TEST(Model, PackedWeightsLeaveTheirFile) {
  const TemporaryFolder folder;
  Model::create(R"({"model_type": "bert", "architectures": ["BertModel"], "hidden_size": 512,
                    "num_attention_heads": 4, "num_hidden_layers": 4, "intermediate_size": 2048,
                    "vocab_size": 50, "max_position_embeddings": 16})",
                1)
      .save(folder.path());
  const auto size = std::filesystem::file_size(folder.path() / "model.safetensors");
  for (const DType dtype : {DType::kFloat32, DType::kBFloat16}) {
    const Model model = Model::open(folder.path(), {.dtype = dtype});
    // measured: 0; where those that are cast stay, a sixth
    EXPECT_LT(resident_of_file("model.safetensors"), size / 10) << name_of(dtype);
  }
}

TEST(Model, SaysWhatIsWrongWithAFolder) {
  const TemporaryFolder folder;
  expect_throws<FileError>([&] { Model::open(folder.path() / "none"); }, "found neither");
  expect_throws<FileError>([&] { Model::open(folder.path()); }, "config.json");
  const auto with_config = [&](const std::string& json) {
    std::ofstream(folder.path() / "config.json") << json;
    Model::open(folder.path());
  };
  expect_throws<ValueError>([&] { with_config(R"({"model_type": "mamba"})"); },
                            {"unknown model_type 'mamba'", "bert"});
  expect_throws<ValueError>(
      [&] { with_config(R"({"model_type": "bert", "architectures": ["BertForDreams"]})"); },
      {"unknown architecture 'BertForDreams'", "ForMaskedLM"});
  expect_throws<FileError>([&] { with_config(R"({"model_type": "bert", "hidden_size": 12})"); },
                           {"config.json", "'num_hidden_layers' is missing"});
  expect_throws<ValueError>(
      [&] {
        with_config(R"({"model_type": "gpt2", "n_embd": 10, "n_layer": 1, "n_head": 3,
                        "vocab_size": 8})");
      },
      "3 heads do not divide a width of 10");
}

TEST(Model, NamesTheTensorThatIsMissingOrHasAnotherShape) {
  const TemporaryFolder folder;
  std::filesystem::copy(fixture("gpt2"), folder.path());
  const auto stored = open_weights(fixture("gpt2"));
  std::vector<std::pair<std::string, Tensor>> tensors;
  for (const StoredTensor& tensor : stored->tensors())
    tensors.emplace_back(tensor.name, stored->get(tensor.name));
  const auto at = std::find_if(tensors.begin(), tensors.end(), [](const auto& tensor) {
    return tensor.first == "transformer.h.1.mlp.c_fc.weight";
  });
  at->second = clone(slice(at->second, 0, 0, 20));
  save_weights(folder.path(), tensors);
  expect_throws<FileError>([&] { Model::open(folder.path()); },
                           {"transformer.h.1.mlp.c_fc.weight", "must be [24, 96]", "[20, 96]"});
  tensors.erase(at);
  save_weights(folder.path(), tensors);
  expect_throws<FileError>([&] { Model::open(folder.path()); },
                           "tensor 'transformer.h.1.mlp.c_fc.weight' [24, 96] is missing");
}

TEST(Sentence, PoolsEachSequence) {
  const Tensor hidden = from_vector(std::vector<float>{1, 2, 3, 6, 0, 4}, {3, 2});
  const SentencePooling mean_and_first{
      .modes = {SentencePooling::Mode::kMean, SentencePooling::Mode::kFirst}};
  EXPECT_THAT(pool_sentences(hidden, {0, 2, 3}, mean_and_first).to_vector<float>(),
              ::testing::ElementsAre(2, 4, 1, 2, 0, 4, 0, 4));
  const SentencePooling unit{.modes = {SentencePooling::Mode::kLast}, .normalize = true};
  EXPECT_THAT(pool_sentences(hidden, {0, 3}, unit).to_vector<float>(),
              ::testing::ElementsAre(0, 1));
}

}  // namespace
}  // namespace glassformer
