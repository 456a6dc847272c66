#include "glassformer/checkpoint/gguf.h"

#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "glassformer/base/error.h"
#include "glassformer/checkpoint/safetensors.h"
#include "support/shared_data.h"
#include "support/throws.h"

namespace glassformer::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;

const fs::path kFolder = fs::path(GLASSFORMER_FIXTURES_DIR) / "checkpoint/gguf";

TEST(Gguf, ReadsMetadata) {
  const GgufFile file(kFolder / "types.gguf");
  EXPECT_EQ(file.text("general.architecture"), "llama");
  EXPECT_EQ(file.integer("an.integer"), 7);
  EXPECT_EQ(file.integer("a.long"), -(int64_t{1} << 40));
  EXPECT_EQ(file.number("a.number"), 0.25);
  EXPECT_EQ(file.number("a.double"), 1e300);
  EXPECT_EQ(file.number("an.integer"), 7.0);
  EXPECT_TRUE(file.boolean("a.bool"));
  EXPECT_EQ(file.text("a.text"), "größe");
  EXPECT_THAT(file.integers("some.integers"), ElementsAre(1, -2, 3));
  EXPECT_THAT(file.numbers("some.numbers"), ElementsAre(0.5, 1.5));
  EXPECT_THAT(file.booleans("some.bools"), ElementsAre(true, false));
  EXPECT_THAT(file.texts("some.texts"), ElementsAre("a", "", "größe"));
  EXPECT_THAT(file.keys(), ::testing::Contains("some.texts"));
  EXPECT_FALSE(file.has("nothing"));
  EXPECT_EQ(file.integer("nothing", 3), 3);
  EXPECT_EQ(file.text("nothing", "x"), "x");
  EXPECT_EQ(file.number("a.number", 3), 0.25);
  EXPECT_FALSE(file.boolean("nothing", false));
}

TEST(Gguf, SaysWhatItExpectedOfMetadata) {
  const GgufFile file(kFolder / "types.gguf");
  expect_throws<FileError>([&] { file.integer("nothing"); },
                           "types.gguf: the key 'nothing' is missing");
  expect_throws<FileError>([&] { file.integer("a.text"); },
                           "key 'a.text' must be a whole number, found string");
  expect_throws<FileError>([&] { file.integer("a.hash"); },
                           "'a.hash' must be a whole number, found uint64 over 2^63");
  expect_throws<FileError>([&] { file.text("some.texts"); }, "a string, found a list of 3");
  expect_throws<FileError>([&] { file.texts("a.text"); }, "must be a list, found a single string");
  expect_throws<FileError>([&] { file.texts("some.numbers"); },
                           "a list, each a string, found float32");
  expect_throws<FileError>([&] { file.boolean("an.integer"); }, "a bool, found uint32");
}

TEST(Gguf, ViewsPlainTypes) {
  const GgufFile file(kFolder / "types.gguf");
  const std::vector<float> expected{0,    .25F,  .5F, .75F,  1,    1.25F,
                                    1.5F, 1.75F, 2,   2.25F, 2.5F, 2.75F};
  for (const auto& [name, dtype] :
       {std::pair("f32", DType::kFloat32), {"f16", DType::kFloat16}, {"bf16", DType::kBFloat16}}) {
    const Tensor tensor = file.get(name);
    EXPECT_EQ(tensor.dtype(), dtype);
    EXPECT_EQ(tensor.shape(), Shape({3, 4}));
    EXPECT_EQ(tensor.to_vector<float>(), expected);
    EXPECT_FALSE(tensor.storage()->writable());
  }
  EXPECT_EQ(file.get("i32").shape(), Shape({1, 2, 3}));
  EXPECT_THAT(file.get("vector").to_vector<float>(), ElementsAre(0, 1, 2, 3, 4));
}

// Bit-equal: the same products in the same order as the Python package forms them.
TEST(Gguf, ExpandsQuantisedTypesAsPythonDoes) {
  const GgufFile file(kFolder / "types.gguf");
  const SafetensorsFile expected(kFolder / "expanded.safetensors");
  ASSERT_EQ(expected.tensors().size(), 4U);
  for (const StoredTensor& tensor : expected.tensors()) {
    EXPECT_EQ(file.find(tensor.name)->type, tensor.name);
    EXPECT_EQ(file.get(tensor.name).shape(), Shape({2, 512}));
    EXPECT_EQ(file.get(tensor.name).to_vector<float>(),
              expected.get(tensor.name).to_vector<float>())
        << tensor.name;
  }
}

TEST(Gguf, HandsOutBlocks) {
  const GgufFile file(kFolder / "types.gguf");
  const GgufBlocks blocks = file.blocks("Q4_K");
  EXPECT_EQ(blocks.type, "Q4_K");
  EXPECT_EQ(blocks.block_count, 256);
  EXPECT_EQ(blocks.block_bytes, 144);
  EXPECT_EQ(blocks.bytes.size(), 2U * 2U * 144U);
  EXPECT_EQ(file.blocks("Q5_0").bytes.size(), 22U);
  expect_throws<FileError>([&] { file.get("Q5_0"); }, "tensor 'Q5_0' has the type Q5_0");
  expect_throws<FileError>([&] { file.get("f31"); }, "the nearest are");
}

TEST(Gguf, HonoursAlignment) {
  const GgufFile file(kFolder / "aligned.gguf");
  EXPECT_THAT(file.get("a").to_vector<float>(), ElementsAre(0, 1, 2));
  EXPECT_THAT(file.get("b").to_vector<float>(), ElementsAre(0, 1, 2, 3));
}

TEST(Gguf, OpensRealVocabularies) {
  const fs::path folder = shared_data("tokenizers/gguf-vocab");
  if (folder.empty()) GTEST_SKIP() << "tokenizers/gguf-vocab is not there; set GLASSFORMER_DATA";
  for (const auto& [name, tokens] :
       {std::pair("bert-bge.gguf", 30522U), {"gpt-2.gguf", 50257U}, {"llama-spm.gguf", 32000U}}) {
    const GgufFile file(folder / name);
    EXPECT_TRUE(file.tensors().empty());
    EXPECT_EQ(file.texts("tokenizer.ggml.tokens").size(), tokens) << name;
    EXPECT_EQ(file.integers("tokenizer.ggml.token_type").size(), tokens) << name;
  }
}

}  // namespace
}  // namespace glassformer::testing
