// Data sets as configurations describe them.

#include "training/data/open_dataset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "glassformer/base/error.h"
#include "glassformer/training/language_data.h"
#include "support/temporary_folder.h"
#include "support/throws.h"
#include "training/small_tokenizer.h"

namespace glassformer::testing {
namespace {

using ::testing::ElementsAre;

class OpenDataset : public ::testing::Test {
 protected:
  OpenDataset() : tokenizer_(small_tokenizer()) {
    context_.folder = folder_.path();
    context_.tokenizer = &tokenizer_;
    context_.mask_id = kMask;
    context_.end_id = kSep;
    context_.max_length = 8;
    write_bytes(folder_ / "text", "a b c d\ne f g h\ni j k l\n");
    write_bytes(folder_ / "rows.tsv", "left\tright\tkind\na b\tc\t1\nd\te\t0\n");
  }
  std::unique_ptr<Dataset> open(Task task, const std::string& json) {
    context_.task = task;
    const Json object = parse_json(json, "config");
    return open_dataset(JsonFields(object, "config: data"), context_);
  }
  void refuse(Task task, const std::string& json, std::initializer_list<const char*> parts) {
    expect_throws<FileError>([&] { open(task, json); }, parts);
  }

  TemporaryFolder folder_;
  Tokenizer tokenizer_;
  DataContext context_;
};

TEST_F(OpenDataset, Language) {
  EXPECT_EQ(open(Task::kCausalLm, R"({"format": "text", "files": "text"})")->size(), 1);
  EXPECT_EQ(open(Task::kCausalLm, R"({"format": "text", "files": ["text", "text"], "block": 4,
                                      "stride": 2, "end_of_text": true})")
                ->size(),
            11);
  EXPECT_EQ(open(Task::kMaskedLm, R"({"format": "text", "files": "text", "mask_probability": 0.3})")
                ->length(0),
            8);
  const auto lines = open(Task::kCausalLm, R"({"format": "text", "files": "text", "lines": true})");
  EXPECT_EQ(lines->size(), 3);
  EXPECT_EQ(lines->length(0), 6);
  const auto column = open(Task::kMaskedLm, R"({"format": "tsv", "files": "rows.tsv",
                                                "text": "left", "max_length": 3})");
  EXPECT_EQ(column->size(), 2);
  EXPECT_EQ(column->length(0), 3);
}

TEST_F(OpenDataset, Text) {
  const auto translation =
      open(Task::kSequenceToSequence,
           R"({"format": "tsv", "files": "rows.tsv", "source": "left", "target": "right"})");
  EXPECT_EQ(translation->size(), 2);
  EXPECT_EQ(open(Task::kSequenceToSequence,
                 R"({"format": "parallel", "source": "text", "target": "text"})")
                ->size(),
            3);
  const auto labelled =
      open(Task::kSequenceClassification,
           R"({"format": "tsv", "files": "rows.tsv", "text": 0, "label": 2, "header": true})");
  EXPECT_EQ(labelled->size(), 0 + 2);
  const int64_t examples[] = {0, 1};
  EXPECT_THAT(labelled->collate(examples, {}).targets.to_vector<int64_t>(), ElementsAre(1, 0));
  write_bytes(folder_ / "words.jsonl", R"({"words": ["a", "b"], "labels": [1, 0]})");
  EXPECT_EQ(
      open(Task::kTokenClassification, R"({"format": "jsonl", "files": "words.jsonl"})")->length(0),
      4);
  EXPECT_EQ(open(Task::kEmbedding, R"({"format": "tsv", "files": "rows.tsv", "anchor": "left",
                                       "positive": "right"})")
                ->size(),
            2);
}

TEST_F(OpenDataset, ImagesAndTables) {
  const std::string sizes{"\0\0\0\2\0\0\0\1\0\0\0\1", 12};
  write_bytes(folder_ / "t-images-idx3-ubyte", std::string("\0\0\x08\3", 4) + sizes + "ab");
  write_bytes(folder_ / "t-labels-idx1-ubyte",
              std::string("\0\0\x08\1", 4) + sizes.substr(0, 4) + std::string("\1\0", 2));
  const auto images = open(Task::kImageClassification,
                           R"({"format": "idx", "images": "t-images-idx3-ubyte", "mean": 0,
                               "std": [1], "flip": true, "crop": 1})");
  const int64_t examples[] = {0, 1};
  EXPECT_THAT(images->collate(examples, {}).targets.to_vector<int64_t>(), ElementsAre(1, 0));
  write_bytes(folder_ / "table.csv", "a,b\n1,2\n3,0\n");
  EXPECT_EQ(open(Task::kTable, R"({"format": "csv", "files": "table.csv", "standardise": true,
                                   "target": "a"})")
                ->size(),
            2);
}

TEST_F(OpenDataset, RefusesDescriptions) {
  refuse(Task::kCausalLm, R"({"files": "text"})", {"config: data: ", "'format' is missing"});
  refuse(Task::kCausalLm, R"({"format": "text"})", {"config: data: ", "'files' is missing"});
  refuse(Task::kCausalLm, R"({"format": "text", "fils": "text"})",
         {"unknown field 'fils'", "nearest is 'files'"});
  refuse(Task::kCausalLm, R"({"format": "text", "files": "text", "mask_probability": 0.1})",
         {"unknown field 'mask_probability'"});
  refuse(Task::kCausalLm, R"({"format": "jsonl", "files": "text", "header": true})",
         {"unknown field 'header'"});
  refuse(Task::kCausalLm, R"({"format": "idx"})", {"'format' must be 'text', 'jsonl'", "\"idx\""});
  refuse(Task::kImageClassification, R"({"format": "text"})", {"'image_folder' or 'idx'"});
  refuse(Task::kCausalLm, R"({"format": "text", "files": []})", {"'files'", "a list of 0"});
  refuse(Task::kCausalLm, R"({"format": "text", "files": "text", "block": -1})",
         {"'block' must be positive, found -1"});
  refuse(Task::kTable, R"({"format": "csv", "files": "none.csv"})", {"/none.csv: ", "opened"});
  refuse(Task::kImageClassification, R"({"format": "idx", "images": "text", "mean": "x"})",
         {"'mean' must be a number"});
  context_.mask_id.reset();
  context_.end_id.reset();
  const auto needs = [&](Task task, const char* json, const char* part) {
    expect_throws<ValueError>([&] { open(task, json); }, part);
  };
  needs(Task::kMaskedLm, R"({"format": "text", "files": "text"})", "mask token");
  needs(Task::kCausalLm, R"({"format": "text", "files": "text", "end_of_text": true})",
        "end token");
  context_.tokenizer = nullptr;
  needs(Task::kCausalLm, R"({"format": "text", "files": "text"})", "needs a tokenizer");
}

}  // namespace
}  // namespace glassformer::testing
