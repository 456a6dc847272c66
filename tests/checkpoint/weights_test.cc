#include "glassformer/checkpoint/weights.h"

#include <csignal>
#include <set>
#include <sys/wait.h>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "glassformer/checkpoint/safetensors.h"
#include "glassformer/glassformer.h"
#include "support/stored.h"
#include "support/temporary_folder.h"
#include "support/throws.h"

namespace glassformer::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;

const fs::path kFolder = fs::path(GLASSFORMER_FIXTURES_DIR) / "checkpoint";

Tensor filled(float value, int64_t count = 8) {
  return from_vector(std::vector<float>(static_cast<size_t>(count), value), {count});
}

std::set<std::string> files_in(const fs::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder))
    names.insert(entry.path().filename().string());
  return names;
}

void expect_same(const StoredTensors& a, const StoredTensors& b) {
  ASSERT_EQ(a.tensors().size(), b.tensors().size());
  for (const StoredTensor& tensor : a.tensors()) {
    ASSERT_NE(b.find(tensor.name), nullptr) << tensor.name;
    EXPECT_EQ(a.get(tensor.name).shape(), b.get(tensor.name).shape());
    EXPECT_EQ(a.get(tensor.name).to_vector<float>(), b.get(tensor.name).to_vector<float>());
  }
}

TEST(Weights, OneFileAndShardsOfTransformersAreTheSame) {
  const auto single = open_weights(kFolder / "single"), sharded = open_weights(kFolder / "sharded");
  expect_same(*single, *sharded);
  EXPECT_EQ(sharded->get("transformer.wte.weight").shape(), Shape({11, 8}));
  expect_throws<FileError>(
      [&] { sharded->get("transformer.wte.weigth"); },
      {"sharded: expected a tensor", "the nearest are 'transformer.wte.weight'"});
}

TEST(Weights, SavesTheSameBytesAsTransformers) {
  const TemporaryFolder folder;
  const auto weights = open_weights(kFolder / "single");
  save_weights(folder.path(), all_of(*weights));
  EXPECT_EQ(read_bytes(folder / "model.safetensors"),
            read_bytes(kFolder / "single/model.safetensors"));
}

TEST(Weights, SavesShardsWithAnIndex) {
  const TemporaryFolder folder;
  const std::vector<Named> tensors{
      {"a", filled(1)}, {"b", filled(2)}, {"c", filled(3, 100)}, {"d", filled(4)}};
  save_weights(folder.path(), tensors, 64);
  EXPECT_THAT(files_in(folder.path()),
              ElementsAre("model-00001-of-00003.safetensors", "model-00002-of-00003.safetensors",
                          "model-00003-of-00003.safetensors", "model.safetensors.index.json"));
  const Json index = read_json(folder / "model.safetensors.index.json");
  EXPECT_EQ(index["metadata"]["total_size"], 496);
  EXPECT_EQ(index["weight_map"]["b"], "model-00001-of-00003.safetensors");
  EXPECT_EQ(index["weight_map"]["c"], "model-00002-of-00003.safetensors");
  const auto back = open_weights(folder.path());
  EXPECT_EQ(back->tensors().size(), 4U);
  EXPECT_EQ(back->get("c").to_vector<float>(), filled(3, 100).to_vector<float>());
}

TEST(Weights, EverySaveReplacesTheOneBefore) {
  const TemporaryFolder folder;
  float value = 0;
  // One file and shards, each after each; the old weights stay mapped meanwhile.
  for (const int64_t limit : {1000, 1000, 40, 40, 70, 40, 1000, 40}) {
    value += 1;
    const auto before = value > 1 ? open_weights(folder.path()) : nullptr;
    const Tensor old = before ? before->get("a") : Tensor();
    write_bytes(folder / ".model-00001-of-00009.safetensors.tmp", "left by a killed writer");
    save_weights(
        folder.path(),
        std::vector<Named>{{"a", filled(value)}, {"b", filled(value)}, {"c", filled(value)}},
        limit);
    const auto weights = open_weights(folder.path());
    for (const char* name : {"a", "b", "c"})
      EXPECT_EQ(weights->get(name).to_vector<float>(), filled(value).to_vector<float>());
    const size_t shards = limit == 1000 ? 0U : limit == 70 ? 2U : 3U;
    EXPECT_EQ(files_in(folder.path()).size(), shards + 1);
    if (before) {
      EXPECT_EQ(old.to_vector<float>(), filled(value - 1).to_vector<float>());
    }
  }
}

