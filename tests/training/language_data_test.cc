// Causal and masked language modelling: blocks of a stream, and packed lines.

#include "glassformer/training/language_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "glassformer/base/error.h"
#include "support/temporary_folder.h"
#include "support/throws.h"
#include "training/gzip_file.h"
#include "training/small_tokenizer.h"

namespace glassformer::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

std::vector<int64_t> numbers(const Tensor& tensor) { return tensor.to_vector<int64_t>(); }

std::vector<int64_t> ids_of(const char* letters) {
  std::vector<int64_t> ids;
  for (; *letters != 0; ++letters) ids.push_back(id_of(*letters));
  return ids;
}

// The letters a to z again and again, as words.
std::string alphabet(int words) {
  std::string text;
  for (int i = 0; i < words; ++i) text += std::string(1, static_cast<char>('a' + i % 26)) + " ";
  return text;
}

std::vector<int64_t> all_examples(const Dataset& data) {
  std::vector<int64_t> examples;
  for (int64_t i = 0; i < data.size(); ++i) examples.push_back(i);
  return examples;
}

TEST(TextBlocks, CausalBlocks) {
  const TemporaryFolder folder;
  write_bytes(folder / "one", "a b c d e f ");
  write_gzip(folder / "two.gz", "g h i j k");
  TextBlocksOptions options{.files = {folder / "one", folder / "two.gz"}, .block = 4};
  const TextBlocks apart(options, small_tokenizer());
  EXPECT_EQ(apart.tokens(), 11);
  ASSERT_EQ(apart.size(), 2);
  const int64_t examples[] = {1, 0};
  const Batch batch = apart.collate(examples, {});
  EXPECT_EQ(batch.input.input_ids.shape(), Shape({2, 4}));
  EXPECT_THAT(numbers(batch.input.input_ids), ElementsAreArray(ids_of("efghabcd")));
  EXPECT_THAT(numbers(batch.targets), ElementsAreArray(ids_of("fghibcde")));
  EXPECT_FALSE(batch.input.attention_mask.defined() || batch.input.starts.defined());
  EXPECT_EQ(batch.tokens, 8);
  EXPECT_EQ(batch.target_count, 8);

  options.stride = 1;
  const TextBlocks every(options, small_tokenizer());
  ASSERT_EQ(every.size(), 7);
  const int64_t last[] = {6};
  EXPECT_THAT(numbers(every.collate(last, {}).targets), ElementsAreArray(ids_of("hijk")));
  EXPECT_EQ(every.length(0), 4);

  options.end_id = kSep;
  const TextBlocks ended(options, small_tokenizer());
  EXPECT_EQ(ended.tokens(), 13);
  const int64_t around[] = {4};
  EXPECT_THAT(numbers(ended.collate(around, {}).input.input_ids),
              ElementsAre(id_of('e'), id_of('f'), kSep, id_of('g')));
}

