#include "base/flat_table.h"

#include <gtest/gtest.h>

#include "glassformer/base/error.h"
#include "support/throws.h"

namespace glassformer {
namespace {

constexpr std::string_view kPlaces[] = {"model/vocab", "model/merges"};

Json parse(std::string_view text) { return parse_json_with_tables(text, "file", kPlaces); }

TEST(FlatTable, EveryKind) {
  const Json json = parse(R"({"a": {"vocab": {"x": 1}}, "model": {"vocab": {"b": 7, "ä": 0},
      "merges": [["a", "b c"], ["", "d"]], "other": {"b": 1}}})");
  EXPECT_TRUE(json["a"]["vocab"].is_object());
  EXPECT_TRUE(json["model"]["other"].is_object());
  const FlatTable vocab(json["model"]["vocab"]);
  ASSERT_EQ(vocab.kind(), FlatTable::Kind::kNumbers);
  EXPECT_EQ(vocab.size(), 2U);
  std::vector<std::pair<std::string, uint64_t>> numbers;
  vocab.each([&](const auto& row) { numbers.emplace_back(row.first, row.whole); });
  EXPECT_EQ(numbers, (std::vector<std::pair<std::string, uint64_t>>{{"b", 7}, {"ä", 0}}));
  const FlatTable merges(json["model"]["merges"]);
  ASSERT_EQ(merges.kind(), FlatTable::Kind::kTextPairs);
  std::vector<std::string> pairs;
  merges.each([&](const auto& row) {
    pairs.push_back(std::string(row.first) + "|" + std::string(row.second));
  });
  EXPECT_EQ(pairs, (std::vector<std::string>{"a|b c", "|d"}));

  const Json other = parse(R"({"model": {"vocab": [["a", -1.5], ["b", -2], ["c", 3]],
                                         "merges": ["a b", "c d"]}})");
  std::vector<double> scores;
  const FlatTable scored(other["model"]["vocab"]);
  ASSERT_EQ(scored.kind(), FlatTable::Kind::kTextNumbers);
  scored.each([&](const auto& row) { scores.push_back(row.number); });
  EXPECT_EQ(scores, (std::vector<double>{-1.5, -2, 3}));
  EXPECT_EQ(FlatTable(other["model"]["merges"]).kind(), FlatTable::Kind::kTexts);
  const Json none = parse(R"({"model": {"vocab": {}}})");
  EXPECT_EQ(FlatTable(none["model"]["vocab"]).size(), 0U);
}

// What is no table is read as ever.
TEST(FlatTable, OtherwiseATree) {
  for (const char* value :
       {"[]", "null", "3", R"({"a": -1})", R"({"a": 1.5})", R"({"a": "b"})", R"({"a": {}})",
        R"([["a"]])", R"([["a", "b", "c"]])", R"([["a", 1], ["a", "b"]])", R"(["a", ["b", "c"]])",
        R"([[1, "a"]])", R"([[["a", "b"]]])", R"([null])", R"([["a", true]])", R"([{}])"}) {
    const std::string text = std::string(R"({"model": {"vocab": )") + value + "}}";
    EXPECT_EQ(parse(text), parse_json(text, "file")) << value;
  }
  testing::expect_throws<FileError>([] { parse(R"({"model": {"vocab": {"a": 1, )"); }, "not JSON");
}

}  // namespace
}  // namespace glassformer
