#include "glassformer/text/chat_template.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "glassformer/base/error.h"
#include "support/throws.h"

namespace glassformer::testing {
namespace {

using OrderedJson = nlohmann::ordered_json;

std::string render(std::string_view source, std::string_view variables = "{}") {
  return ChatTemplate(source).render_json(variables);
}

// Twelve styles of well-known models and five conversations, as transformers renders them.
TEST(ChatTemplates, EqualTransformers) {
  const auto path =
      std::filesystem::path(GLASSFORMER_FIXTURES_DIR) / "text" / "chat_templates.json";
  const OrderedJson data = OrderedJson::parse(std::ifstream(path));
  const auto tokens = data["tokens"].get<std::map<std::string, std::string>>();
  EXPECT_GE(data["templates"].size(), 12);
  for (const auto& one : data["cases"]) {
    SCOPED_TRACE(one["style"].get<std::string>() + ", " + one["conversation"].get<std::string>());
    const ChatTemplate chat(data["templates"][one["style"].get<std::string>()].get<std::string>(),
                            tokens);
    OrderedJson variables = data["conversations"][one["conversation"].get<std::string>()];
    if (!variables.contains("tools")) variables["tools"] = nullptr;
    if (one.contains("error")) {
      expect_throws<ValueError>([&] { chat.render_json(variables.dump()); },
                                one["error"].get<std::string>());
    } else {
      EXPECT_EQ(chat.render_json(variables.dump()), one["text"].get<std::string>());
    }
  }
}

TEST(ChatTemplates, TakeMessages) {
  const ChatTemplate chat(
      "{{ bos_token }}{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}"
      "{% if add_generation_prompt %}{{ name }}:{% endif %}",
      {{"bos_token", "<s>"}});
  const std::vector<ChatMessage> messages = {{"user", "Hi"}, {"assistant", "Hello"}};
  EXPECT_EQ(chat.render(messages, true, R"({"name": "bot"})"),
            "<s>user: Hi\nassistant: Hello\nbot:");
  EXPECT_EQ(chat.render(messages, false), "<s>user: Hi\nassistant: Hello\n");
}

TEST(ChatTemplates, RefuseWhatTheyDoNotKnow) {
  expect_throws<FileError>([] { ChatTemplate("{% include 'x' %}"); }, "statement 'include'");
  expect_throws<FileError>([] { ChatTemplate("{% import 'x' as y %}"); }, "statement 'import'");
  expect_throws<FileError>([] { ChatTemplate("{{ x | pprint }}"); }, "filter 'pprint'");
  expect_throws<FileError>([] { ChatTemplate("{{ x is sameas y }}"); }, "test 'sameas'");
  expect_throws<FileError>([] { ChatTemplate("a\n{{ x"); }, "line 2");
  expect_throws<FileError>([] { ChatTemplate("{% if x %}"); }, "endif");
  expect_throws<FileError>([] { ChatTemplate("{% endfor %}"); }, "endfor");
  expect_throws<FileError>([] { ChatTemplate("{{ f(*x) }}"); }, "unpacked");
  expect_throws<FileError>([] { ChatTemplate("\xFF"); }, "UTF-8");
  expect_throws<ValueError>([] { render("{{ x.__class__.__mro__ }}", R"({"x": 1})"); },
                            "undefined");
  expect_throws<ValueError>([] { render("{{ 'x'.format(1) }}"); }, "method 'format'");
  expect_throws<ValueError>([] { render("{{ [].append(1) }}"); }, "method 'append'");
  expect_throws<ValueError>([] { render("{{ x.y }}"); }, "'x' is undefined");
  expect_throws<ValueError>([] { render("{% set x.y = 1 %}", R"({"x": {}})"); }, "namespace");
  expect_throws<ValueError>([] { render("{{ 1 // 0 }}"); }, "division by zero");
  expect_throws<ValueError>([] { render("x", "[]"); }, "JSON object");
  expect_throws<ValueError>([] { render("x", "{"); }, "not JSON");
}

TEST(ChatTemplates, AreBounded) {
  expect_throws<ValueError>(
      [] {
        render("{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}");
      },
      "steps");
  expect_throws<ValueError>([] { render("{{ 'x' * 99999999 }}"); }, "repeated");
  expect_throws<ValueError>(
      [] {
        render(
            "{% set ns = namespace(x='x') %}{% for i in range(99) %}"
            "{% set ns.x = ns.x ~ ns.x %}{% endfor %}");
      },
      "larger than");
  expect_throws<ValueError>([] { render("{{ range(999999) }}"); }, "range");
  expect_throws<ValueError>([] { render("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}"); },
                            "deeper than");
  expect_throws<FileError>(
      [] { ChatTemplate("{{ " + std::string(5000, '(') + std::string(5000, ')') + " }}"); },
      "too deep");
  expect_throws<ValueError>([] { render("{{ 9223372036854775 * 9223372036854775 }}"); },
                            "too large");
}

TEST(ChatTemplates, KnowTheTime) { EXPECT_EQ(render("{{ strftime_now('%Y') | length }}"), "4"); }

}  // namespace
}  // namespace glassformer::testing
