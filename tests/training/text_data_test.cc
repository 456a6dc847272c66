// Translations, labelled texts and words, pairs.

#include "glassformer/training/text_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "glassformer/base/error.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"
#include "support/throws.h"
#include "training/gzip_file.h"
#include "training/small_tokenizer.h"

namespace glassformer::testing {
namespace {

using ::testing::ElementsAre;

std::vector<int64_t> numbers(const Tensor& tensor) { return tensor.to_vector<int64_t>(); }

constexpr int64_t A = 5, B = 6, C = 7, D = 8, E = 9, F = 10;
constexpr int64_t kNone = kIgnoredTarget;

TEST(ParallelText, PadsAndShifts) {
  const TemporaryFolder folder;
  write_gzip(folder / "source.gz", "a b\nc\nd\n\n");
  write_bytes(folder / "target", "d\ne f\n\nc");
  ParallelTextOptions options{.source = {{.files = {folder / "source.gz"}}},
                              .target = {{.files = {folder / "target"}}},
                              .pad_id = 0,
                              .decoder_start_id = 1};
  const ParallelText data(options, small_tokenizer(false), small_tokenizer());
  ASSERT_EQ(data.size(), 2);
  EXPECT_EQ(data.skipped(), 2);
  EXPECT_EQ(data.length(0), 3);
  const int64_t examples[] = {0, 1};
  const Batch batch = data.collate(examples, {});
  EXPECT_EQ(batch.input.input_ids.shape(), Shape({2, 2}));
  EXPECT_THAT(numbers(batch.input.input_ids), ElementsAre(A, B, C, 0));
  EXPECT_THAT(numbers(batch.input.attention_mask), ElementsAre(1, 1, 1, 0));
  EXPECT_EQ(batch.targets.shape(), Shape({2, 4}));
  EXPECT_THAT(numbers(batch.targets), ElementsAre(kCls, D, kSep, kNone, kCls, E, F, kSep));
  EXPECT_THAT(numbers(batch.input.decoder_input_ids), ElementsAre(1, kCls, D, 0, 1, kCls, E, F));
  EXPECT_THAT(numbers(batch.input.decoder_attention_mask), ElementsAre(1, 1, 1, 0, 1, 1, 1, 1));
  EXPECT_EQ(batch.tokens, 10);
  EXPECT_EQ(batch.target_count, 7);
}

TEST(ParallelText, LongPairsAreCutOrSkipped) {
  const TemporaryFolder folder;
  write_bytes(folder / "pairs.tsv", "a b c d\te\na\tb\n");
  ParallelTextOptions options;
  options.source = {{.files = {folder / "pairs.tsv"}, .format = RowFormat::kTsv}, "0"};
  options.target = {options.source.rows, "1"};
  options.max_length = 4;
  const ParallelText cut(options, small_tokenizer(), small_tokenizer());
  EXPECT_EQ(cut.size(), 2);
  EXPECT_EQ(cut.cut(), 1);
  const int64_t first[] = {0};
  EXPECT_THAT(numbers(cut.collate(first, {}).input.input_ids), ElementsAre(kCls, A, B, kSep));
  options.skip_long = true;
  const ParallelText skipped(options, small_tokenizer(), small_tokenizer());
  EXPECT_EQ(skipped.size(), 1);
  EXPECT_EQ(skipped.skipped(), 1);
}

TEST(ParallelText, RefusesSidesThatDiffer) {
  const TemporaryFolder folder;
  write_bytes(folder / "source", "a\nb\nc\n");
  write_bytes(folder / "target", "a\nb\n");
  expect_throws<FileError>(
      [&] {
        ParallelText({.source = {{.files = {folder / "source"}}},
                      .target = {{.files = {folder / "target"}}}},
                     small_tokenizer(), small_tokenizer());
      },
      {"/target: ", "/source has, 3, found 2"});
}

TEST(ParallelText, Multi30k) {
  const auto english = shared_data("data/multi30k/val.en.gz");
  if (english.empty()) GTEST_SKIP() << "multi30k is not there";
  const Tokenizer tokenizer =
      Tokenizer::open(std::filesystem::path(GLASSFORMER_FIXTURES_DIR) / "text/t5.tokenizer.json");
  const ParallelText data({.source = {{.files = {english}}},
                           .target = {{.files = {shared_data("data/multi30k/val.de.gz")}}}},
                          tokenizer, tokenizer);
  EXPECT_EQ(data.size(), 1014);
  EXPECT_EQ(data.skipped() + data.cut(), 0);
}

TEST(LabelledText, ClassesAndPairs) {
  const TemporaryFolder folder;
  write_bytes(folder / "data.csv", "label,text,other\ngood,a b,c\n\"bad\",d,\"e f\"\n1,a,b\n");
  LabelledTextOptions options{.rows = {.files = {folder / "data.csv"}, .format = RowFormat::kCsv},
                              .labels = {.names = {"bad", "good"}}};
  const int64_t examples[] = {1, 0, 2};
  const LabelledText single(options, small_tokenizer());
  const Batch plain = single.collate(examples, {});
  EXPECT_THAT(numbers(plain.input.input_ids),
              ElementsAre(kCls, D, kSep, kCls, A, B, kSep, kCls, A, kSep));
  EXPECT_THAT(numbers(plain.input.starts), ElementsAre(0, 3, 7, 10));
  EXPECT_FALSE(plain.input.token_type_ids.defined());
  EXPECT_THAT(numbers(plain.targets), ElementsAre(0, 1, 1));
  EXPECT_EQ(plain.targets.dtype(), DType::kInt64);
  EXPECT_EQ(plain.target_count, 3);
  options.pair = "other";
  const int64_t second[] = {1};
  const Batch pair = LabelledText(options, small_tokenizer()).collate(second, {});
  EXPECT_THAT(numbers(pair.input.input_ids), ElementsAre(kCls, D, kSep, E, F, kSep));
  EXPECT_THAT(numbers(pair.input.token_type_ids), ElementsAre(0, 0, 0, 1, 1, 1));
}

TEST(LabelledText, Regression) {
  const TemporaryFolder folder;
  write_bytes(folder / "data.jsonl",
              "{\"text\": \"a\", \"label\": 0.5}\n{\"text\": \"b\", "
              "\"label\": -2}\n");
  const LabelledText data({.rows = {.files = {folder / "data.jsonl"}, .format = RowFormat::kJsonl},
                           .labels = {.numbers = true}},
                          small_tokenizer());
  const int64_t examples[] = {0, 1};
  const Batch batch = data.collate(examples, {});
  EXPECT_EQ(batch.targets.shape(), Shape({2, 1}));
  EXPECT_EQ(batch.targets.dtype(), DType::kFloat32);
  EXPECT_THAT(batch.targets.to_vector<float>(), ElementsAre(0.5F, -2.0F));
}

TEST(LabelledText, RefusesLabels) {
  const TemporaryFolder folder;
  const auto refuse = [&](const char* text, const LabelOptions& labels,
                          std::initializer_list<const char*> parts) {
    write_bytes(folder / "data.tsv", text);
    expect_throws<FileError>(
        [&] {
          LabelledText({.rows = {.files = {folder / "data.tsv"}, .format = RowFormat::kTsv},
                        .text = "0",
                        .label = "1",
                        .labels = labels},
                       small_tokenizer());
        },
        parts);
  };
  refuse("a\t0\nb\t2\n", {.count = 2}, {"/data.tsv:2: ", "from 0 to 1", "found 2"});
  refuse("a\t-1\n", {}, {"/data.tsv:1: ", "found -1"});
  refuse("a\tgod\n", {.names = {"bad", "good"}}, {":1: ", "no label 'god'", "'good'"});
  refuse("a\tx\n", {}, {":1: ", "number of a label", "'x'"});
  refuse("a\tnan\n", {.numbers = true}, {":1: ", "expected a number", "'nan'"});
  refuse("a\t0\nb\n", {}, {":2: ", "at least 2 columns", "found 1"});
}

TEST(LabelledText, Sst2) {
  const auto path = shared_data("data/sst2/dev.tsv");
  if (path.empty()) GTEST_SKIP() << "sst2 is not there";
  const LabelledText data({.rows = {.files = {path}, .format = RowFormat::kTsv},
                           .text = "0",
                           .label = "1",
                           .labels = {.count = 2}},
                          small_tokenizer());
  EXPECT_EQ(data.size(), 872);
}

TEST(LabelledWords, FirstPieceHasTheLabel) {
  const TemporaryFolder folder;
  write_bytes(folder / "data.jsonl",
              "{\"words\": [\"a\", \"unbelievably\", \"b.c\"], \"labels\": [\"X\", 1, \"X\"]}\n");
  const Tokenizer tokenizer =
      Tokenizer::open(std::filesystem::path(GLASSFORMER_FIXTURES_DIR) / "text/bert.tokenizer.json");
  const LabelledWords data({.rows = {.files = {folder / "data.jsonl"}, .format = RowFormat::kJsonl},
                            .labels = {.names = {"X", "Y"}}},
                           tokenizer);
  const int64_t examples[] = {0, 0};
  const Batch batch = data.collate(examples, {});
  const auto ids = numbers(batch.input.input_ids), targets = numbers(batch.targets);
  const int64_t length = data.length(0);
  ASSERT_GT(length, 2 + 1 + 1 + 3);  // the long word is in pieces
  EXPECT_EQ(batch.target_count, 6);
  EXPECT_EQ(targets[0], kNone);
  EXPECT_EQ(targets[1], 0);
  EXPECT_EQ(targets[2], 1);
  for (int64_t i = 3; i < length - 4; ++i) EXPECT_EQ(targets[static_cast<size_t>(i)], kNone);
  EXPECT_EQ(targets[static_cast<size_t>(length - 4)], 0);  // "b", then ".", "c" and [SEP]
  EXPECT_EQ(targets[static_cast<size_t>(length - 3)], kNone);
  EXPECT_EQ(targets[static_cast<size_t>(length - 1)], kNone);
}

TEST(LabelledWords, ByteLevelTokensReachBackOverTheSpace) {
  const TemporaryFolder folder;
  write_bytes(folder / "data.jsonl", "{\"words\": [\"a\", \"b\", \"c\"], \"labels\": [1, 2, 3]}\n");
  for (const char* name : {"gpt2", "roberta", "llama2", "t5", "qwen2"}) {
    const Tokenizer tokenizer = Tokenizer::open(std::filesystem::path(GLASSFORMER_FIXTURES_DIR) /
                                                fmt::format("text/{}.tokenizer.json", name));
    const LabelledWords data(
        {.rows = {.files = {folder / "data.jsonl"}, .format = RowFormat::kJsonl}}, tokenizer);
    const int64_t examples[] = {0};
    std::vector<int64_t> labels;
    for (const int64_t target : numbers(data.collate(examples, {}).targets))
      if (target != kNone) labels.push_back(target);
    EXPECT_THAT(labels, ElementsAre(1, 2, 3)) << name;
  }
}

TEST(LabelledWords, RefusesRows) {
  const TemporaryFolder folder;
  const auto refuse = [&](const char* text, std::initializer_list<const char*> parts) {
    write_bytes(folder / "data.jsonl", text);
    expect_throws<FileError>(
        [&] {
          LabelledWords({.rows = {.files = {folder / "data.jsonl"}, .format = RowFormat::kJsonl}},
                        small_tokenizer());
        },
        parts);
  };
  refuse("{\"words\": [\"a\", \"b\"], \"labels\": [1]}", {":1: ", "each of 2 words", "found 1"});
  refuse("{\"words\": [], \"labels\": []}", {":1: ", "found none"});
  refuse("{\"words\": \"a\", \"labels\": [1]}", {":1: ", "'words' to be a list", "\"a\""});
  refuse("{\"words\": [[1]], \"labels\": [1]}", {":1: ", "list of strings"});
}

TEST(TextPairs, AnchorsFirst) {
  const TemporaryFolder folder;
  write_bytes(folder / "pairs.tsv", "anchor\tpositive\na\tb c\nd e f\tb\n");
  const TextPairs data({.rows = {.files = {folder / "pairs.tsv"}, .format = RowFormat::kTsv}},
                       small_tokenizer(false));
  const int64_t examples[] = {1, 0};
  const Batch batch = data.collate(examples, {});
  EXPECT_THAT(numbers(batch.input.input_ids), ElementsAre(D, E, F, A, B, B, C));
  EXPECT_THAT(numbers(batch.input.starts), ElementsAre(0, 3, 4, 5, 7));
  EXPECT_EQ(batch.target_count, 2);
  EXPECT_FALSE(batch.targets.defined());
  EXPECT_EQ(data.length(0), 2);
  EXPECT_EQ(data.length(1), 3);
}

}  // namespace
}  // namespace glassformer::testing
