// A chat template from a stranger: it renders within its bounds, or one error says why not.

#include "fuzz/fuzz_target.h"
#include "glassformer/text/chat_template.h"

FUZZ_TARGET(chat_template) {
  using namespace glassformer;
  const std::string_view source(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const ChatTemplate chat(std::string(source), {{"bos_token", "<s>"}});
  const std::vector<ChatMessage> messages = {{"system", "Be kind."}, {"user", "Hällo"}};
  chat.render(messages, true, R"({"tools": [{"name": "f", "n": 1.5, "ok": true}]})");
}
