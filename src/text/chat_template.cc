#include "glassformer/text/chat_template.h"

#include "base/check.h"
#include "base/json.h"
#include "text/jinja/interpreter.h"
#include "text/utf8.h"

namespace glassformer {
namespace {

// Keeps the order of keys, which templates can see, and refuses what parse_json() refuses.
nlohmann::ordered_json parse_variables(std::string_view text) {
  try {
    parse_json(text, "chat template: the variables");
    return nlohmann::ordered_json::parse(text);
  } catch (const FileError& error) {
    throw ValueError(error.what());
  }
}

}  // namespace

struct ChatTemplate::Program {
  jinja::Body body;
};

ChatTemplate::ChatTemplate(std::string_view source, std::map<std::string, std::string> tokens)
    : tokens_(std::move(tokens)) {
  constexpr size_t kLongest = size_t{1} << 20;
  require<FileError>(source.size() <= kLongest, "chat template: at most {} bytes, found {}",
                     kLongest, source.size());
  require<FileError>(valid_utf8(source) == source.size(), "chat template: not UTF-8 at byte {}",
                     valid_utf8(source));
  auto program = std::make_shared<Program>();
  program->body = jinja::parse(source);
  program_ = std::move(program);
}

std::string ChatTemplate::render_json(std::string_view variables) const {
  const nlohmann::ordered_json json = parse_variables(variables);
  require<ValueError>(json.is_object(), "chat template: the variables must be a JSON object");
  jinja::Dict dict;
  for (const auto& [name, token] : tokens_) dict.set(name, token);
  for (const auto& [name, value] : json.items()) dict.set(name, jinja::Value::from_json(value));
  return jinja::run(program_->body, dict);
}

std::string ChatTemplate::render(std::span<const ChatMessage> messages, bool add_generation_prompt,
                                 std::string_view more) const {
  nlohmann::ordered_json json = parse_variables(more);
  require<ValueError>(json.is_object(), "chat template: further variables must be a JSON object");
  auto& list = json["messages"] = nlohmann::ordered_json::array();
  for (const ChatMessage& message : messages) {
    require<ValueError>(valid_utf8(message.content) == message.content.size() &&
                            valid_utf8(message.role) == message.role.size(),
                        "chat template: a message is not UTF-8");
    list.push_back({{"role", message.role}, {"content", message.content}});
  }
  json["add_generation_prompt"] = add_generation_prompt;
  return render_json(json.dump());
}

}  // namespace glassformer
