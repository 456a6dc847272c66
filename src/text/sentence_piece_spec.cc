#include "base/mapped_file.h"
#include "text/protobuf.h"
#include "text/sentence_piece.h"
#include "text/utf8.h"

namespace glassformer {
namespace {

SentencePieceSpec::Piece read_piece(std::string_view message, const std::string& where) {
  SentencePieceSpec::Piece piece;
  for (ProtobufReader reader(message, where); reader.next();) {
    switch (reader.field()) {
      case 1: piece.text = reader.bytes(); break;
      case 2: piece.score = reader.real(); break;
      case 3:
        require<FileError>(reader.number() >= 1 && reader.number() <= 6,
                           "{}: a piece's type must be 1 to 6, found {}", where, reader.number());
        piece.type = static_cast<SentencePieceSpec::Type>(reader.number());
        break;
      default: break;
    }
  }
  require<FileError>(valid_utf8(piece.text) == piece.text.size(), "{}: a piece is not UTF-8",
                     where);
  return piece;
}

void read_trainer(std::string_view message, SentencePieceSpec& spec, const std::string& where) {
  for (ProtobufReader reader(message, where); reader.next();) {
    switch (reader.field()) {
      case 3:
        require<FileError>(reader.number() == 1 || reader.number() == 2,
                           "{}: the model must be a unigram (1) or byte-pair encoding (2), found "
                           "type {}",
                           where, reader.number());
        spec.unigram = reader.number() == 1;
        break;
      case 24:
        require<FileError>(reader.number() == 0,
                           "{}: spaces as the end of words (treat_whitespace_as_suffix) are not "
                           "supported",
                           where);
        break;
      case 35: spec.byte_fallback = reader.number() != 0; break;
      case 44: spec.unknown_surface = replace_invalid_utf8(reader.bytes()); break;
      default: break;
    }
  }
}

void read_normalizer(std::string_view message, SentencePieceSpec& spec, const std::string& where) {
  for (ProtobufReader reader(message, where); reader.next();) {
    switch (reader.field()) {
      case 2: spec.charsmap = reader.bytes(); break;
      case 3: spec.add_dummy_prefix = reader.number() != 0; break;
      case 4: spec.remove_extra_spaces = reader.number() != 0; break;
      case 5: spec.escape_spaces = reader.number() != 0; break;
      default: break;
    }
  }
}

}  // namespace

SentencePieceSpec parse_sentence_piece(std::string_view model, const std::string& where) {
  SentencePieceSpec spec;
  for (ProtobufReader reader(model, where); reader.next();) {
    switch (reader.field()) {
      case 1: spec.pieces.push_back(read_piece(reader.bytes(), where)); break;
      case 2: read_trainer(reader.bytes(), spec, where); break;
      case 3: read_normalizer(reader.bytes(), spec, where); break;
      default: break;
    }
  }
  require<FileError>(!spec.pieces.empty(), "{}: a SentencePiece model without pieces", where);
  return spec;
}

SentencePieceSpec read_sentence_piece(const std::filesystem::path& path) {
  const MappedFile file(path);
  return parse_sentence_piece({reinterpret_cast<const char*>(file.data()), file.bytes()},
                              path.string());
}

}  // namespace glassformer
