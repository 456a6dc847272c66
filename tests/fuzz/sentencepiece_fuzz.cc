// A SentencePiece model from a stranger: it opens, or one FileError says why not; then text goes
// through.

#include "fuzz/fuzz_target.h"
#include "text/sentence_piece.h"

FUZZ_TARGET(sentencepiece) {
  using namespace glassformer;
  const std::string_view file(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const auto parts = make_sentence_piece(parse_sentence_piece(file, "fuzz"), "fuzz");
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
}
