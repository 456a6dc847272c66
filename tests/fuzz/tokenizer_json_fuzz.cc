// A tokenizer.json from a stranger: it opens, or one FileError says why not; then text goes
// through.

#include "fuzz/fuzz_target.h"
#include "glassformer/text/tokenizer.h"

FUZZ_TARGET(tokenizer_json) {
  using namespace glassformer;
  const std::string_view json(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const Tokenizer tokenizer = Tokenizer::from_json(json, "fuzz");
  EncodeOptions options;
  options.tokens = true;
  options.padding = Padding{};
  for (const char* text : {"", "Hello  wörld! 中文 👍 <s>", "\n\t 123 don't"}) {
    const Encoding encoding = tokenizer.encode(text, text, options);
    tokenizer.decode(encoding.ids, false);
  }
}
