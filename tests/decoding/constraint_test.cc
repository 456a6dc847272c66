#include "decoding/constraint.h"

#include <chrono>
#include <regex>

#include <gtest/gtest.h>

#include "base/json.h"
#include "decoding/json_schema.h"
#include "decoding/regex_pattern.h"
#include "decoding/sampling.h"
#include "decoding/toy_model.h"
#include "glassformer/base/error.h"
#include "glassformer/decoding/search.h"
#include "support/throws.h"

namespace glassformer {
namespace {

using testing::expect_throws;

bool matches(Automaton& automaton, std::string_view text) {
  int32_t state = automaton.start();
  for (const char c : text) {
    state = automaton.next(state, static_cast<uint8_t>(c));
    if (state == Automaton::kDead) return false;
  }
  return automaton.accepts(state);
}

bool fits(const std::string& schema, std::string_view text) {
  Automaton automaton(parse_json_schema(schema));
  return matches(automaton, text);
}

// Every text over the alphabet up to a length.
void enumerate(std::string_view alphabet, size_t length, std::string text,
               const std::function<void(const std::string&)>& visit) {
  visit(text);
  if (text.size() == length) return;
  for (const char c : alphabet) enumerate(alphabet, length, text + c, visit);
}

TEST(RegexConstraint, EqualsTheStandardLibrary) {
  for (const char* regex : {"a*",     "(ab|c)+", "a{2,3}b?", "[^ab]c*",    "(a|ab)(c|bc)",
                            "a?b?c?", "(a*)*b",  "[a-b]{3}", "(?:a|b)*?c", "((a|b){2}){1,2}",
                            "a|b|",   ".\\.",    "\\w+-",    "[\\s\\-]a",  "(a{0,2}b){2}",
                            "",       "a{2}",    "()*a",     "[.-]+",      "(a|b|c){0,3}-"}) {
    Automaton automaton(parse_regex(regex));
    const std::regex standard(regex, std::regex::ECMAScript);
    enumerate("abc.- ", 5, "", [&](const std::string& text) {
      ASSERT_EQ(matches(automaton, text), std::regex_match(text, standard))
          << regex << " on '" << text << "'";
    });
  }
}

TEST(RegexConstraint, ReadsUtf8ByItsCharacters) {
  Automaton greek(parse_regex("[α-ω]+"));
  EXPECT_TRUE(matches(greek, "αβω"));
  EXPECT_FALSE(matches(greek, "αΩ"));
  EXPECT_FALSE(matches(greek, "α\xCE"));
  Automaton any(parse_regex("..\\u{1F600}"));
  EXPECT_TRUE(matches(any, "é漢😀"));
  EXPECT_FALSE(matches(any, "é😀"));
  Automaton not_ascii(parse_regex("[^\\x00-\\x7f]"));
  // Every character of every length at the borders, and no surrogate.
  for (const char* text : {"\xC2\x80", "\xDF\xBF", "\xE0\xA0\x80", "\xED\x9F\xBF", "\xEE\x80\x80",
                           "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF"})
    EXPECT_TRUE(matches(not_ascii, text));
  for (const char* text : {"a", "\xC1\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xE0\x80\x80"})
    EXPECT_FALSE(matches(not_ascii, text));
}

TEST(RegexConstraint, RefusesByName) {
  const auto parsing = [](const char* regex) { return [=] { parse_regex(regex); }; };
  expect_throws<ValueError>(parsing("(a)\\1"), "'\\1', which is not supported, at character 4");
  expect_throws<ValueError>(parsing("a(?=b)"), "look-around");
  expect_throws<ValueError>(parsing("\\bword"), "'\\b'");
  expect_throws<ValueError>(parsing("\\p{L}"), "'\\p'");
  expect_throws<ValueError>(parsing("(a"), "'(' without ')'");
  expect_throws<ValueError>(parsing("a)"), "')' without '('");
  expect_throws<ValueError>(parsing("[a"), "'[' without ']'");
  expect_throws<ValueError>(parsing("*a"), "a repetition of nothing");
  expect_throws<ValueError>(parsing("a{3,2}"), "maximum is below");
  expect_throws<ValueError>(parsing("a^b"), "anchor");
  expect_throws<ValueError>(parsing("a++"), "possessive");
  expect_throws<ValueError>(parsing("[z-a]"), "range of characters");
  expect_throws<ValueError>(parsing("a{1000000}"), "more than 100000");
  expect_throws<ValueError>(parsing("\xFF"), "not UTF-8");
  expect_throws<ValueError>(parsing(std::string(500, '(').c_str()), "nest deeper");
}

TEST(RegexConstraint, HostilePatternsEndInAnError) {
  expect_throws<ValueError>([] { Automaton(parse_regex("(((a{1000}){1000}){1000})")); },
                            "more than 200000 states");
  // 2^n deterministic states.
  Automaton explosive(parse_regex("(a|b)*a(a|b){60}"));
  expect_throws<ValueError>(
      [&] {
        for (uint64_t i = 0; i < 100000; ++i) {
          int32_t state = explosive.start();
          for (int k = 0; k < 40; ++k)
            state =
                explosive.next(state, uniform({1, i}, static_cast<uint64_t>(k)) < 0.5 ? 'a' : 'b');
        }
      },
      "constraint: the pattern");
}

TEST(JsonSchema, TakesWhatFits) {
  const char* schema = R"({"type": "object", "additionalProperties": false,
    "required": ["name", "age"],
    "properties": {"id": {"type": "integer"}, "name": {"type": "string", "maxLength": 5},
                   "tags": {"type": "array", "items": {"enum": ["x", 3, null]}, "maxItems": 2},
                   "age": {"$ref": "#/$defs/age"}, "more": {"type": ["number", "null"]}},
    "$defs": {"age": {"anyOf": [{"type": "integer"}, {"const": "unknown"}]}}})";
  for (const char* text :
       {R"({"name":"Ann","age":3})", R"({"name": "Ann", "age": -3})",
        R"({"id":0,"name":"","age":"unknown"})", R"({"name":"日本語ab","tags":[],"age":1})",
        R"({"name":"\"\\\n","tags":["x",3],"age":1,"more":-0.5e+10})",
        R"({"name":"a","age":12,"more":null})"}) {
    EXPECT_TRUE(fits(schema, text)) << text;
    EXPECT_NO_THROW(parse_json(text, "text"));
  }
  for (const char* text :
       {R"({"age":3})", R"({"age":3,"name":"A"})", R"({"name":"Ann","age":3,"x":1})",
        R"({"name":"too long","age":3})", R"({"name":"a","tags":["x","x","x"],"age":1})",
        R"({"name":"a","tags":["y"],"age":1})", R"({"name":"a","age":01})",
        R"({"name":"a","age":1.5})", R"({"name":"a","age":3,})", R"({"name":"a" ,"age":3})", "{}"})
    EXPECT_FALSE(fits(schema, text)) << text;
}

