#include "training/yaml.h"

#include <gtest/gtest.h>

#include "glassformer/base/error.h"
#include "support/throws.h"

namespace glassformer::testing {
namespace {

// The value of a YAML text, as compact JSON.
std::string json_of(const std::string& text) { return parse_yaml(text, "file").dump(); }

TEST(Yaml, Scalars) {
  for (const auto& [yaml, json] : std::vector<std::pair<const char*, const char*>>{
           {"", "null"},
           {"# nothing", "null"},
           {"~", "null"},
           {"NULL", "null"},
           {"true", "true"},
           {"False", "false"},
           {"yes", "\"yes\""},
           {"off", "\"off\""},
           {"0", "0"},
           {"-12", "-12"},
           {"+12", "12"},
           {"012", "12"},
           {"0x1F", "31"},
           {"0o17", "15"},
           {"0x", "\"0x\""},
           {"0x-1", "\"0x-1\""},
           {"1.5", "1.5"},
           {"1.", "1.0"},
           {".5", "0.5"},
           {"-.5", "-0.5"},
           {"1e-4", "0.0001"},
           {"+1e3", "1000.0"},
           {"1_000", "\"1_000\""},
           {"1.2.3", "\"1.2.3\""},
           {"--1", "\"--1\""},
           {"+-1", "\"+-1\""},
           {"inf", "\"inf\""},
           {"nan", "\"nan\""},
           {"'1'", "\"1\""},
           {"\"true\"", "\"true\""},
           {"a b", "\"a b\""},
           {"2026-01-02", "\"2026-01-02\""},
           {"9223372036854775807", "9223372036854775807"},
           {"9223372036854775808", "9.223372036854775808e+18"},
           {"\"\\u00e9\\n\"", "\"é\\n\""}}) {
    const Json expected = parse_json(json, "expected");
    EXPECT_EQ(parse_yaml(yaml, "file"), expected) << yaml << ": " << json_of(yaml);
    EXPECT_EQ(parse_yaml(yaml, "file").type(),
              expected.is_number_unsigned() ? Json::value_t::number_integer : expected.type())
        << yaml;
  }
}

TEST(Yaml, Collections) {
  EXPECT_EQ(parse_yaml({}, "file"), Json());
  EXPECT_EQ(json_of("a: 1\nb:\n  - x\n  - {c: [], d: {}}\n1: two\n"),
            R"({"1":"two","a":1,"b":["x",{"c":[],"d":{}}]})");
  EXPECT_EQ(json_of("text: |\n  one\n  two\nempty:\n"), R"({"empty":null,"text":"one\ntwo\n"})");
  EXPECT_EQ(json_of("---\n- 1\n...\n"), "[1]");
  EXPECT_EQ(json_of("{\"a\": [1, 2.5, null], \"b\": \"x\"}"), R"({"a":[1,2.5,null],"b":"x"})");
  EXPECT_EQ(json_of("\xEF\xBB\xBF"
                    "a: é"),
            "{\"a\":\"é\"}");
}

TEST(Yaml, Refuses) {
  const auto refuse = [](const std::string& text, std::initializer_list<const char*> parts) {
    expect_throws<FileError>([&] { parse_yaml(text, "file"); }, parts);
  };
  refuse("a: 1\nb: [", {"file:3: ", "not YAML"});
  refuse("a: 1\n b: 2", {"file:2: ", "not YAML"});
  refuse("a: 1\na: 2", {"file: ", "'a' is there twice"});
  refuse("a: &x 1\nb: *x", {"file:1: ", "anchors and aliases", "'x'", "write the value out"});
  refuse("a: 1\nb: !!str 1", {"file:2: ", "tags are not read", "str"});
  refuse("[1]: 2", {"file:1: ", "expected a key"});
  refuse("a: 1\nb: -.inf", {"file:2: ", "'-.inf' has no place"});
  refuse("a\n---\nb", {"file:2: ", "one document"});
  refuse("a: \xFF", {"file:", "not YAML", "UTF-8"});
  refuse(std::string(201, '['), {"deeper than 200 levels"});
  refuse(std::string(100'000, '['), {"file"});
  EXPECT_NO_THROW(parse_yaml(std::string(200, '[') + std::string(200, ']'), "file"));
}

}  // namespace
}  // namespace glassformer::testing
