#include "glassformer/tensor/tensor.h"

#include <filesystem>
#include <fstream>
#include <limits>
#include <unistd.h>

#include <gtest/gtest.h>

#include "glassformer/glassformer.h"
#include "support/compare.h"
#include "support/throws.h"

namespace glassformer::testing {
namespace {

Tensor counting(const Shape& shape) {
  std::vector<float> values(static_cast<size_t>(count_of(shape)));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  return from_vector(values, shape);
}

TEST(Tensor, UndefinedIsAnError) {
  const Tensor none;
  EXPECT_FALSE(none.defined());
  expect_throws<ValueError>([&] { (void)none.shape(); }, {"expected a tensor"});
}

TEST(Tensor, ViewsShareMemory) {
  Tensor x = counting({2, 3, 4});
  const Tensor y = transpose(slice(x, 1, 1, 3), 0, 2);
  EXPECT_EQ(y.shape(), (Shape{4, 2, 2}));
  EXPECT_EQ(y.storage(), x.storage());
  EXPECT_FALSE(y.is_contiguous());
  EXPECT_EQ(select(select(y, 0, 3), 0, 1).to_vector<float>(), (std::vector<float>{11, 23}));
  x.mutable_data<float>()[11] = -1;
  EXPECT_EQ(select(select(y, 0, 3), 0, 1).to_vector<float>(), (std::vector<float>{-1, 23}));
  EXPECT_EQ(reshape(x, {-1, 6}).storage(), x.storage());
  EXPECT_NE(reshape(transpose(x, 0, 1), {-1}).storage(), x.storage());
}

TEST(Tensor, ViewsStayInside) {
  const Tensor x = counting({6});
  EXPECT_EQ(x.view({2, 2}, {3, 1}, 1).to_vector<float>(), (std::vector<float>{1, 2, 4, 5}));
  EXPECT_EQ(x.view({3}, {-2}, 5).to_vector<float>(), (std::vector<float>{5, 3, 1}));
  expect_throws<ShapeError>([&] { x.view({2, 3}, {4, 1}, 0); }, {"view", "6"});
  expect_throws<ShapeError>([&] { x.view({3}, {-2}, 3); }, {"view"});
  expect_throws<ShapeError>([&] { x.view({1}, {1}, -1); }, {"view"});
  expect_throws<ShapeError>([&] { x.view({2}, {1, 1}, 0); }, {"strides"});
  EXPECT_EQ(x.view({0}, {1}, 0).count(), 0);
}

// Sizes and strides whose product does not fit 64 bits must not wrap around to "inside".
TEST(Tensor, ViewExtentDoesNotOverflow) {
  const Tensor x = counting({6});
  constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();
  expect_throws<ShapeError>([&] { x.view({3}, {kHuge}, 0); }, {"view"});
  expect_throws<ShapeError>([&] { x.view({5, 5}, {kHuge / 4 + 1, 1}, 0); }, {"view"});
  expect_throws<ShapeError>([&] { x.view({2}, {1}, kHuge); }, {"view"});
}

TEST(Tensor, HostAccessIsChecked) {
  Tensor x = counting({3});
  EXPECT_EQ(x.data<float>()[2], 2);
  expect_throws<DTypeError>([&] { x.data<double>(); }, {"float64", "float32"});
  const Tensor there = to(x, Device::kRef);
  expect_throws<DeviceError>([&] { there.data<float>(); }, {"cpu", "ref"});
  expect_throws<ShapeError>([&] { x.item(); }, {"item", "[3]"});
  expect_throws<ShapeError>([&] { (void)x.size(1); }, {"axis"});
}

TEST(Tensor, RoundTripBetweenDevices) {
  const Tensor x = random_normal({5, 7}, {1, 2});
  EXPECT_TRUE(same_bits(to(to(x, Device::kRef), Device::kCpu), x));
  EXPECT_TRUE(
      same_bits(to(transpose(to(x, Device::kRef), 0, 1), Device::kCpu), transpose(x, 0, 1)));
  EXPECT_EQ(slice(to(x, Device::kRef), 1, 2, 4).to_vector<float>(),
            slice(x, 1, 2, 4).to_vector<float>());
}

TEST(Tensor, MissingDevicesAndNames) {
  if (!is_available(Device::kCuda)) {
    expect_throws<DeviceError>([] { empty({2}, {DType::kFloat32, Device::kCuda}); }, {"cuda"});
    expect_throws<DeviceError>([] { to(ones({2}), Device::kCuda); }, {"cuda"});
  }
  EXPECT_EQ(device_from_name("ref"), Device::kRef);
  expect_throws<ValueError>([] { device_from_name("tpu"); }, {"tpu"});
}

TEST(Tensor, FromVectorChecksTheCount) {
  expect_throws<ShapeError>([] { from_vector(std::vector<float>{1, 2}, {3}); }, {"3", "2"});
  EXPECT_EQ(from_vector(std::vector<float>{}, {0, 4}).count(), 0);
}

TEST(Tensor, Ownership) {
  const Tensor x = ones({2});
  EXPECT_TRUE(x.is_sole_owner());
  const Tensor same = x;
  EXPECT_FALSE(x.is_sole_owner());
  const Tensor y = ones({2});
  const Tensor view = y.detach();
  EXPECT_FALSE(y.is_sole_owner());
}

class MappedFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = std::filesystem::temp_directory_path() /
            ("glassformer_mapped_" + std::to_string(::getpid()));
    const float numbers[] = {1, 2, 3, 4};
    std::ofstream(path_, std::ios::binary)
        .write(reinterpret_cast<const char*>(numbers), sizeof(numbers));
  }
  void TearDown() override { std::filesystem::remove(path_); }
  std::filesystem::path path_;
};

