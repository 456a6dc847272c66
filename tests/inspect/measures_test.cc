#include "glassformer/inspect/measures.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "glassformer/autograd/no_grad.h"
#include "glassformer/base/error.h"
#include "glassformer/inspect/capture.h"
#include "glassformer/inspect/score_terms.h"
#include "glassformer/ops/ops.h"
#include "inspect/small_models.h"
#include "support/throws.h"

namespace glassformer {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using testing::expect_throws;

Tensor weights(std::vector<float> values, int64_t heads, int64_t queries) {
  const auto keys = static_cast<int64_t>(values.size()) / heads / queries;
  return from_vector(values, {heads, queries, keys});
}

TEST(Measures, EntropyIsZeroForOneKeyAndTheLogarithmForAll) {
  const Tensor two = weights({1, 0, 0, 1,  //
                              .5F, .5F, .5F, .5F},
                             2, 2);
  EXPECT_THAT(attention_entropy(two), ElementsAre(0.0, DoubleNear(std::log(2.0), 1e-12)));
}

TEST(Measures, RowsThatAttendToNothingDoNotCount) {
  const Tensor one = weights({0, 0, .5F, .5F}, 1, 2);
  EXPECT_THAT(attention_entropy(one), ElementsAre(DoubleNear(std::log(2.0), 1e-12)));
  EXPECT_TRUE(std::isnan(attention_entropy(weights({0, 0}, 1, 1)).front()));
}

TEST(Measures, DistanceCountsTokens) {
  const Tensor one = weights({1, 0, 0,      //
                              .5F, 0, .5F,  //
                              .25F, .75F, 0},
                             1, 3);
  EXPECT_THAT(attention_distance(one), ElementsAre(DoubleNear((0 + 1 + 1.25) / 3, 1e-12)));
  // The same rows as those of queries 1 and 3.
  const Tensor some = weights({0, 0, 1, 0, 1, 0, 0, 0}, 1, 2);
  EXPECT_THAT(attention_distance(some, {.queries = {1, 3}}), ElementsAre((1.0 + 3.0) / 2));
}

TEST(Measures, DistanceInAPictureIsEuclidean) {
  // [CLS] and 2 × 2 patches: the first looks at the last, and half at [CLS], which stands nowhere.
  std::vector<float> values(25);
  for (size_t i = 0; i < 5; ++i) values[i * 5 + i] = 1;
  values[5 + 1] = 0, values[5 + 0] = .5F, values[5 + 4] = .5F;
  EXPECT_THAT(attention_distance(weights(values, 1, 5), {.columns = 2, .prefix = 1}),
              ElementsAre(DoubleNear(std::sqrt(2.0) / 4, 1e-12)));
}

TEST(Measures, PreviousTokenAndFirstToken) {
  const Tensor one = weights({1, 0, 0,        //
                              .75F, .25F, 0,  //
                              .5F, .5F, 0},
                             1, 3);
  EXPECT_THAT(previous_token_score(one), ElementsAre(DoubleNear(.625, 1e-12)));
  EXPECT_THAT(first_token_score(one), ElementsAre(DoubleNear(.75, 1e-12)));
  EXPECT_THAT(previous_token_score(weights({.5F, .5F, 0}, 1, 1), {.queries = {2}}),
              ElementsAre(.5));
}

// a b c a: an induction head at the second a looks at b.
TEST(Measures, InductionLooksBehindTheEarlierOccurrence) {
  std::vector<float> values(32);
  values[3 * 4 + 1] = .9F, values[3 * 4 + 0] = .1F;
  values[16 + 3 * 4 + 2] = 1;
  const Tensor two = weights(values, 2, 4);
  EXPECT_THAT(induction_score(two, std::vector<int64_t>{7, 8, 9, 7}),
              ElementsAre(DoubleNear(.9, 1e-7), 0.0));
  EXPECT_TRUE(std::isnan(induction_score(two, std::vector<int64_t>{7, 8, 9, 6}).front()));
  expect_throws<ShapeError>([&] { induction_score(two, std::vector<int64_t>{7}); }, {"4", "1"});
}

TEST(Measures, SimilarityIsOneForTheSameAndZeroForDisjointRows) {
  const Tensor three = weights({1, 0, 0, 1,  //
                                1, 0, 0, 1,  //
                                0, 1, 1, 0},
                               3, 2);
  EXPECT_THAT(head_similarity(three).to_vector<float>(), ElementsAre(1, 1, 0, 1, 1, 0, 0, 0, 1));
}

// Also where key heads are shared and positions are rotated.
TEST(ScoreTerms, AddUpToTheScaledScore) {
  const NoGrad no_grad;
  const Model model = Model::create(testing::kLlama, 3);
  Capture capture({"decoder.1.self_attention.*"});
  model(testing::small_input(model), {.probe = &capture});
  const auto step = [&](const char* name) {
    return select(capture.value(std::string("decoder.1.self_attention.") + name), 0, 0);
  };
  const std::vector<float> scores = step("scaled_scores").to_vector<float>();
  for (int64_t head = 0; head < 4; ++head)
    for (int64_t i = 0; i < 6; ++i)
      for (int64_t j = 0; j < 6; ++j) {
        double sum = 0;
        for (const double term :
             score_terms(step("query"), step("key"), {head, i, j}, 1 / std::sqrt(8.0)))
          sum += term;
        // measured: 1.5e-6 of scores up to 12
        EXPECT_NEAR(sum, scores[static_cast<size_t>((head * 6 + i) * 6 + j)], 1e-5);
      }
  expect_throws<IndexError>([&] { score_terms(step("query"), step("key"), {4, 0, 0}, 1); }, {"4"});
}

}  // namespace
}  // namespace glassformer
