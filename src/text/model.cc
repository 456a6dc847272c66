#include "text/model.h"

#include "base/check.h"
#include "text/bpe.h"
#include "text/unigram.h"
#include "text/word_piece.h"

namespace glassformer {
namespace {

uint32_t token_id(const Json& value, const std::string& where) {
  if (!value.is_number_unsigned() || value.get<uint64_t>() >= UINT32_MAX)
    throw FileError(
        fmt::format("{}: a token's number must be a whole number below 2^32-1, found {}", where,
                    describe(value)));
  return value.get<uint32_t>();
}

// The texts stay those of the JSON.
std::vector<std::pair<std::string_view, std::string_view>> read_merges(const JsonFields& fields) {
  const Json& list = fields.at("merges");
  if (!list.is_array()) fields.fail("merges", "a list");
  std::vector<std::pair<std::string_view, std::string_view>> merges;
  merges.reserve(list.size());
  for (const Json& one : list) {
    if (one.is_array() && one.size() == 2 && one[0].is_string() && one[1].is_string()) {
      merges.emplace_back(one[0].get_ref<const std::string&>(),
                          one[1].get_ref<const std::string&>());
      continue;
    }
    require<FileError>(one.is_string(), "{}: merge {} must be a pair of tokens, found {}",
                       fields.where(), merges.size(), describe(one));
    const std::string_view text = one.get_ref<const std::string&>();
    if (text.starts_with("#version")) continue;
    const size_t space = text.find(' ');
    require<FileError>(space != text.npos && text.find(' ', space + 1) == text.npos,
                       "{}: merge {} must be two tokens with one space between them, found '{}'",
                       fields.where(), merges.size(), text);
    merges.emplace_back(text.substr(0, space), text.substr(space + 1));
  }
  return merges;
}

std::unique_ptr<Model> make_bpe(const JsonFields& fields, bool byte_level) {
  require<FileError>(fields.number("dropout", 0) == 0,
                     "{}: BPE with dropout {} gives other tokens each time; only 0 is supported",
                     fields.where(), fields.number("dropout", 0));
  BpeOptions options;
  if (fields.has("unk_token")) options.unknown = fields.text("unk_token");
  options.prefix = fields.text("continuing_subword_prefix", "");
  options.suffix = fields.text("end_of_word_suffix", "");
  options.fuse_unknown = fields.boolean("fuse_unk", false);
  options.byte_fallback = fields.boolean("byte_fallback", false);
  options.ignore_merges = fields.boolean("ignore_merges", false);
  options.byte_level = byte_level;
  return std::make_unique<Bpe>(read_vocabulary(fields, "vocab"), read_merges(fields), options,
                               fields.where());
}

std::unique_ptr<Model> make_word_piece(const JsonFields& fields) {
  const int64_t longest = fields.integer("max_input_chars_per_word");
  if (longest < 0) fields.fail("max_input_chars_per_word", "at least 0");
  return std::make_unique<WordPiece>(read_vocabulary(fields, "vocab"), fields.text("unk_token"),
                                     fields.text("continuing_subword_prefix"),
                                     static_cast<size_t>(longest));
}

std::unique_ptr<Model> make_unigram(const JsonFields& fields) {
  const Json& list = fields.at("vocab");
  if (!list.is_array()) fields.fail("vocab", "a list of tokens and scores");
  Vocabulary vocabulary(list.size());
  std::vector<double> scores;
  scores.reserve(list.size());
  for (const Json& one : list) {
    require<FileError>(
        one.is_array() && one.size() == 2 && one[0].is_string() && one[1].is_number(),
        "{}: vocab[{}] must be a token and its score, found {}", fields.where(), scores.size(),
        describe(one));
    vocabulary.add(one[0].get_ref<const std::string&>(), static_cast<uint32_t>(scores.size()));
    scores.push_back(one[1].get<double>());
  }
  UnigramOptions options;
  if (fields.has("unk_id")) options.unknown = token_id(fields.at("unk_id"), fields.where());
  options.byte_fallback = fields.boolean("byte_fallback", false);
  return std::make_unique<Unigram>(std::move(vocabulary), std::move(scores), std::move(options),
                                   fields.where());
}

// Old files do not name the kind.
std::string model_type(const JsonFields& fields) {
  if (fields.has("type")) return fields.text("type");
  if (fields.has("merges")) return "BPE";
  if (fields.has("max_input_chars_per_word")) return "WordPiece";
  return fields.has("vocab") && fields.at("vocab").is_array() ? "Unigram" : "WordLevel";
}

}  // namespace

std::string Model::spelling(const PieceToken& token, std::string_view) const {
  return std::string(vocabulary_.token(token.id).value_or(""));
}

Vocabulary read_vocabulary(const JsonFields& fields, std::string_view name) {
  const Json& object = fields.at(name);
  if (!object.is_object()) fields.fail(name, "an object of tokens and their numbers");
  Vocabulary vocabulary(object.size());
  for (const auto& [token, id] : object.items())
    vocabulary.add(token, token_id(id, fields.where()));
  return vocabulary;
}

bool can_read_bytes(const JsonFields& fields) {
  return model_type(fields) == "BPE" && fields.text("continuing_subword_prefix", "").empty() &&
         fields.text("end_of_word_suffix", "").empty() && !fields.boolean("byte_fallback", false);
}

std::unique_ptr<Model> make_model(const JsonFields& fields, bool byte_level) {
  const std::string type = model_type(fields);
  const JsonFields at(fields.json(), fields.where() + ": " + type);
  if (type == "BPE") return make_bpe(at, byte_level);
  if (type == "WordPiece") return make_word_piece(at);
  if (type == "Unigram") return make_unigram(at);
  if (type == "WordLevel")
    return std::make_unique<WordLevel>(read_vocabulary(at, "vocab"), at.text("unk_token"));
  throw FileError(
      fmt::format("{}: unknown model '{}'; known are BPE, WordPiece, WordLevel and "
                  "Unigram",
                  fields.where(), type));
}

}  // namespace glassformer