TEST(JsonSchema, TakesTheOtherKeywords) {
  EXPECT_TRUE(fits(R"({"type": "string", "pattern": "^[a-z]+\\.\"$"})", R"("ab.\"")"));
  EXPECT_FALSE(fits(R"({"type": "string", "pattern": "[a-z]+"})", R"("AB")"));
  EXPECT_TRUE(fits(R"({"type": "array", "items": {"type": "boolean"}, "minItems": 2})",
                   "[true,false, true]"));
  EXPECT_FALSE(fits(R"({"type": "array", "items": {"type": "boolean"}, "minItems": 2})", "[true]"));
  EXPECT_TRUE(fits(R"({"type": "object", "additionalProperties": {"type": "null"}})",
                   R"({"a":null, "b":null})"));
  EXPECT_TRUE(fits("true", R"({"a":[1,{}]})") || fits("true", R"({"a":[1,2]})"));
  EXPECT_TRUE(fits(R"({"type": "object", "properties": {"a": {}, "b": {"type": "null"}}})",
                   R"({"b":null})"));
  EXPECT_TRUE(fits(R"({"properties": {"a": {"type": "null"}}})", "{}"));
  EXPECT_FALSE(fits(R"({"type": "string", "minLength": 2})", R"("é")"));
}

TEST(JsonSchema, RefusesByName) {
  const auto parsing = [](const char* schema) { return [=] { parse_json_schema(schema); }; };
  expect_throws<ValueError>(parsing(R"({"type": "integer", "minimum": 3})"),
                            "#: the keyword 'minimum' is not supported");
  expect_throws<ValueError>(parsing(R"({"properties": {"a": {"type": "text"}}})"),
                            "#/properties/a/type: unknown type \"text\"");
  expect_throws<ValueError>(
      parsing(R"({"$ref": "#/$defs/a", "$defs": {"a": {"items": {"$ref": "#/$defs/a"}}}})"),
      "refers to itself");
  expect_throws<ValueError>(parsing(R"({"$ref": "#/$defs/b"})"), "is not there");
  expect_throws<ValueError>(parsing(R"({"type": "array", "minItems": 3, "maxItems": 2})"),
                            "maxItems is below minItems");
  expect_throws<ValueError>(parsing(R"({"required": ["a"], "properties": {"b": {}}})"),
                            "\"a\" is not among the properties");
  expect_throws<ValueError>(parsing("{"), "not JSON");
  expect_throws<ValueError>(parsing("3"), "expected an object or true, found 3");
  std::string deep = "{}";
  for (int i = 0; i < 50; ++i) deep = R"({"items": )" + deep + "}";
  expect_throws<ValueError>(parsing(deep.c_str()), "nests deeper than 32");
}

// All bytes of printable ASCII, and pieces of what JSON is made of.
TokenVocabulary small_vocabulary() {
  std::vector<std::string> tokens = {""};
  for (char c = ' '; c < 127; ++c) tokens.emplace_back(1, c);
  for (const char* piece :
       {"{\"", "\":", "\": ", "\",", "true", "false", "null", "na",   "name", "12",
        "0.",  "[",   "],",   "\"}", "aa",   "ab",    "abc",  "\xC3", "\xA9", " \""})
    tokens.emplace_back(piece);
  return TokenVocabulary(std::move(tokens));
}

std::string text_of(const TokenVocabulary& vocabulary, const std::vector<int64_t>& ids) {
  std::string text;
  for (const int64_t id : ids) text += vocabulary.bytes(id);
  return text;
}

TEST(Constraint, EveryTextThatIsGeneratedFits) {
  const TokenVocabulary vocabulary = small_vocabulary();
  const char* schema = R"({"type": "object", "required": ["name", "list"], "properties": {
    "name": {"type": "string", "maxLength": 4}, "list": {"type": "array", "maxItems": 2,
    "items": {"type": "boolean"}}, "n": {"type": "integer"}}})";
  Automaton json(parse_json_schema(schema));
  Automaton regex(parse_regex("(abc|[0-9]{2,4}\\.){1,3}"));
  for (uint64_t seed = 0; seed < 30; ++seed) {
    const testing::ToyModel model(vocabulary.size(), seed);
    GenerationOptions options{
        .max_new_tokens = 200, .do_sample = seed % 2 == 0, .seed = seed, .eos_token_id = {0}};
    if (seed % 3 == 0) {
      options.do_sample = false;
      options.num_beams = 3;
    }
    const SearchInput input{.prompt = {0}, .vocabulary = &vocabulary};
    options.json_schema = schema;
    auto result = testing::generate(model, options, input)[0];
    EXPECT_EQ(result.reason, FinishReason::kEos);
    const std::string text = text_of(vocabulary, result.ids);
    EXPECT_TRUE(matches(json, text)) << text;
    EXPECT_NO_THROW(parse_json(text, "text"));
    options.json_schema.clear();
    options.regex = "(abc|[0-9]{2,4}\\.){1,3}";
    result = testing::generate(model, options, input)[0];
    EXPECT_TRUE(matches(regex, text_of(vocabulary, result.ids)));
  }
}

