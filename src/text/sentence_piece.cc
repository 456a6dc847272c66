#include "text/sentence_piece.h"

#include <algorithm>
#include <limits>

#include "base/check.h"
#include "text/change_list.h"
#include "text/chars_map.h"
#include "text/scored_bpe.h"
#include "text/unigram.h"
#include "text/utf8.h"

namespace glassformer {
namespace {

using Type = SentencePieceSpec::Type;
constexpr std::string_view kMark = "\xE2\x96\x81";  // ▁, a visible space
constexpr char32_t kMarkCharacter = 0x2581;

// The longest rule applies at each place; then spaces are trimmed, joined and marked.
class SentencePieceNormalizer : public Normalizer {
 public:
  SentencePieceNormalizer(const SentencePieceSpec& spec, const std::string& where)
      : map_(spec.charsmap, where),
        prefix_(spec.add_dummy_prefix),
        trim_(spec.remove_extra_spaces),
        space_(spec.escape_spaces ? kMarkCharacter : U' ') {
    std::vector<Trie::Key> whole;
    for (const auto& piece : spec.pieces)
      if (piece.type == Type::kUserDefined) whole.push_back({piece.text, 0});
    whole_ = Trie(std::move(whole));
  }

  void apply(NormalizedText& text) const override {
    const std::string_view view = text.view();
    size_t at = 0;
    size_t skipped = 0;
    Step step;
    while (trim_ && at < view.size()) {
      step = next(view.substr(at));
      if (step.fresh != U" ") break;
      skipped += step.characters;
      at += step.bytes;
    }
    ChangeList changes;
    bool after_space = trim_;
    while (at < view.size()) {
      step = next(view.substr(at));
      at += step.bytes;
      std::u32string fresh = step.fresh;
      if (after_space) fresh.erase(0, std::min(fresh.find_first_not_of(U' '), fresh.size()));
      if (!fresh.empty()) after_space = trim_ && fresh.back() == U' ';
      std::replace(fresh.begin(), fresh.end(), U' ', space_);
      if (changes.empty() && fresh.empty())
        skipped += step.characters;
      else
        changes.replace(step.characters, fresh);
    }
    while (trim_ && !changes.empty() && changes.last() == space_) changes.remove_last();
    changes.apply(text, skipped);
    if (prefix_) text.prepend(to_utf8(space_));
  }

 private:
  struct Step {
    std::u32string fresh;
    size_t bytes = 0;
    size_t characters = 0;  // that it replaces
  };
  Step next(std::string_view text) const {
    size_t whole = 0;
    whole_.prefixes(text, [&](size_t size, uint32_t) { whole = size; });
    if (whole > 0) return {to_utf32(text.substr(0, whole)), whole, count(text, whole)};
    if (const auto rule = map_.longest(text))
      return {to_utf32(replace_invalid_utf8(rule->replacement)), rule->size,
              count(text, rule->size)};
    const size_t size = character_size(text[0]);
    return {to_utf32(text.substr(0, size)), size, 1};
  }
  static size_t count(std::string_view text, size_t size) {
    return count_characters(text.substr(0, size));
  }

  CharsMap map_;
  bool prefix_;
  bool trim_;
  char32_t space_;
  Trie whole_;
};

// Marks become spaces, the first one nothing; bytes become characters again.
class SentencePieceDecoder : public Decoder {
 public:
  explicit SentencePieceDecoder(const SentencePieceSpec& spec)
      : unknown_surface_(spec.unknown_surface),
        strips_(spec.add_dummy_prefix || spec.remove_extra_spaces),
        strips_all_(spec.remove_extra_spaces) {
    for (const auto& piece : spec.pieces) {
      if (piece.type == Type::kUnknown) unknown_ = piece.text;
      if (piece.type == Type::kByte) has_bytes_ = true;
    }
  }

  void apply(std::vector<std::string>& tokens) const override {
    std::string text;
    std::string bytes;
    const auto flush = [&] {
      // Every byte that is part of no character is one replacement character.
      while (!bytes.empty()) {
        const size_t valid = valid_utf8(bytes);
        text.append(bytes, 0, valid);
        bytes.erase(0, valid);
        if (bytes.empty()) return;
        text += "\xEF\xBF\xBD";
        bytes.erase(0, 1);
      }
    };
    bool at_start = true;
    bool stripped = false;
    for (const std::string& token : tokens) {
      if (const int byte = has_bytes_ ? fallback_byte(token) : -1; byte >= 0) {
        bytes += static_cast<char>(byte);
        continue;
      }
      flush();
      if (stripped || !text.empty()) at_start = false;
      if (token == unknown_) {
        text += unknown_surface_;
        stripped = false;
        continue;
      }
      std::string_view rest = token;
      stripped = at_start && strips_ && rest.starts_with(kMark);
      if (stripped) rest.remove_prefix(kMark.size());
      if (strips_all_) stripped = false;
      for (size_t mark = rest.find(kMark); mark != rest.npos; mark = rest.find(kMark)) {
        text.append(rest.substr(0, mark)).append(" ");
        rest.remove_prefix(mark + kMark.size());
      }
      text += rest;
    }
    flush();
    tokens.clear();
    tokens.push_back(std::move(text));
  }

