#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace glassformer {

struct ChatMessage {
  std::string role;  // "system", "user", "assistant", ...
  std::string content;
};

// How a conversation becomes the text that a model continues: a Jinja template, as transformers
// runs it (blocks trimmed, `break` and `continue`, raise_exception, strftime_now, tojson). What it
// does not know it refuses by name. A template is a stranger's program: it can read nothing but its
// variables, and its steps, its depth and what it writes are bounded.
class ChatTemplate {
 public:
  // `tokens`: variables like bos_token and eos_token. Throws FileError for a template that does not
  // parse or uses what is not supported.
  explicit ChatTemplate(std::string_view source, std::map<std::string, std::string> tokens = {});

  // `more`: a JSON object of further variables, such as tools or documents. Throws ValueError where
  // the template fails: by raise_exception, by a wrong type, or at one of its bounds.
  std::string render(std::span<const ChatMessage> messages, bool add_generation_prompt = true,
                     std::string_view more = "{}") const;
  // All variables as a JSON object: {"messages": [...], "add_generation_prompt": true, ...}.
  std::string render_json(std::string_view variables) const;

  struct Program;  // private, in src/text

 private:
  std::shared_ptr<const Program> program_;
  std::map<std::string, std::string> tokens_;
};

}  // namespace glassformer