TEST(TextBlocks, MaskedBlocks) {
  const TemporaryFolder folder;
  write_bytes(folder / "text", alphabet(20'000));
  const TextBlocks data({.files = {folder / "text"}, .block = 52, .masking = Masking{kMask}},
                        small_tokenizer());
  ASSERT_EQ(data.size(), (20'000 - 50) / 52 + 1);
  const std::vector<int64_t> examples = all_examples(data);
  const Batch batch = data.collate(examples, {7, 1});
  const auto ids = numbers(batch.input.input_ids), targets = numbers(batch.targets);
  int64_t chosen = 0, masked = 0, same = 0;
  for (size_t i = 0; i < ids.size(); ++i) {
    const size_t place = i % 52;
    if (place == 0 || place == 51) {
      EXPECT_EQ(ids[i], place == 0 ? kCls : kSep);
      EXPECT_EQ(targets[i], kIgnoredTarget);
      continue;
    }
    const int64_t real = id_of(static_cast<char>('a' + (i / 52 * 52 + place - 1) % 26));
    if (targets[i] == kIgnoredTarget) {
      EXPECT_EQ(ids[i], real);
      continue;
    }
    EXPECT_EQ(targets[i], real);
    ++chosen;
    masked += ids[i] == kMask;
    same += ids[i] == real;
  }
  EXPECT_EQ(batch.target_count, chosen);
  const double text = static_cast<double>(ids.size()) * 50 / 52;
  EXPECT_NEAR(static_cast<double>(chosen) / text, 0.15, 0.01);
  EXPECT_NEAR(static_cast<double>(masked) / static_cast<double>(chosen), 0.8 + 0.1 / 31, 0.025);
  EXPECT_NEAR(static_cast<double>(same) / static_cast<double>(chosen), 0.1 + 0.1 / 31, 0.02);

  // What is drawn depends on the key and the example, not on its company.
  const int64_t alone[] = {17};
  const auto row = numbers(data.collate(alone, {7, 1}).input.input_ids);
  EXPECT_TRUE(std::equal(row.begin(), row.end(), ids.begin() + 17 * 52));
  EXPECT_NE(row, numbers(data.collate(alone, {7, 2}).input.input_ids));
}

TEST(TextBlocks, RefusesOptions) {
  const TemporaryFolder folder;
  write_bytes(folder / "text", "a b c");
  const auto open = [&](TextBlocksOptions options) {
    options.files = {folder / "text"};
    return TextBlocks(options, small_tokenizer()).size();
  };
  EXPECT_EQ(open({.block = 2}), 1);
  expect_throws<ValueError>([&] { open({.block = 0}); }, "positive block");
  expect_throws<ValueError>([&] { open({.block = 3}); }, {"at least 4 tokens", "found 3", "/text"});
  expect_throws<ValueError>([&] { open({.block = 2, .masking = Masking{kMask}}); }, "no room");
  expect_throws<ValueError>([&] { open({.block = 4, .masking = Masking{}}); }, "mask token");
  expect_throws<ValueError>(
      [&] { open({.block = 4, .masking = Masking{.mask_id = kMask, .masked = 0.95}}); }, "shares");
  const TextBlocks data({.files = {folder / "text"}, .block = 2}, small_tokenizer());
  const int64_t beyond[] = {1};
  expect_throws<IndexError>([&] { data.collate(beyond, {}); }, "no example 1");
}

TEST(PackedLines, Causal) {
  const TemporaryFolder folder;
  write_bytes(folder / "lines", "a b c\n\nd\ne f g h i\n");
  PackedLinesOptions options{.text = {{.files = {folder / "lines"}}}, .max_length = 4};
  const PackedLines data(options, small_tokenizer(false));
  ASSERT_EQ(data.size(), 2);
  EXPECT_EQ(data.skipped(), 2);  // an empty line, and one with nothing to predict
  EXPECT_EQ(data.cut(), 1);
  EXPECT_EQ(data.length(1), 4);
  const int64_t examples[] = {1, 0};
  const Batch batch = data.collate(examples, {});
  EXPECT_THAT(numbers(batch.input.input_ids), ElementsAreArray(ids_of("efghabc")));
  EXPECT_THAT(numbers(batch.input.starts), ElementsAre(0, 4, 7));
  auto targets = ids_of("fghxbcx");
  targets[3] = targets[6] = kIgnoredTarget;
  EXPECT_THAT(numbers(batch.targets), ElementsAreArray(targets));
  EXPECT_EQ(batch.target_count, 5);
  EXPECT_EQ(batch.tokens, 7);

  options.end_id = kSep;
  const PackedLines ended(options, small_tokenizer(false));
  ASSERT_EQ(ended.size(), 3);
  const Batch both = ended.collate(examples, {});
  EXPECT_THAT(numbers(both.input.input_ids),
              ElementsAre(id_of('d'), kSep, id_of('a'), id_of('b'), id_of('c'), kSep));
  EXPECT_EQ(ended.length(2), 4);
}

TEST(PackedLines, Masked) {
  const TemporaryFolder folder;
  write_bytes(folder / "lines.jsonl", "{\"text\": \"a b c\"}\n{\"text\": \"\"}\n{\"text\": \"d\"}");
  const PackedLines data(
      {.text = {{.files = {folder / "lines.jsonl"}, .format = RowFormat::kJsonl}, "text"},
       .masking = Masking{kMask}},
      small_tokenizer());
  ASSERT_EQ(data.size(), 2);
  const int64_t examples[] = {0, 1};
  for (uint64_t epoch = 0; epoch < 20; ++epoch) {
    const Batch batch = data.collate(examples, {3, epoch});
    EXPECT_THAT(numbers(batch.input.starts), ElementsAre(0, 5, 8));
    const auto targets = numbers(batch.targets);
    for (const size_t special : {0, 4, 5, 7}) EXPECT_EQ(targets[special], kIgnoredTarget);
    EXPECT_EQ(targets[6], id_of('d'));  // one of each line at least
    EXPECT_GE(batch.target_count, 2);
  }
}

}  // namespace
}  // namespace glassformer::testing