TEST(Constraint, MaskIsWhatTokenByTokenGives) {
  const TokenVocabulary vocabulary = small_vocabulary();
  const PatternPtr pattern = parse_regex("(na(me)?|[ab]+c?|é|12){1,4}");
  Automaton automaton(pattern);
  Constraint constraint(pattern, vocabulary, {0}, 0);
  for (const char* said : {"", "n", "a", "ab", "abc", "1", "name"}) {
    std::vector<int64_t> ids;
    int32_t state = automaton.start();
    for (const char c : std::string_view(said)) {
      ids.push_back(c - ' ' + 1);
      state = automaton.next(state, static_cast<uint8_t>(c));
    }
    std::vector<float> scores(static_cast<size_t>(vocabulary.size()), 0);
    constraint.apply(scores, ids);
    EXPECT_EQ(scores[0] == 0, automaton.accepts(state)) << said;
    for (int64_t id = 1; id < vocabulary.size(); ++id) {
      int32_t after = state;
      for (const char c : vocabulary.bytes(id))
        if (after != Automaton::kDead) after = automaton.next(after, static_cast<uint8_t>(c));
      EXPECT_EQ(scores[static_cast<size_t>(id)] == 0, after != Automaton::kDead)
          << said << " + " << vocabulary.bytes(id);
    }
  }
}

}  // namespace
}  // namespace glassformer
