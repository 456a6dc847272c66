#include "glassformer/ops/gather.h"

#include <gtest/gtest.h>

#include "glassformer/glassformer.h"
#include "support/compare.h"
#include "support/throws.h"

namespace glassformer::testing {
namespace {

Tensor ids_of(const std::vector<int64_t>& values, Device device = Device::kCpu) {
  return from_vector(values, {static_cast<int64_t>(values.size())}, device);
}

TEST(Gather, EveryDtypeAndBothIndexTypes) {
  const Tensor x = from_vector(std::vector<int64_t>{10, 11, 20, 21, 30, 31}, {3, 2});
  for (const Device device : {Device::kRef, Device::kCpu}) {
    for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kInt8, DType::kInt32,
                              DType::kInt64, DType::kBFloat16, DType::kFloat16}) {
      const Tensor from = to(cast(x, dtype), device);
      for (const DType index : {DType::kInt32, DType::kInt64}) {
        const Tensor ids = cast(ids_of({2, 0}, device), index);
        EXPECT_EQ(gather_rows(from, ids).to_vector<int64_t>(),
                  (std::vector<int64_t>{30, 31, 10, 11}));
        EXPECT_EQ(gather(from, 0, reshape(ids, {1, 2})).to_vector<int64_t>(),
                  (std::vector<int64_t>{30, 11}));
      }
    }
  }
}

TEST(Gather, ManyRowsOfOneIdAddUpInFloat32) {
  Tensor x = zeros({2, 3}, {DType::kBFloat16}).set_requires_grad();
  const Tensor y = gather_rows(x, full({1000}, 1, {DType::kInt64}));
  backward({y}, {ones({1000, 3}, {DType::kBFloat16})});
  // 1000 is a bfloat16; adding up in bfloat16 would stop at 256.
  EXPECT_EQ(x.grad().to_vector<float>(), (std::vector<float>{0, 0, 0, 1000, 1000, 1000}));
}

TEST(Gather, IndicesOutOfRangeAreNamed) {
  for (const Device device : {Device::kRef, Device::kCpu}) {
    const Tensor x = ones({3, 2}, {DType::kFloat32, device});
    expect_throws<IndexError>(
        [&] {
          gather_rows(x, ids_of({0, 1, 3}, device));
        },
        {"0 to 2", "found 3", "at [2]"});
    expect_throws<IndexError>([&] { gather_rows(x, ids_of({-1}, device)); },
                              {"found -1", "at [0]"});
    expect_throws<IndexError>(
        [&] {
          index_select(x, 1, ids_of({1, 2}, device));
        },
        {"index_select", "found 2", "at [1]"});
    expect_throws<IndexError>(
        [&] {
          gather(x, 0, reshape(ids_of({0, 9}, device), {1, 2}));
        },
        {"gather", "found 9", "at [0, 1]"});
    expect_throws<IndexError>([&] { gather_rows(slice(x, 0, 0, 0), ids_of({0}, device)); },
                              {"found 0"});
  }
}

TEST(Gather, Errors) {
  const Tensor x = ones({3, 2}), ids = ids_of({0, 1});
  expect_throws<DTypeError>([&] { gather_rows(x, ones({2})); }, {"gather_rows", "ids", "float32"});
  expect_throws<ShapeError>([&] { gather_rows(ones({}), ids); }, {"gather_rows", "x"});
  expect_throws<DeviceError>([&] { gather_rows(x, to(ids, Device::kRef)); },
                             {"gather_rows", "ids", "ref"});
  expect_throws<ShapeError>([&] { index_select(x, 2, ids); }, {"index_select", "axis"});
  expect_throws<ShapeError>(
      [&] {
        index_select(x, 0, reshape(ids, {1, 2}));
      },
      {"index_select", "ids", "rank 1"});
  expect_throws<ShapeError>([&] { gather(x, 0, ids); }, {"gather", "index", "rank 2"});
  expect_throws<ShapeError>(
      [&] {
        gather(x, 1, zeros({4, 1}, {DType::kInt64}));
      },
      {"gather", "[3, 2]", "[4, 1]"});
}

TEST(Concatenate, Errors) {
  const Tensor x = ones({2, 3});
  expect_throws<ValueError>([] { concatenate({}, 0); }, {"concatenate"});
  expect_throws<ValueError>([&] { concatenate({x, Tensor()}, 0); }, {"tensors[1]"});
  expect_throws<ShapeError>([&] { concatenate({x, ones({2, 4})}, 0); }, {"tensors[1]", "[2, 4]"});
  expect_throws<ShapeError>([&] { concatenate({x, ones({2})}, 0); }, {"tensors[1]", "[2]"});
  expect_throws<ShapeError>([&] { concatenate({x}, 2); }, {"concatenate", "axis"});
  expect_throws<DTypeError>(
      [&] {
        concatenate({x, ones({2, 3}, {DType::kFloat64})}, 0);
      },
      {"tensors[1]", "float64"});
  expect_throws<DeviceError>(
      [&] {
        concatenate({x, to(x, Device::kRef)}, 0);
      },
      {"tensors[1]", "ref"});
  expect_throws<ShapeError>([&] { stack({x, ones({3, 2})}, 0); }, {"stack", "tensors[1]"});
  expect_throws<ValueError>([] { stack({}, 0); }, {"stack"});
}

TEST(Concatenate, IntegersAndBools) {
  const Tensor a = from_vector(std::vector<bool>{true, false}, {2});
  EXPECT_EQ(concatenate({a, a}, 0).to_vector<bool>(),
            (std::vector<bool>{true, false, true, false}));
  EXPECT_EQ(stack({ids_of({1, 2}), ids_of({3, 4})}, 1).to_vector<int64_t>(),
            (std::vector<int64_t>{1, 3, 2, 4}));
}

}  // namespace
}  // namespace glassformer::testing
