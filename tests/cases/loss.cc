#include "glassformer/ops/loss.h"

#include "support/op_case.h"

namespace glassformer::testing {
namespace {

using Run = decltype(OpCase::run);

// in: logits, targets, and class weights where there are three.
Run cross_entropy_with(double smoothing, Reduction reduction, int64_t ignore_index = -100) {
  return [=](const std::vector<Tensor>& in) {
    return std::vector{cross_entropy(in[0], in[1],
                                     {.label_smoothing = smoothing,
                                      .ignore_index = ignore_index,
                                      .class_weights = in.size() > 2 ? in[2] : Tensor(),
                                      .reduction = reduction})};
  };
}

Run mse_with(Reduction reduction) {
  return
      [=](const std::vector<Tensor>& in) { return std::vector{mse_loss(in[0], in[1], reduction)}; };
}

// in: logits, targets, pos_weight, weight; the last two may be missing.
Run binary_with(Reduction reduction) {
  return [=](const std::vector<Tensor>& in) {
    return std::vector{
        binary_cross_entropy_with_logits(in[0], in[1],
                                         {.pos_weight = in.size() > 2 ? in[2] : Tensor(),
                                          .weight = in.size() > 3 ? in[3] : Tensor(),
                                          .reduction = reduction})};
  };
}

Input ids(const Shape& shape, int64_t limit) { return {shape, Values::kIds, limit}; }
Input constant(const Shape& shape) { return {shape, Values::kPositive, 0, false}; }

}  // namespace

std::vector<OpCase> cases_loss() {
  constexpr Reduction kMean = Reduction::kMean, kSum = Reduction::kSum, kNone = Reduction::kNone;
  const std::string ce = "cross_entropy", mse = "mse_loss",
                    bce = "binary_cross_entropy_with_logits";
  return {
      {.op = ce,
       .name = "mean",
       .inputs = {{{5, 33}}, ids({5}, 33)},
       .run = cross_entropy_with(0, kMean),
       .bench_inputs = {{{1024, 32768}}, ids({1024}, 32768)}},
      {.op = ce,
       .name = "sum_sequence",
       .inputs = {{{2, 3, 47}}, ids({2, 3}, 47)},
       .run = cross_entropy_with(0, kSum)},
      {.op = ce,
       .name = "none",
       .inputs = {{{4, 16}}, ids({4}, 16)},
       .run = cross_entropy_with(0, kNone)},
      {.op = ce,
       .name = "smoothed",
       .inputs = {{{5, 19}}, ids({5}, 19)},
       .run = cross_entropy_with(0.1, kMean),
       .bench_inputs = {{{1024, 32768}}, ids({1024}, 32768)}},
      {.op = ce,
       .name = "weighted_ignoring",
       .inputs = {{{9, 5}}, ids({9}, 5), constant({5})},
       .run = cross_entropy_with(0, kMean, 2)},
      {.op = ce,
       .name = "everything",
       .inputs = {{{3, 5, 37}}, ids({3, 5}, 37), constant({37})},
       .run = cross_entropy_with(0.2, kMean, 3)},
      {.op = ce,
       .name = "several_blocks",
       .inputs = {{{2, 8199}}, ids({2}, 8199)},
       .run = cross_entropy_with(0.1, kSum)},
      {.op = ce,
       .name = "one_class",
       .inputs = {{{3, 1}}, ids({3}, 1)},
       .run = cross_entropy_with(0, kMean)},
      {.op = ce,
       .name = "one_row",
       .inputs = {{{7}}, ids({}, 7)},
       .run = cross_entropy_with(0, kMean)},
      {.op = ce,
       .name = "no_rows",
       .inputs = {{{0, 7}}, ids({0}, 7)},
       .run = cross_entropy_with(0, kSum)},
      {.op = mse,
       .name = "mean",
       .inputs = {{{5, 7}}, {{5, 7}}},
       .run = mse_with(kMean),
       .bench_inputs = {{{4096, 4096}}, {{4096, 4096}}}},
      {.op = mse,
       .name = "sum_blocks",
       .inputs = {{{3, 20001}}, {{3, 20001}}},
       .run = mse_with(kSum)},
      {.op = mse, .name = "none", .inputs = {{{2, 3, 17}}, {{2, 3, 17}}}, .run = mse_with(kNone)},
      {.op = mse, .name = "empty", .inputs = {{{0, 3}}, {{0, 3}}}, .run = mse_with(kSum)},
      {.op = bce,
       .name = "mean",
       .inputs = {{{5, 7}}, constant({5, 7})},
       .run = binary_with(kMean),
       .bench_inputs = {{{4096, 4096}}, constant({4096, 4096})}},
      {.op = bce,
       .name = "sum_pos_weight",
       .inputs = {{{4, 19}}, constant({4, 19}), constant({19})},
       .run = binary_with(kSum)},
      {.op = bce,
       .name = "none_weighted",
       .inputs = {{{4, 19}}, constant({4, 19}), constant({19}), constant({4, 1})},
       .run = binary_with(kNone)},
      {.op = bce, .name = "scalar", .inputs = {{{}}, constant({})}, .run = binary_with(kMean)},
  };
}

}  // namespace glassformer::testing