TEST_F(MappedFiles, AreReadInPlaceAndNeverWritten) {
  Tensor x = Tensor::from_storage(Storage::map_file(path_), {2, 2}, {2, 1}, 0, DType::kFloat32);
  EXPECT_EQ(sum(x).item(), 10);
  EXPECT_FALSE(x.is_sole_owner());
  expect_throws<ValueError>([&] { x.mutable_data<float>(); }, {"mapped file"});
  expect_throws<ValueError>([&] { fill_(x, 0); }, {"fill_", "mapped file"});
  expect_throws<ValueError>([&] { add_(x, x); }, {"add_", "mapped file"});
  std::filesystem::remove(path_);
  EXPECT_EQ(x.to_vector<float>()[3], 4);  // a mapping outlives its name
}

TEST_F(MappedFiles, BoundsAndAlignment) {
  const auto storage = Storage::map_file(path_);
  expect_throws<ShapeError>([&] { Tensor::from_storage(storage, {5}, {1}, 0, DType::kFloat32); },
                            {"view", "4"});
  EXPECT_EQ(storage->bytes(), 16U);
}

TEST_F(MappedFiles, Errors) {
  expect_throws<FileError>([] { Storage::map_file("/no/such/file"); }, {"/no/such/file"});
  expect_throws<FileError>([&] { Storage::map_file(path_.parent_path()); }, {"regular file"});
  std::ofstream(path_, std::ios::trunc);
  EXPECT_EQ(Storage::map_file(path_)->bytes(), 0U);
}

#ifdef GLASSFORMER_PROTECT_REF
TEST(TensorDeathTest, RefMemoryCannotBeTouchedOutsideKernels) {
  const Tensor x = ones({4}, {DType::kFloat32, Device::kRef});
  EXPECT_DEATH(
      {
        volatile const auto* address = reinterpret_cast<volatile const float*>(x.storage()->data());
        [[maybe_unused]] const float value = *address;
      },
      "");
}
#endif

}  // namespace
}  // namespace glassformer::testing