 private:
  std::string unknown_;
  std::string unknown_surface_;
  bool strips_;
  bool strips_all_;
  bool has_bytes_ = false;
};

// How a SentencePiece model sees its pieces.
struct Table {
  Vocabulary vocabulary;
  std::vector<float> scores;
  uint32_t unknown = 0;
  float lowest = std::numeric_limits<float>::max();
};

Table read_table(const SentencePieceSpec& spec, const std::string& where) {
  Table table;
  bool has_unknown = false;
  for (size_t i = 0; i < spec.pieces.size(); ++i) {
    const auto& piece = spec.pieces[i];
    require<FileError>(!piece.text.empty(), "{}: piece {} is empty", where, i);
    require<FileError>(!table.vocabulary.find(piece.text), "{}: piece '{}' is there twice", where,
                       piece.text);
    require<FileError>(std::isfinite(piece.score), "{}: the score of '{}' is not a number", where,
                       piece.text);
    table.vocabulary.add(piece.text, static_cast<uint32_t>(i));
    table.scores.push_back(piece.score);
    if (piece.type == Type::kUnknown) {
      table.unknown = static_cast<uint32_t>(i);
      has_unknown = true;
    }
    if (piece.type == Type::kNormal) table.lowest = std::min(table.lowest, piece.score);
  }
  require<FileError>(has_unknown, "{}: no piece is the unknown one", where);
  return table;
}

std::unique_ptr<PieceModel> make_unigram(const SentencePieceSpec& spec, Table table,
                                         const std::string& where) {
  UnigramOptions options;
  options.unknown = table.unknown;
  options.byte_fallback = spec.byte_fallback;
  options.as_sentence_piece = true;
  options.lowest = table.lowest;
  std::vector<double> scores(table.scores.begin(), table.scores.end());
  for (size_t i = 0; i < spec.pieces.size(); ++i) {
    const auto& piece = spec.pieces[i];
    options.hidden.push_back(piece.type != Type::kNormal && piece.type != Type::kUserDefined);
    // What the user defined wins over any other path: 0.1 for each byte after the first.
    if (piece.type == Type::kUserDefined)
      scores[i] = static_cast<float>(0.1 * static_cast<double>(piece.text.size() - 1));
  }
  return std::make_unique<Unigram>(std::move(table.vocabulary), std::move(scores),
                                   std::move(options), where);
}

std::unique_ptr<PieceModel> make_bpe(const SentencePieceSpec& spec, Table table) {
  std::vector<ScoredBpe::Kind> kinds;
  for (const auto& piece : spec.pieces)
    kinds.push_back(piece.type == Type::kUserDefined ? ScoredBpe::Kind::kWhole
                    : piece.type == Type::kUnused    ? ScoredBpe::Kind::kUnused
                    : piece.type == Type::kNormal    ? ScoredBpe::Kind::kPlain
                                                     : ScoredBpe::Kind::kHidden);
  return std::make_unique<ScoredBpe>(std::move(table.vocabulary), std::move(table.scores),
                                     std::move(kinds), table.unknown, spec.byte_fallback);
}

class Renumbered : public PieceModel {
 public:
  Renumbered(std::unique_ptr<PieceModel> model, Vocabulary numbers, uint32_t unknown)
      : PieceModel(std::move(numbers)), model_(std::move(model)), unknown_(unknown) {
    model_->vocabulary().each([&](std::string_view token, uint32_t id) {
      if (id >= numbers_.size()) numbers_.resize(id + 1, unknown_);
      numbers_[id] = vocabulary_.find(token).value_or(unknown_);
    });
  }

  void tokenize(std::string_view piece, ModelScratch& scratch,
                std::vector<PieceToken>& tokens) const override {
    const size_t first = tokens.size();
    model_->tokenize(piece, scratch, tokens);
    for (size_t i = first; i < tokens.size(); ++i) tokens[i].id = numbers_[tokens[i].id];
  }
  std::string spelling(const PieceToken& token, std::string_view piece) const override {
    if (token.id == unknown_)
      return std::string(piece.substr(token.begin, token.end - token.begin));
    return PieceModel::spelling(token, piece);
  }

 private:
  std::unique_ptr<PieceModel> model_;
  std::vector<uint32_t> numbers_;  // of the model's own ids
  uint32_t unknown_;
};

}  // namespace

std::unique_ptr<Tokenizer::Parts> make_sentence_piece(const SentencePieceSpec& spec,
                                                      const std::string& where) {
  auto parts = std::make_unique<Tokenizer::Parts>();
  Table table = read_table(spec, where);
  parts->special.unk = table.unknown;
  parts->normalizer = std::make_unique<SentencePieceNormalizer>(spec, where);
  parts->decoder = std::make_unique<SentencePieceDecoder>(spec);
  parts->model =
      spec.unigram ? make_unigram(spec, std::move(table), where) : make_bpe(spec, std::move(table));
  std::vector<AddedToken> control;
  for (const auto& piece : spec.pieces)
    if (piece.type == Type::kControl)
      control.push_back(
          {.content = piece.text, .normalized = false, .special = true, .found = false});
  parts->added.add(control, parts->model->vocabulary(), nullptr);
  return parts;
}

std::unique_ptr<PieceModel> renumber(std::unique_ptr<PieceModel> model, Vocabulary numbers,
                                     std::string_view unknown, const std::string& where) {
  const auto id = numbers.find(unknown);
  require<FileError>(id.has_value(), "{}: the unknown token '{}' has no number", where, unknown);
  return std::make_unique<Renumbered>(std::move(model), std::move(numbers), *id);
}

}  // namespace glassformer
