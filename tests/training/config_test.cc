#include "training/config.h"

#include <fstream>

#include <gtest/gtest.h>

#include "glassformer/base/error.h"
#include "support/temporary_folder.h"
#include "support/throws.h"
#include "training/curve.h"
#include "training/event_file.h"

namespace glassformer {
namespace {

using testing::expect_throws;
using testing::TemporaryFolder;

const Json kSmall = Json::parse(R"({
  "task": "table", "output": "out", "steps": 10,
  "model": {"config": {}}, "data": {"train": {}}, "optimizer": {"lr": 0.5}
})");

TEST(TrainConfig, ReadsJsonAndYamlAlike) {
  const TemporaryFolder folder;
  std::ofstream(folder / "a.json") << kSmall.dump();
  std::ofstream(folder / "a.yaml") << "task: table\noutput: out\nsteps: 10\nmodel:\n  config: {}\n"
                                      "data:\n  train: {}\noptimizer:\n  lr: 0.5\n";
  const TrainConfig json = read_train_config(folder / "a.json", {});
  const TrainConfig yaml = read_train_config(folder / "a.yaml", {});
  EXPECT_EQ(json.json, yaml.json);
  EXPECT_EQ(json.trainer.output, folder / "out");
  EXPECT_EQ(json.trainer.schedule.peak, 0.5);
}

TEST(TrainConfig, TakesFieldsFromTheCommandLine) {
  const TemporaryFolder folder;
  std::ofstream(folder / "a.json") << kSmall.dump();
  const TrainConfig config = read_train_config(
      folder / "a.json", {{"optimizer.lr", "3e-4"}, {"schedule.kind", "linear"}, {"steps", "7"}});
  EXPECT_EQ(config.trainer.schedule.peak, 3e-4);
  EXPECT_EQ(config.trainer.schedule.kind, Schedule::Kind::kLinear);
  EXPECT_EQ(config.trainer.steps, 7);
}

TEST(TrainConfig, RejectsWhatItDoesNotKnow) {
  const auto with = [](const char* pointer, const Json& value) {
    Json json = kSmall;
    json[Json::json_pointer(pointer)] = value;
    return parse_train_config(json, "a.json", ".");
  };
  expect_throws<FileError>([&] { with("/optimizer/wieght_decay", 1); }, "weight_decay");
  expect_throws<FileError>([&] { with("/optimiser", Json::object()); }, "optimizer");
  expect_throws<ValueError>([&] { with("/task", "translation"); }, "sequence_to_sequence");
  expect_throws<ValueError>([&] { with("/precision", "float8"); }, "bfloat16");
  expect_throws<FileError>([&] { with("/steps", -1); }, "steps");
  for (const char* share : {"/adversarial", "/r_drop", "/label_smoothing"})
    expect_throws<ValueError>([&] { with(share, -0.1); }, "expected a number from 0, found -0.1");
  expect_throws<ValueError>([&] { with("/average", Json{{"last", 2}, {"ema", 0.9}}); }, "both");
}

TEST(EventFile, HasTheChecksumsOfTheRecordFormat) {
  EXPECT_EQ(crc32c("123456789"), 0xE3069283u);  // the check value of CRC-32C
  const TemporaryFolder folder;
  EventFile file(folder.path());
  file.add("loss", 300, 1.5);
  file.flush();
  const auto path = *std::filesystem::directory_iterator(folder.path());
  const std::string bytes = testing::read_bytes(path);
  EXPECT_NE(bytes.find("brain.Event:2"), std::string::npos);
  EXPECT_NE(bytes.find("loss"), std::string::npos);
}

TEST(LossCurve, IsDrawnForAnyNumberOfPoints) {
  for (const Points& points : {Points{}, Points{{1, 2.0}}, Points{{1, 2.0}, {2, 1.0}}}) {
    const std::string svg = loss_curve_svg("a <b>", points, points);
    EXPECT_NE(svg.find("a &lt;b&gt;"), std::string::npos);
    EXPECT_EQ(svg.find("nan"), std::string::npos);
    EXPECT_EQ(svg.find("inf"), std::string::npos);
  }
}

TEST(LossCurve, OfALongRunHasNoMorePointsThanPixels) {
  Points points;
  for (int step = 1; step <= 100'000; ++step) points.emplace_back(step, step % 2 == 0 ? 3 : 1);
  const std::string svg = loss_curve_svg("long", points, {});
  EXPECT_LT(svg.size(), 30'000);                     // measured: 16,957
  EXPECT_NE(svg.find("700.0,"), std::string::npos);  // up to the last step
}

}  // namespace
}  // namespace glassformer