TEST(Weights, TiedTensorsAreWrittenOnce) {
  const TemporaryFolder folder;
  const Tensor tied = from_vector<float>({1, 2, 3, 4}, {2, 2});
  save_weights(folder.path(), std::vector<Named>{{"embedding", tied},
                                                 {"head", tied.detach()},
                                                 {"turned", transpose(tied, 0, 1)},
                                                 {"row", tied.view({2}, {1}, 0)},
                                                 {"copy", clone(tied)}});
  const auto weights = open_weights(folder.path());
  EXPECT_EQ(weights->find("head"), nullptr);
  EXPECT_EQ(weights->tensors().size(), 4U);
}

TEST(Weights, AreNeverMixedWhenTheWriterIsKilled) {
  const TemporaryFolder folder;
  const auto save = [&](float value) {
    const std::vector<Named> tensors{
        {"a", filled(value, 4096)}, {"b", filled(value, 4096)}, {"c", filled(value, 4096)}};
    const int64_t limit = static_cast<int>(value) % 3 == 0 ? 1'000'000 : 20'000;
    save_weights(folder.path(), tensors, limit);
  };
  float value = 1;
  save(value);
  for (int round = 0; round < 20; ++round) {
    const pid_t writer = fork();
    ASSERT_GE(writer, 0);
    if (writer == 0)
      for (;;) save(value += 1);
    std::this_thread::sleep_for(std::chrono::microseconds(500 + 2300 * round));
    kill(writer, SIGKILL);
    waitpid(writer, nullptr, 0);
    const auto weights = open_weights(folder.path());
    const float first = weights->get("a").data<float>()[0];
    for (const char* name : {"a", "b", "c"})
      ASSERT_EQ(weights->get(name).to_vector<float>(), filled(first, 4096).to_vector<float>());
    value = first;
  }
}

TEST(Weights, RefusesFoldersItCannotOpen) {
  const TemporaryFolder folder;
  const auto open = [&] { open_weights(folder.path()); };
  expect_throws<FileError>([&] { open_weights(folder / "no"); },
                           "/no: expected a model folder, found nothing");
  expect_throws<FileError>(open, "expected model.safetensors or model.safetensors.index.json");
  write_bytes(folder / "pytorch_model.bin", "PK");
  expect_throws<FileError>(open, {"found pytorch_model.bin; pickle files can run code",
                                  "save_pretrained(folder, safe_serialization=True)"});

  const auto index = [&](const std::string& text) {
    write_bytes(folder / "model.safetensors.index.json", text);
  };
  index("{}");
  expect_throws<FileError>(open, {"index.json", "'weight_map' is missing"});
  index(R"({"weight_map": {"a": 1}})");
  expect_throws<FileError>(open, {"index.json", "field 'a' must be the name of a shard, found 1"});
  write_safetensors(folder / "x.safetensors", std::vector<Named>{{"a", filled(1)}});
  for (const std::string shard : {"../x.safetensors", "/x.safetensors", "y/../../x", ""}) {
    index(R"({"weight_map": {"a": ")" + shard + R"("}})");
    expect_throws<FileError>(open,
                             {"index.json: expected shards inside the folder", shard.c_str()});
  }
  index(R"({"weight_map": {"a": "y.safetensors"}})");
  expect_throws<FileError>(open, "index.json: the shard 'y.safetensors' is not in the folder");
  index(R"({"weight_map": {"a": "x.safetensors", "b": "x.safetensors"}})");
  expect_throws<FileError>(open, "the tensor 'b' is not in its shard 'x.safetensors'");
  index(R"({"weight_map": {"a": "x.safetensors"}})");
  EXPECT_EQ(open_weights(folder.path())->tensors().size(), 1U);
}

TEST(Weights, LeaveNoShardsThatNoIndexNames) {
  const TemporaryFolder folder;
  const std::vector<Named> tensors{{"a", filled(1)}, {"b", filled(2)}};
  save_weights(folder.path(), tensors, 40);
  const auto before = files_in(folder.path());
  // The second shard of the next save cannot be written.
  std::filesystem::create_directory(folder / ".model-1-00002-of-00002.safetensors.tmp");
  expect_throws<FileError>([&] { save_weights(folder.path(), tensors, 40); },
                           "model-1-00002-of-00002.safetensors");
  std::filesystem::remove(folder / ".model-1-00002-of-00002.safetensors.tmp");
  EXPECT_EQ(files_in(folder.path()), before);
}

TEST(Weights, SaysWhyItCannotSave) {
  const TemporaryFolder folder;
  write_bytes(folder / "file", "");
  const std::vector<Named> tensors{{"a", filled(1)}, {"b", filled(2)}};
  expect_throws<FileError>([&] { save_weights(folder / "file", tensors); }, "/file: cannot be");
  expect_throws<FileError>([&] { save_weights(folder / "file/x", tensors); }, "/file/x: cannot be");
  expect_throws<ValueError>([&] { save_weights(folder.path(), tensors, 0); }, "at least 1 byte");
}

}  // namespace
}  // namespace glassformer::testing
