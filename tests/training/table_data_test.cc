#include "glassformer/training/table_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "glassformer/base/error.h"
#include "support/temporary_folder.h"
#include "support/throws.h"

namespace glassformer::testing {
namespace {

using ::testing::ElementsAre;

TEST(Table, Classes) {
  const TemporaryFolder folder;
  write_bytes(folder / "data.csv", "a,kind,b\n1,iris,2.5\n-3,rose,4e1\n");
  const Table data({.rows = {.files = {folder / "data.csv"}, .format = RowFormat::kCsv},
                    .target = "kind",
                    .labels = {.names = {"rose", "iris"}}});
  ASSERT_EQ(data.size(), 2);
  EXPECT_EQ(data.columns(), 2);
  const int64_t examples[] = {1, 0};
  const Batch batch = data.collate(examples, {});
  EXPECT_EQ(batch.features.shape(), Shape({2, 2}));
  EXPECT_THAT(batch.features.to_vector<float>(), ElementsAre(-3, 40, 1, 2.5));
  EXPECT_THAT(batch.targets.to_vector<int64_t>(), ElementsAre(0, 1));
  EXPECT_TRUE(data.scale().mean.empty());
}

TEST(Table, RegressionAndScale) {
  const TemporaryFolder folder;
  write_bytes(folder / "data.tsv", "1\t5\t0.5\n3\t5\t1.5\n");
  write_bytes(folder / "more.tsv", "5\t6\t2.5\n");
  TableOptions options{
      .rows = {.files = {folder / "data.tsv"}, .format = RowFormat::kTsv, .header = false},
      .labels = {.numbers = true},
      .standardise = true};
  const Table data(options);
  const int64_t examples[] = {0, 1};
  const Batch batch = data.collate(examples, {});
  EXPECT_THAT(batch.features.to_vector<float>(), ElementsAre(-1, 0, 1, 0));
  EXPECT_EQ(batch.targets.shape(), Shape({2, 1}));
  EXPECT_THAT(batch.targets.to_vector<float>(), ElementsAre(0.5F, 1.5F));
  EXPECT_THAT(data.scale().mean, ElementsAre(2, 5));
  EXPECT_THAT(data.scale().deviation, ElementsAre(1, 1));

  options.rows.files = {folder / "more.tsv"};
  options.scale = data.scale();
  const int64_t first[] = {0};
  EXPECT_THAT(Table(options).collate(first, {}).features.to_vector<float>(), ElementsAre(3, 1));
  options.scale.mean.pop_back();
  expect_throws<ValueError>([&] { Table{options}; }, "2 columns, found 1 and 2");
}

TEST(Table, RefusesRows) {
  const TemporaryFolder folder;
  const auto refuse = [&](const char* text, std::initializer_list<const char*> parts) {
    write_bytes(folder / "data.csv", text);
    expect_throws<FileError>(
        [&] {
          Table(
              {.rows = {.files = {folder / "data.csv"}, .format = RowFormat::kCsv}, .target = "y"});
        },
        parts);
  };
  refuse("a,y\nx,1\n", {"/data.csv:2: ", "expected a number, found 'x'"});
  refuse("a,y\n1,1\n2,1,1\n", {"/data.csv:3: ", "expected 2 columns, found 3"});
  refuse("a,y\n1\n", {"/data.csv:2: ", "at least 2 columns"});
  refuse("y\n1\n", {"/data.csv:2: ", "expected 2 columns, found 1"});
  refuse("a,z\n1,1\n", {"/data.csv:2: ", "no column 'y'"});
  refuse("a,y\n1,\n", {"/data.csv:2: ", "number of a label"});
}

}  // namespace
}  // namespace glassformer::testing
