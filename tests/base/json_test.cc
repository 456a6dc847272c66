#include "base/json.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "glassformer/base/error.h"
#include "support/throws.h"

namespace glassformer {
namespace {

using testing::expect_throws;

TEST(Json, RefusesWhatIsNoJson) {
  expect_throws<FileError>([&] { parse_json("{", "a.json"); }, "a.json: not JSON");
  expect_throws<FileError>([&] { parse_json("", "a.json"); }, "a.json: not JSON");
  expect_throws<FileError>([&] { parse_json("{\"a\": \"\xff\"}", "a.json"); }, "a.json: not JSON");
  expect_throws<FileError>([&] { parse_json(R"({"a": 1, "b": {"c": 1, "c": 2}})", "a.json"); },
                           "a.json: the key 'c' is there twice");
  expect_throws<FileError>([&] { parse_json(std::string(100000, '['), "a.json"); },
                           "deeper than 200");
}

TEST(Json, TakesTheSameKeyInDifferentObjects) {
  EXPECT_EQ(parse_json(R"({"a": {"b": 1}, "b": {"a": [1, 2]}})", "a.json")["b"]["a"][1], 2);
}

TEST(Json, BuildsEveryKindOfValue) {
  const std::string text =
      R"({"a":[null,true,-1,18446744073709551615,1.5,"x",[],{}],"b":{"c":[[1],[2]]}})";
  EXPECT_EQ(parse_json(text, "a.json").dump(), text);
  EXPECT_EQ(parse_json(" 7 ", "a.json"), 7);
}

// Each object of a list or of an object is a constant cost: a quadratic one would take minutes.
TEST(Json, TakesManyObjects) {
  std::string text = "{";
  for (int i = 0; i < 300000; ++i) text += fmt::format("\"{}\":{{\"a\":[]}},", i);
  text.back() = '}';
  EXPECT_EQ(parse_json(text, "a.json").size(), 300000U);
}

TEST(Json, FieldsSayWhatTheyExpectedAndFound) {
  const Json json = parse_json(
      R"({"n": 3, "x": 1.5, "s": "text", "no": null, "list": [1, "2"], "big": 18446744073709551615})",
      "a.json");
  const JsonFields fields(json, "a.json");
  EXPECT_EQ(fields.integer("n"), 3);
  EXPECT_EQ(fields.number("n"), 3.0);
  EXPECT_EQ(fields.integer("no", 7), 7);
  expect_throws<FileError>([&] { fields.integer("missing"); },
                           "a.json: field 'missing' is missing");
  expect_throws<FileError>([&] { fields.integer("x"); },
                           "field 'x' must be a whole number, found 1.5");
  expect_throws<FileError>([&] { fields.integer("big"); }, "field 'big' must be a whole number");
  expect_throws<FileError>([&] { fields.integers("list"); }, "found a list of 2");
  expect_throws<FileError>([&] { fields.boolean("s", true); },
                           "must be true or false, found \"text\"");
  expect_throws<FileError>([&] { JsonFields(json["list"], "a.json: list"); },
                           "expected a JSON object");
}

}  // namespace
}  // namespace glassformer
