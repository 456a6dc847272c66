#include "text/model.h"

#include "base/check.h"
#include "base/flat_table.h"
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

// The list or object at `name` where it is a flat table of this kind.
std::optional<FlatTable> table_at(const JsonFields& fields, std::string_view name,
                                  FlatTable::Kind kind) {
  const Json& value = fields.at(name);
  if (!FlatTable::is(value) || FlatTable(value).kind() != kind) return std::nullopt;
  return FlatTable(value);
}

using Merge = std::pair<std::string_view, std::string_view>;

// An old merge: two tokens with a space between them. None for the line that names the version.
std::optional<Merge> merge_of(std::string_view text, size_t number, const JsonFields& fields) {
  if (text.starts_with("#version")) return std::nullopt;
  const size_t space = text.find(' ');
  require<FileError>(space != text.npos && text.find(' ', space + 1) == text.npos,
                     "{}: merge {} must be two tokens with one space between them, found '{}'",
                     fields.where(), number, text);
  return Merge(text.substr(0, space), text.substr(space + 1));
}

// The texts stay those of the JSON.
std::vector<Merge> read_merges(const JsonFields& fields) {
  std::vector<Merge> merges;
  const auto add_text = [&](std::string_view text) {
    if (const std::optional<Merge> merge = merge_of(text, merges.size(), fields))
      merges.push_back(*merge);
  };
  if (const auto pairs = table_at(fields, "merges", FlatTable::Kind::kTextPairs)) {
    merges.reserve(pairs->size());
    pairs->each([&](const FlatTable::Row& row) { merges.emplace_back(row.first, row.second); });
    return merges;
  }
  if (const auto texts = table_at(fields, "merges", FlatTable::Kind::kTexts)) {
    merges.reserve(texts->size());
    texts->each([&](const FlatTable::Row& row) { add_text(row.first); });
    return merges;
  }
  const Json& list = fields.at("merges");
  if (!list.is_array()) fields.fail("merges", "a list");
  merges.reserve(list.size());
  for (const Json& one : list) {
    if (one.is_array() && one.size() == 2 && one[0].is_string() && one[1].is_string()) {
      merges.emplace_back(one[0].get_ref<const std::string&>(),
                          one[1].get_ref<const std::string&>());
      continue;
    }
    require<FileError>(one.is_string(), "{}: merge {} must be a pair of tokens, found {}",
                       fields.where(), merges.size(), describe(one));
    add_text(one.get_ref<const std::string&>());
  }
  return merges;
}

std::unique_ptr<PieceModel> make_bpe(const JsonFields& fields, bool byte_level) {
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

std::unique_ptr<PieceModel> make_word_piece(const JsonFields& fields) {
  const int64_t longest = fields.integer("max_input_chars_per_word");
  if (longest < 0) fields.fail("max_input_chars_per_word", "at least 0");
  return std::make_unique<WordPiece>(read_vocabulary(fields, "vocab"), fields.text("unk_token"),
                                     fields.text("continuing_subword_prefix"),
                                     static_cast<size_t>(longest));
}

std::unique_ptr<PieceModel> make_unigram(const JsonFields& fields) {
  Vocabulary vocabulary;
  std::vector<double> scores;
  const auto add = [&](std::string_view token, double score) {
    vocabulary.add(token, static_cast<uint32_t>(scores.size()));
    scores.push_back(score);
  };
  if (const auto table = table_at(fields, "vocab", FlatTable::Kind::kTextNumbers)) {
    vocabulary = Vocabulary(table->size());
    table->each([&](const FlatTable::Row& row) { add(row.first, row.number); });
  } else {
    const Json& list = fields.at("vocab");
    const bool texts = FlatTable::is(list) && FlatTable(list).kind() != FlatTable::Kind::kNumbers;
    require<FileError>(!texts, "{}: vocab[0] must be a token and its score, found texts alone",
                       fields.where());
    if (!list.is_array()) fields.fail("vocab", "a list of tokens and scores");
    for (const Json& one : list) {
      require<FileError>(
          one.is_array() && one.size() == 2 && one[0].is_string() && one[1].is_number(),
          "{}: vocab[{}] must be a token and its score, found {}", fields.where(), scores.size(),
          describe(one));
      add(one[0].get_ref<const std::string&>(), one[1].get<double>());
    }
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
  if (!fields.has("vocab")) return "WordLevel";
  const Json& vocab = fields.at("vocab");
  const bool list = FlatTable::is(vocab) ? FlatTable(vocab).kind() != FlatTable::Kind::kNumbers
                                         : vocab.is_array();
  return list ? "Unigram" : "WordLevel";
}

}  // namespace

std::string PieceModel::spelling(const PieceToken& token, std::string_view) const {
  return std::string(vocabulary_.token(token.id).value_or(""));
}

Vocabulary read_vocabulary(const JsonFields& fields, std::string_view name) {
  if (const auto table = table_at(fields, name, FlatTable::Kind::kNumbers)) {
    Vocabulary vocabulary(table->size());
    table->each([&](const FlatTable::Row& row) {
      require<FileError>(row.whole < UINT32_MAX,
                         "{}: a token's number must be a whole number below 2^32-1, found {}",
                         fields.where(), row.whole);
      const size_t before = vocabulary.size();
      vocabulary.add(row.first, static_cast<uint32_t>(row.whole));
      require<FileError>(vocabulary.size() > before, "{}: the key '{}' is there twice",
                         fields.where(), row.first);
    });
    return vocabulary;
  }
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

std::unique_ptr<PieceModel> make_model(const JsonFields& fields, bool byte_level) {
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
