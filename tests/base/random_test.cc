#include "glassformer/base/random.h"

#include <array>

#include <gtest/gtest.h>

#include "base/philox.h"

namespace glassformer::testing {
namespace {

using Words = std::array<uint32_t, 4>;

// The known answers of Random123 for philox4x32-10. Its counter is (counter, stream), its key the
// seed.
TEST(Random, PhiloxKnownAnswers) {
  EXPECT_EQ(philox({0, 0}, 0), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  constexpr uint64_t kOnes = ~uint64_t{0};
  EXPECT_EQ(philox({kOnes, kOnes}, kOnes), (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({.seed = 0x299f31d0a4093822, .stream = 0x0370734413198a2e}, 0x85a308d3243f6a88),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Random, WordsAreTheBlocksInOrder) {
  const RandomKey key{.seed = 1, .stream = 2};
  for (uint64_t i = 0; i < 64; ++i) EXPECT_EQ(philox_word(key, i), philox(key, i / 4)[i % 4]);
}

TEST(Random, GeneratorHandsOutFreshKeysAndResumes) {
  Generator generator(42);
  const RandomKey first = generator.next(), second = generator.next();
  EXPECT_EQ(first.seed, 42U);
  EXPECT_NE(first.stream, second.stream);
  const RandomKey saved = generator.state();
  const RandomKey third = generator.next();
  generator.set_state(saved);
  EXPECT_EQ(generator.next().stream, third.stream);
}

TEST(Random, DropoutThreshold) {
  EXPECT_EQ(dropout_threshold(0), 0U);
  EXPECT_EQ(dropout_threshold(0.5), 0x80000000U);
  EXPECT_EQ(dropout_threshold(1), 0xFFFFFFFFU);
}

TEST(Random, UniformStaysBelowOne) {
  EXPECT_EQ(uniform_from_word(0), 0.0F);
  EXPECT_LT(uniform_from_word(0xFFFFFFFF), 1.0F);
}

}  // namespace
}  // namespace glassformer::testing
