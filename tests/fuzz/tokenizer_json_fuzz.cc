// A tokenizer.json from a stranger: it opens, or one FileError says why not; then text goes
// through.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "glassformer/base/error.h"
#include "glassformer/text/tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace glassformer;
  try {
    const Tokenizer tokenizer =
        Tokenizer::from_json({reinterpret_cast<const char*>(data), size}, "fuzz");
    EncodeOptions options;
    options.tokens = true;
    options.padding = Padding{};
    for (const char* text : {"", "Hello  wörld! 中文 👍 <s>", "\n\t 123 don't"}) {
      const Encoding encoding = tokenizer.encode(text, text, options);
      tokenizer.decode(encoding.ids, false);
    }
  } catch (const Error&) {
  }
  return 0;
}
