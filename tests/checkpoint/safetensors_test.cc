#include "glassformer/checkpoint/safetensors.h"

#include <chrono>
#include <cstring>
#include <limits>
#include <set>

#include <gtest/gtest.h>

#include "glassformer/glassformer.h"
#include "support/stored.h"
#include "support/temporary_folder.h"
#include "support/throws.h"

namespace glassformer::testing {
namespace {

namespace fs = std::filesystem;

const fs::path kFolder = fs::path(GLASSFORMER_FIXTURES_DIR) / "checkpoint/safetensors";

TEST(Safetensors, ReadsWhatPythonWrote) {
  const SafetensorsFile file(kFolder / "ours.safetensors");
  EXPECT_EQ(file.tensors().size(), 11U);
  EXPECT_EQ(file.metadata(), (std::map<std::string, std::string>{{"format", "pt"}}));
  const Tensor weight = file.get("weight");
  EXPECT_EQ(weight.shape(), Shape({3, 4}));
  EXPECT_EQ(weight.to_vector<float>(), (std::vector<float>{0, -.25F, .5F, -.75F, 1, -1.25F, 1.5F,
                                                           -1.75F, 2, -2.25F, 2.5F, -2.75F}));
  EXPECT_EQ(file.get("bias").to_vector<double>(), (std::vector<double>{0, -.125, .25, -.375, .5}));
  EXPECT_EQ(file.get("half").dtype(), DType::kFloat16);
  EXPECT_EQ(file.get("half").to_vector<float>(), (std::vector<float>{0, -1, 2, -3, 4, -5}));
  EXPECT_EQ(file.get("brain").dtype(), DType::kBFloat16);
  EXPECT_EQ(file.get("brain").to_vector<float>(), (std::vector<float>{0, -1, 2, -3, 4, -5, 6}));
  EXPECT_EQ(file.get("ids").to_vector<int64_t>(),
            (std::vector<int64_t>{0, -(int64_t{1} << 40), int64_t{1} << 41}));
  EXPECT_EQ(file.get("places").to_vector<int32_t>(), (std::vector<int32_t>{0, -1, 2, -3}));
  EXPECT_EQ(file.get("small").to_vector<int8_t>(), (std::vector<int8_t>{0, -1, 2}));
  EXPECT_EQ(file.get("mask").to_vector<bool>(),
            (std::vector<bool>{true, false, false, true, false}));
  EXPECT_EQ(file.get("scalar").shape(), Shape{});
  EXPECT_EQ(file.get("scalar").item(), 0.5);
  EXPECT_EQ(file.get("empty").shape(), Shape({2, 0, 3}));
  EXPECT_EQ(file.get("größe \"\\\n").item(), 1.0);
}

TEST(Safetensors, MapsInsteadOfCopying) {
  const SafetensorsFile file(kFolder / "ours.safetensors");
  EXPECT_EQ(file.get("weight").storage(), file.get("bias").storage());
  EXPECT_FALSE(file.get("weight").storage()->writable());
}

TEST(Safetensors, ListsWhatItCannotRead) {
  const SafetensorsFile file(kFolder / "others.safetensors");
  EXPECT_EQ(file.tensors().size(), 5U);
  ASSERT_NE(file.find("eight"), nullptr);
  EXPECT_EQ(file.find("eight")->type, "F8_E4M3");
  EXPECT_EQ(file.find("byte")->bytes, 4);
  EXPECT_EQ(file.find("nothing"), nullptr);
  EXPECT_EQ(file.get("plain").to_vector<float>(), (std::vector<float>{0, -1, 2}));
  for (const char* name : {"byte", "short", "eight"})
    expect_throws<FileError>([&] { file.get(name); },
                             {"others.safetensors: tensor '", name, "F32"});
  EXPECT_EQ(count_of(file.find("deep")->shape), 2);
  expect_throws<FileError>([&] { file.get("deep"); }, "tensor 'deep' has 9 axes; at most 8");
  expect_throws<FileError>([&] { file.get("plan"); },
                           "expected a tensor 'plan', found none among 5, the nearest is 'plain'");
}

TEST(Safetensors, WritesTheSameBytesAsPython) {
  const TemporaryFolder folder;
  const std::string expected = read_bytes(kFolder / "ours.safetensors");
  std::vector<Named> tensors = all_of(SafetensorsFile(kFolder / "ours.safetensors"));
  std::reverse(tensors.begin(), tensors.end());
  write_safetensors(folder / "a.safetensors", tensors);
  EXPECT_EQ(read_bytes(folder / "a.safetensors"), expected);
}

TEST(Safetensors, WritesAnyStridesAndDevice) {
  const TemporaryFolder folder;
  const Tensor matrix = from_vector<float>({1, 2, 3, 4, 5, 6}, {2, 3});
  const Tensor flags = from_vector({true, false, true, true, false, false}, {2, 3});
  const std::vector<Named> tensors{
      {"transposed", transpose(matrix, 0, 1)},
      {"flags", transpose(flags, 0, 1)},
      {"row", matrix.view({3}, {1}, 3)},
      {"repeated", matrix.view({2, 2}, {0, 1}, 1)},
      {"backwards", matrix.view({6}, {-1}, 5)},
      {"ref", to(matrix, Device::kRef)},
      {"ref_transposed", transpose(to(matrix, Device::kRef), 0, 1)},
      {"half", transpose(cast(matrix, DType::kBFloat16), 0, 1)},
  };
  write_safetensors(folder / "a.safetensors", tensors, {});
  const SafetensorsFile file(folder / "a.safetensors");
  EXPECT_TRUE(file.metadata().empty());
  for (const auto& [name, tensor] : tensors) {
    EXPECT_EQ(file.get(name).shape(), tensor.shape()) << name;
    EXPECT_EQ(file.get(name).dtype(), tensor.dtype()) << name;
    EXPECT_EQ(file.get(name).to_vector<double>(), tensor.to_vector<double>()) << name;
  }
}

TEST(Safetensors, KeepsEveryBit) {
  const TemporaryFolder folder;
  const std::vector<float> odd{std::numeric_limits<float>::quiet_NaN(), -0.0F, 1e-45F,
                               std::numeric_limits<float>::infinity()};
  write_safetensors(folder / "a", std::vector<Named>{{"x", from_vector(odd, {4})}});
  const Tensor back = SafetensorsFile(folder / "a").get("x");
  EXPECT_EQ(std::memcmp(back.data<float>(), odd.data(), sizeof(float) * odd.size()), 0);
}

TEST(Safetensors, ReadsMisalignedNumbers) {
  const TemporaryFolder folder;
  std::string header =
      R"({"b":{"dtype":"I8","shape":[1],"data_offsets":[0,1]},"f":{"dtype":"F32","shape":[2],"data_offsets":[1,9]}})";
  header.append((8 - header.size() % 8) % 8, ' ');
  const std::array<float, 2> values{1.5F, -2.0F};
  std::string bytes(8, '\0');
  bytes[0] = static_cast<char>(header.size());
  bytes += header + '\x07' + std::string(reinterpret_cast<const char*>(values.data()), 8);
  write_bytes(folder / "a", bytes);
  EXPECT_EQ(SafetensorsFile(folder / "a").get("f").to_vector<float>(),
            (std::vector<float>{1.5F, -2.0F}));
}

TEST(Safetensors, RefusesNamesThatCannotBeWritten) {
  const TemporaryFolder folder;
  const Tensor one = from_vector<float>({1}, {1});
  const auto write = [&](const std::vector<Named>& tensors) {
    return [&folder, tensors] { write_safetensors(folder / "a", tensors); };
  };
  expect_throws<ValueError>(write({{"x", one}, {"y", one}, {"x", to(one, Device::kRef)}}),
                            "the name 'x' is there twice");
  expect_throws<ValueError>(write({{"__metadata__", one}}), "reserved");
  expect_throws<ValueError>(write({{"\xff", one}}), "UTF-8");
  expect_throws<ValueError>(write({{"x", Tensor()}}), "'x' is no tensor");
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

// What was open keeps its numbers when the file is replaced, as when training goes on in place.
TEST(Safetensors, SurvivesBeingReplaced) {
  const TemporaryFolder folder;
  write_safetensors(folder / "a", std::vector<Named>{{"x", from_vector<float>({1, 2}, {2})}});
  const Tensor old = SafetensorsFile(folder / "a").get("x");
  write_safetensors(folder / "a", std::vector<Named>{{"x", old}, {"y", old}});
  fs::remove(folder / "a");
  EXPECT_EQ(old.to_vector<float>(), (std::vector<float>{1, 2}));
}

TEST(Safetensors, TakesManyTensors) {
  const TemporaryFolder folder;
  const Tensor one = from_vector<float>({1, 2}, {2});
  std::vector<Named> tensors;
  for (int i = 0; i < 10000; ++i)
    tensors.emplace_back("model.layers." + std::to_string(i) + ".self_attention.weight", one);
  write_safetensors(folder / "a", tensors);
  const auto begin = std::chrono::steady_clock::now();
  const SafetensorsFile file(folder / "a");
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
  RecordProperty("open_milliseconds", std::to_string(took.count()));
  EXPECT_EQ(file.tensors().size(), 10000U);
  EXPECT_EQ(file.get(tensors[77].first).to_vector<float>(), one.to_vector<float>());
}

}  // namespace
}  // namespace glassformer::testing
