// A chat template from a stranger: it renders within its bounds, or one error says why not.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "glassformer/base/error.h"
#include "glassformer/text/chat_template.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace glassformer;
  try {
    const ChatTemplate chat({reinterpret_cast<const char*>(data), size}, {{"bos_token", "<s>"}});
    const std::vector<ChatMessage> messages = {{"system", "Be kind."}, {"user", "Hällo"}};
    chat.render(messages, true, R"({"tools": [{"name": "f", "n": 1.5, "ok": true}]})");
  } catch (const Error&) {
  }
  return 0;
}
