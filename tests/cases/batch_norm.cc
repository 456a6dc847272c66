#include "glassformer/ops/batch_norm.h"

#include "support/op_case.h"

namespace glassformer::testing {

std::vector<OpCase> cases_batch_norm() {
  using In = std::vector<Tensor>;
  const auto train = [](const In& in) {
    return std::vector{batch_norm(in[0], in[1], in[2], {}, {}, {.training = true})};
  };
  const auto train_plain = [](const In& in) {
    return std::vector{batch_norm(in[0], {}, {}, {}, {}, {.training = true, .epsilon = 1e-3})};
  };
  // Running statistics are float32 beside half types; clones, for the op changes them.
  const auto statistic = [](const Tensor& x) {
    return x.dtype() == DType::kFloat64 ? clone(x) : clone(cast(x, DType::kFloat32));
  };
  const auto track = [statistic](const In& in) {
    const Tensor mean = statistic(in[3]), variance = statistic(in[4]);
    const Tensor y = batch_norm(in[0], in[1], in[2], mean, variance, {.training = true});
    return std::vector{y, mean, variance};
  };
  const auto eval = [statistic](const In& in) {
    return std::vector{batch_norm(in[0], in[1], in[2], statistic(in[3]), statistic(in[4]))};
  };
  const auto channels = [](int64_t c) {
    return std::vector<Input>{
        {{c}}, {{c}}, {.shape = {c}, .differentiable = false}, {{c}, Values::kPositive, 0, false}};
  };
  const auto with = [channels](const Shape& shape, size_t vectors) {
    std::vector<Input> inputs = channels(shape[1]);
    inputs.resize(vectors);
    inputs.insert(inputs.begin(), Input{shape});
    return inputs;
  };
  return {
      {.op = "batch_norm",
       .name = "train_4d",
       .inputs = with({3, 5, 3, 7}, 2),
       .run = train,
       .bench_inputs = with({32, 64, 56, 56}, 2)},
      {.op = "batch_norm",
       .name = "train_2d",
       .inputs = with({131, 70}, 2),
       .run = train,
       .bench_inputs = with({8192, 1024}, 2)},
      {.op = "batch_norm",
       .name = "train_3d_plain",
       .inputs = with({2, 3, 40}, 0),
       .run = train_plain},
      // The running statistics follow x, but off the tape.
      {.op = "batch_norm",
       .name = "track",
       .inputs = with({4, 3, 5}, 4),
       .run = track,
       .gradient = false},
      {.op = "batch_norm",
       .name = "eval_4d",
       .inputs = with({2, 5, 3, 7}, 4),
       .run = eval,
       .bench_inputs = with({32, 64, 56, 56}, 4)},
      {.op = "batch_norm", .name = "eval_2d", .inputs = with({3, 19}, 4), .run = eval},
      {.op = "batch_norm", .name = "eval_no_rows", .inputs = with({0, 4, 3}, 4), .run = eval},
      {.op = "batch_norm", .name = "train_no_channels", .inputs = with({3, 0, 2}, 2), .run = train},
  };
}

}  // namespace glassformer::testing
