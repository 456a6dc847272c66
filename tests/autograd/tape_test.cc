#include "autograd/tape.h"

#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "glassformer/glassformer.h"
#include "support/compare.h"
#include "support/throws.h"

namespace glassformer::testing {
namespace {

Tensor leaf(const Shape& shape, uint64_t stream) {
  return random_normal(shape, {.seed = 11, .stream = stream}).set_requires_grad();
}

TEST(Tape, GradientsAccumulateOverBackwards) {
  Tensor x = ones({3}).set_requires_grad();
  backward(sum(x * 2));
  backward(sum(x * 5));
  EXPECT_EQ(x.grad().to_vector<float>(), (std::vector<float>{7, 7, 7}));
  x.set_grad(Tensor());
  EXPECT_FALSE(x.grad().defined());
}

TEST(Tape, ATensorUsedTwiceGetsBothGradients) {
  Tensor x = full({2}, 3).set_requires_grad();
  const Tensor y = x * x;
  backward(sum(y * x + y));  // x^3 + x^2
  EXPECT_EQ(x.grad().to_vector<float>(), (std::vector<float>{33, 33}));
}

TEST(Tape, NothingIsRecordedInANoGradScope) {
  Tensor x = ones({2}).set_requires_grad();
  {
    const NoGrad no_grad;
    EXPECT_FALSE(grad_enabled());
    EXPECT_FALSE((x * 2).requires_grad());
    const GradScope again(true);
    EXPECT_TRUE((x * 2).requires_grad());
  }
  EXPECT_TRUE(grad_enabled());
  expect_throws<AutogradError>([&] { backward(sum(x.detach())); }, {"backward"});
}

TEST(Tape, ASecondBackwardIsAnError) {
  Tensor x = ones({2}).set_requires_grad();
  const Tensor loss = sum(x * x);
  backward(loss);
  expect_throws<AutogradError>([&] { backward(loss); }, {"earlier backward"});
  EXPECT_EQ(x.grad().to_vector<float>(), (std::vector<float>{2, 2}));
}

TEST(Tape, ChangingWhatTheBackwardNeedsIsAnError) {
  for (const int how : {0, 1, 2}) {
    Tensor x = ones({2}).set_requires_grad();
    Tensor weight = full({2}, 3);
    const Tensor loss = sum(x * weight);
    if (how == 0) copy_(weight, zeros({2}));
    if (how == 1) weight.mutable_data<float>()[0] = 5;
    if (how == 2) fill_(slice(weight, 0, 0, 1), 1);  // through a view
    expect_throws<AutogradError>([&] { backward(loss); }, {"multiply", "changed in place"});
  }
  Tensor x = ones({2}).set_requires_grad();
  Tensor shift = ones({2});
  const Tensor loss = sum(x + shift);
  copy_(shift, zeros({2}));  // not needed by the backward
  backward(loss);
}

TEST(Tape, LeavesOnTheTapeAreNotChangedInPlace) {
  Tensor x = ones({2}).set_requires_grad();
  expect_throws<AutogradError>([&] { copy_(x, zeros({2})); }, {"copy_"});
  const NoGrad no_grad;
  copy_(x, zeros({2}));
  EXPECT_EQ(sum(x).item(), 0);
}

TEST(Tape, GradientsOfLeavesNeverAlias) {
  Tensor a = ones({3}).set_requires_grad(), b = ones({3}).set_requires_grad();
  const Tensor dy = ones({3});
  backward({a + b}, {dy});
  EXPECT_NE(a.grad().storage(), b.grad().storage());
  EXPECT_NE(a.grad().storage(), dy.storage());
  scale_(a.grad(), 10);
  EXPECT_EQ(b.grad().to_vector<float>(), (std::vector<float>{1, 1, 1}));
  EXPECT_EQ(dy.to_vector<float>(), (std::vector<float>{1, 1, 1}));

  Tensor c = ones({2, 2}).set_requires_grad(), e = ones({2, 2}).set_requires_grad();
  backward(sum(concatenate({c, transpose(e, 0, 1)}, 0)));
  EXPECT_NE(c.grad().storage(), e.grad().storage());
  EXPECT_TRUE(c.grad().is_contiguous() && e.grad().is_contiguous());
}

TEST(Tape, AChainOfTwoHundredThousandOps) {
  constexpr int kLength = 200000;
  Tensor x = ones({1}).set_requires_grad();
  {
    Tensor dropped = x;
    for (int i = 0; i < kLength; ++i) dropped = dropped + 1.0;
  }  // freed without a backward
  Tensor y = x;
  for (int i = 0; i < kLength; ++i) y = y + 1.0;
  backward(sum(y));
  EXPECT_EQ(x.grad().item(), 1);
}

TEST(Tape, Errors) {
  Tensor x = ones({2}).set_requires_grad();
  expect_throws<ShapeError>([&] { backward(x * 2); }, {"backward", "[2]"});
  expect_throws<ValueError>([&] { backward(std::vector{x * 2}, std::vector<Tensor>()); },
                            {"backward", "1"});
  expect_throws<ShapeError>([&] { backward({x * 2}, {ones({3})}); }, {"gradient", "[2]", "[3]"});
  expect_throws<DTypeError>([&] { backward({x * 2}, {ones({2}, {DType::kFloat64})}); },
                            {"gradient", "float64"});
  expect_throws<ValueError>([&] { backward(Tensor()); }, {"output"});
  expect_throws<AutogradError>([&] { (x * 2).set_requires_grad(); }, {"leaf"});
  expect_throws<AutogradError>([] { ones({2}, {DType::kInt64}).set_requires_grad(); }, {"int64"});
}

// Runs a block with dropout and a captured parameter, plainly or with its tape made again.
struct BlockRun {
  Tensor loss, x_grad, weight_grad;
  RandomKey state;
};
BlockRun run_block(bool checkpointed) {
  Tensor x = leaf({5, 8}, 0), weight = leaf({8}, 1);
  Generator random(77);
  const BlockFunction block = [&](const std::vector<Tensor>& in) {
    const Tensor hidden = dropout(gelu(in[0] * weight), 0.4, random.next());
    return std::vector{dropout(hidden * hidden, 0.2, random.next()), sum(hidden)};
  };
  const auto out = checkpointed ? checkpoint(block, {x}, &random) : block({x});
  const Tensor noise = random_normal({5, 8}, random.next());
  const Tensor loss = sum(out[0] * noise) + out[1] * 0.5;
  backward(loss);
  return {loss, x.grad(), weight.grad(), random.state()};
}

TEST(Tape, CheckpointEqualsPlain) {
  const BlockRun plain = run_block(false), again = run_block(true);
  EXPECT_TRUE(same_bits(plain.loss, again.loss));
  EXPECT_TRUE(same_bits(plain.x_grad, again.x_grad));
  EXPECT_TRUE(same_bits(plain.weight_grad, again.weight_grad));
  EXPECT_EQ(plain.state.stream, again.state.stream);
}

// The input needs no gradient, but a parameter that the block captures does.
TEST(Tape, CheckpointReachesCapturedParametersAlone) {
  Tensor weight = full({3}, 2).set_requires_grad();
  const Tensor x = full({3}, 4);
  const auto out =
      checkpoint([&](const std::vector<Tensor>& in) { return std::vector{in[0] * weight}; }, {x});
  backward(sum(out[0]));
  EXPECT_EQ(weight.grad().to_vector<float>(), (std::vector<float>{4, 4, 4}));
}

// What a hook saw of the leaves it knows: which, and the gradient at that moment.
struct Announced {
  std::vector<std::string> names;
  std::map<std::string, std::vector<float>> gradients;
};
Announced announced_by(const Tensor& loss,
                       const std::vector<std::pair<std::string, Tensor>>& leaves) {
  Announced seen;
  backward(loss, [&](const GradientState* state) {
    for (const auto& [name, leaf] : leaves) {
      if (leaf.gradient_state() != state) continue;
      seen.names.push_back(name);
      if (leaf.grad().defined()) seen.gradients[name] = leaf.grad().to_vector<float>();
    }
  });
  for (const auto& [name, leaf] : leaves) {
    const Tensor gradient = leaf.grad();
    EXPECT_EQ(seen.gradients[name],
              gradient.defined() ? gradient.to_vector<float>() : std::vector<float>());
  }
  return seen;
}
using Names = std::vector<std::string>;

TEST(LeafHook, HearsOfTheNewestFirstAndOfATiedLeafLast) {
  Tensor tied = leaf({4}, 0), a = leaf({4}, 1), b = leaf({4}, 2);
  const Tensor hidden = gelu(tied * 2 + a) * b;
  const Announced seen = announced_by(sum(hidden * tied), {{"tied", tied}, {"a", a}, {"b", b}});
  EXPECT_EQ(seen.names, (Names{"b", "a", "tied"}));
}

TEST(LeafHook, HearsOfWhatCheckpointsReach) {
  Tensor x = leaf({4}, 0), shared = leaf({4}, 1), first = leaf({4}, 2), second = leaf({4}, 3);
  const auto block = [&](const Tensor& weight) {
    return [&](const std::vector<Tensor>& in) {
      // A checkpoint within, and a leaf that is read through a view.
      return checkpoint(
          [&](const std::vector<Tensor>& inner) {
            return std::vector{gelu(inner[0] * reshape(weight, {4})) + shared};
          },
          in);
    };
  };
  const Tensor middle = checkpoint(block(first), {x})[0];
  const Tensor last = checkpoint(block(second), {middle})[0];
  const Announced seen =
      announced_by(sum(last), {{"x", x}, {"shared", shared}, {"first", first}, {"second", second}});
  EXPECT_EQ(seen.names.front(), "second");
  EXPECT_THAT(seen.names, ::testing::UnorderedElementsAre("x", "shared", "first", "second"));
}

// The block takes the tape behind what it captured along; its leaves are heard of at the end.
TEST(LeafHook, HearsOfLeavesBehindACapturedResult) {
  Tensor x = leaf({4}, 0), weight = leaf({4}, 1);
  const Tensor captured = gelu(weight);
  const auto out =
      checkpoint([&](const std::vector<Tensor>& in) { return std::vector{in[0] * captured}; }, {x});
  EXPECT_EQ(announced_by(sum(out[0]), {{"x", x}, {"weight", weight}}).names,
            (Names{"x", "weight"}));
}

TEST(LeafHook, ALeafWithoutAGradientIsHeardOfOnce) {
  Tensor x = leaf({4}, 0), unused = leaf({4}, 1);
  const auto parts = checkpoint(
      [](const std::vector<Tensor>& in) {
        return std::vector{in[0] * 2, in[1] * 3};
      },
      {x, unused});
  const Announced seen = announced_by(sum(parts[0]), {{"x", x}, {"unused", unused}});
  EXPECT_EQ(seen.names, (Names{"x", "unused"}));
  EXPECT_FALSE(unused.grad().defined());
  Tensor loss = leaf({1}, 2);  // a leaf as the loss
  EXPECT_EQ(announced_by(loss, {{"loss", loss}}).names, Names{"loss"});
}

TEST(Tape, CheckpointKeepsLessAlive) {
  const auto kept = [](bool checkpointed) {
    Tensor x = leaf({1 << 16}, 3);
    const BlockFunction block = [](const std::vector<Tensor>& in) {
      Tensor y = in[0];
      for (int i = 0; i < 8; ++i) y = gelu(y);
      return std::vector{y};
    };
    const size_t before = memory_stats(Device::kCpu).bytes_in_use;
    const auto out = checkpointed ? checkpoint(block, {x}) : block({x});
    return memory_stats(Device::kCpu).bytes_in_use - before;
  };
  EXPECT_LE(4 * kept(true), kept(false));
}

}  // namespace
}  // namespace glassformer::testing
