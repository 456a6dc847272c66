#include "glassformer/inspect/alignment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "glassformer/base/error.h"
#include "glassformer/ops/create.h"
#include "support/throws.h"

namespace glassformer {
namespace {

using ::testing::ElementsAre;
using testing::expect_throws;
using ::testing::Pair;

// "The housekey, yes": pieces with and without their spaces, a sign, a special token.
Report::Side source() {
  return {{{1, "The", 0, 3},
           {2, " house", 3, 9},
           {3, "key", 9, 12},
           {4, ",", 12, 13},
           {5, "yes", 14, 17},
           {6, "</s>", 17, 17}},
          "The housekey, yes"};
}
Report::Side target() {
  return {{{0, "<pad>", 0, 0}, {7, "Ja", 0, 2}, {8, " Schlüs", 2, 10}, {9, "sel", 10, 13}},
          "Ja Schlüssel"};
}

TEST(Words, EndAtSpacesAndSigns) {
  EXPECT_THAT(words_of(source()), ElementsAre(Pair(0, 0), Pair(1, 2), Pair(3, 3), Pair(4, 4)));
  EXPECT_THAT(words_of(target()), ElementsAre(Pair(1, 1), Pair(2, 3)));
  EXPECT_TRUE(words_of({}).empty());
}

// Rows are those that a token came out of: the first is Ja's.
TEST(Words, AreAlignedByTheBestAndThoseHalfAsGood) {
  const Tensor weights = from_vector(std::vector<float>{.0F, .0F, .0F, .1F, .4F, .5F,   // Ja
                                                        .1F, .2F, .2F, .0F, .0F, .5F,   // Schlüs
                                                        .0F, .1F, .0F, .0F, .0F, .9F,   // sel
                                                        .0F, .0F, .0F, .0F, .0F, 1.F},  // the next
                                     {4, 6});
  const Report::Words words = align_words(source(), target(), weights);
  ASSERT_EQ(words.pairs.size(), 2U);
  EXPECT_EQ(words.pairs[0].source, 3);
  EXPECT_EQ(words.pairs[0].target, 0);
  EXPECT_NEAR(words.pairs[0].weight, .8, 1e-6);
  EXPECT_EQ(words.pairs[1].source, 1);
  EXPECT_EQ(words.pairs[1].target, 1);
  EXPECT_NEAR(words.pairs[1].weight, .5 / .6, 1e-6);
  expect_throws<ShapeError>(
      [] {
        align_words(source(), target(), zeros({6, 4}));
      },
      {"[4, 6]", "[6, 4]"});
}

}  // namespace
}  // namespace glassformer
