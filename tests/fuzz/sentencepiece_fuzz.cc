// A SentencePiece model from a stranger: it opens, or one FileError says why not; then text goes
// through.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "glassformer/base/error.h"
#include "text/sentence_piece.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace glassformer;
  try {
    const auto spec = parse_sentence_piece({reinterpret_cast<const char*>(data), size}, "fuzz");
    const auto parts = make_sentence_piece(spec, "fuzz");
    ModelScratch scratch;
    std::vector<PieceToken> tokens;
    NormalizedText text;
    text.assign("Hello  wörld! 中文 👍 <s>\n\t 123");
    parts->normalizer->apply(text);
    parts->model->tokenize(text.view(), scratch, tokens);
    std::vector<std::string> spellings;
    for (const PieceToken& token : tokens)
      spellings.push_back(parts->model->spelling(token, text.view()));
    parts->decoder->apply(spellings);
  } catch (const Error&) {
  }
  return 0;
}
