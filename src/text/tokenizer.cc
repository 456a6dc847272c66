#include "glassformer/text/tokenizer.h"

#include <algorithm>

#include "base/check.h"
#include "base/parallel.h"
#include "text/byte_alphabet.h"
#include "text/encoding_ops.h"
#include "text/layouts.h"
#include "text/tokenizer_config.h"
#include "text/tokenizer_parts.h"
#include "text/utf8.h"

namespace glassformer {
namespace {

constexpr size_t kLongestText = size_t{1} << 30;

using Parts = const Tokenizer::Parts;

void check_text(std::string_view text) {
  require<ValueError>(text.size() <= kLongestText, "encode: texts up to {} bytes, found {}",
                      kLongestText, text.size());
}

// Of each byte, and of the end, the number of its character.
void number_characters(std::string_view text, std::vector<uint32_t>& numbers) {
  numbers.resize(text.size() + 1);
  uint32_t count = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    count += !is_continuation(text[i]);
    numbers[i] = count - 1;
  }
  numbers[text.size()] = count;
}

void reserve(Encoding& encoding, size_t count, bool with_tokens) {
  encoding.ids.reserve(count);
  encoding.offsets.reserve(count);
  encoding.words.reserve(count);
  if (with_tokens) encoding.tokens.reserve(count);
}

// One text that is UTF-8, without special tokens.
EncodingDraft encode_valid_text(Parts& parts, std::string_view text, const EncodeOptions& options,
                                Scratch& scratch) {
  check_text(text);
  Pieces& pieces = scratch.pieces;
  pieces.assign(text);
  parts.added.extract(pieces, false, options.split_special);
  if (parts.normalizer)
    pieces.edit([&](NormalizedText& piece, bool) { parts.normalizer->apply(piece); });
  parts.added.extract(pieces, true, options.split_special);
  if (parts.pre_tokenizer) parts.pre_tokenizer->apply(pieces);

  const bool in_characters =
      options.offsets == EncodeOptions::Offsets::kCharacters && !is_ascii(text);
  if (in_characters) number_characters(text, scratch.characters);
  std::vector<bool> trims;
  if (parts.post_processor) parts.post_processor->trims(trims);

  EncodingDraft draft;
  Encoding& encoding = draft.encoding;
  reserve(encoding, pieces.list().size() * 2, options.tokens);
  int64_t word = 0;
  for (const Pieces::Piece& piece : pieces.list()) {
    const std::string_view view = pieces.view(piece);
    const bool is_added = piece.token != Pieces::kNoToken;
    scratch.tokens.clear();
    if (is_added) {
      scratch.tokens.push_back({piece.token, 0, static_cast<uint32_t>(view.size())});
    } else {
      parts.model->tokenize(view, scratch.model, scratch.tokens);
    }
    for (const PieceToken& token : scratch.tokens) {
      Span span = pieces.original(piece, token.begin, token.end);
      if (in_characters) span = {scratch.characters[span.begin], scratch.characters[span.end]};
      encoding.ids.push_back(token.id);
      encoding.offsets.push_back({span.begin, span.end});
      encoding.words.push_back(word);
      if (!options.tokens && trims.empty()) continue;
      std::string spelling = is_added ? std::string(view) : parts.model->spelling(token, view);
      if (!trims.empty()) draft.blanks.push_back(count_blanks(spelling));
      if (options.tokens) encoding.tokens.push_back(std::move(spelling));
    }
    ++word;
  }
  encoding.type_ids.assign(encoding.ids.size(), 0);
  encoding.attention_mask.assign(encoding.ids.size(), 1);
  encoding.special_tokens_mask.assign(encoding.ids.size(), 0);
  return draft;
}

// The same for any bytes: what is no UTF-8 is read as U+FFFD, and offsets stay those of the text.
EncodingDraft encode_text(Parts& parts, std::string_view text, const EncodeOptions& options,
                          Scratch& scratch) {
  check_text(text);
  if (valid_utf8(text) == text.size()) return encode_valid_text(parts, text, options, scratch);
  std::vector<size_t> origins;
  const std::string repaired = replace_invalid_utf8(text, &origins);
  EncodingDraft draft = encode_valid_text(parts, repaired, options, scratch);
  if (options.offsets == EncodeOptions::Offsets::kBytes)
    for (auto& offset : draft.encoding.offsets)
      offset = {static_cast<uint32_t>(origins[offset.begin]),
                static_cast<uint32_t>(origins[offset.end])};
  return draft;
}

// The part that truncation keeps, with the rest as overflow; offsets trimmed.
Encoding cut(Parts& parts, EncodingDraft&& draft, size_t longest, const Truncation& truncation) {
  std::vector<bool> trims;
  if (parts.post_processor) parts.post_processor->trims(trims);
  const auto trimmed = [&](Encoding& encoding, size_t begin) {
    for (const bool prefix_space : trims)
      trim_offsets(encoding, draft.blanks.data() + begin, prefix_space);
  };
  const auto windows =
      truncation_windows(draft.encoding.size(), longest, truncation.stride, truncation.side);
  if (windows.size() == 1) {
    trimmed(draft.encoding, 0);
    return std::move(draft.encoding);
  }
  Encoding kept;
  for (size_t i = 0; i < windows.size(); ++i) {
    Encoding window = slice(draft.encoding, windows[i].begin, windows[i].end);
    trimmed(window, windows[i].begin);
    if (i == 0) {
      kept = std::move(window);
    } else {
      kept.overflowing.push_back(std::move(window));
    }
  }
  return kept;
}

Encoding encode_one(Parts& parts, std::string_view text, const std::string_view* pair,
                    const EncodeOptions& options) {
  auto scratch = parts.scratch.take();
  EncodingDraft first = encode_text(parts, text, options, *scratch);
  EncodingDraft second;
  if (pair != nullptr) second = encode_text(parts, *pair, options, *scratch);
  parts.scratch.give_back(std::move(scratch));

  Truncation truncation;
  truncation.max_length = SIZE_MAX;
  if (options.truncation) {
    truncation = *options.truncation;
  } else if (options.file_settings && parts.truncation) {
    truncation = *parts.truncation;
  }
  const size_t added = options.special_tokens && parts.post_processor
                           ? parts.post_processor->added(pair != nullptr)
                           : 0;
  const KeptLengths lengths = truncated_lengths(first.encoding.size(), second.encoding.size(),
                                                pair != nullptr, truncation, added);
  std::vector<Encoding> texts;
  texts.push_back(cut(parts, std::move(first), lengths.first, truncation));
  if (pair != nullptr) texts.push_back(cut(parts, std::move(second), lengths.second, truncation));
  return post_process(std::move(texts), parts.post_processor.get(), options.special_tokens,
                      options.tokens);
}

void pad_all(Parts& parts, std::span<Encoding> encodings, const EncodeOptions& options) {
  const Padding* padding = nullptr;
  if (options.padding) {
    padding = &*options.padding;
  } else if (options.file_settings && parts.padding) {
    padding = &*parts.padding;
  }
  if (padding == nullptr) return;
  size_t longest = 0;
  for (const Encoding& encoding : encodings) longest = std::max(longest, encoding.size());
  const size_t length = padded_length(longest, *padding);
  for (Encoding& encoding : encodings) pad(encoding, length, *padding, options.tokens);
}

}  // namespace

Tokenizer::Tokenizer(std::shared_ptr<const Parts> parts) : parts_(std::move(parts)) {}

Tokenizer Tokenizer::open(const std::filesystem::path& path, bool target) {
  return Tokenizer(std::filesystem::is_directory(path) ? read_folder(path, target)
                                                       : read_file(path));
}

Tokenizer Tokenizer::from_json(std::string_view json, const std::string& where) {
  auto parts = read_tokenizer_json(parse_tokenizer_json(json, where), where);
  complete(*parts, TokenizerConfig{});
  return Tokenizer(std::move(parts));
}

Tokenizer Tokenizer::from_vocabulary(const VocabularyData& data, const std::string& where) {
  return Tokenizer(make_from_data(data, where));
}

Encoding Tokenizer::encode(std::string_view text, const EncodeOptions& options) const {
  Encoding encoding = encode_one(*parts_, text, nullptr, options);
  pad_all(*parts_, std::span(&encoding, 1), options);
  return encoding;
}

Encoding Tokenizer::encode(std::string_view text, std::string_view pair,
                           const EncodeOptions& options) const {
  Encoding encoding = encode_one(*parts_, text, &pair, options);
  pad_all(*parts_, std::span(&encoding, 1), options);
  return encoding;
}

std::vector<Encoding> Tokenizer::encode_batch(std::span<const std::string> texts,
                                              const EncodeOptions& options) const {
  return encode_batch(texts, {}, options);
}

std::vector<Encoding> Tokenizer::encode_batch(std::span<const std::string> texts,
                                              std::span<const std::string> pairs,
                                              const EncodeOptions& options) const {
  require<ValueError>(pairs.empty() || pairs.size() == texts.size(),
                      "encode_batch: {} texts need as many pairs, found {}", texts.size(),
                      pairs.size());
  std::vector<Encoding> encodings(texts.size());
  // Several texts a task, so that handing them out costs nothing beside them.
  constexpr size_t kTask = 16;
  parallel_tasks(static_cast<int64_t>((texts.size() + kTask - 1) / kTask), [&](int64_t task) {
    const size_t begin = static_cast<size_t>(task) * kTask;
    for (size_t i = begin; i < std::min(begin + kTask, texts.size()); ++i) {
      const std::string_view pair = pairs.empty() ? std::string_view() : pairs[i];
      encodings[i] = encode_one(*parts_, texts[i], pairs.empty() ? nullptr : &pair, options);
    }
  });
  pad_all(*parts_, encodings, options);
  return encodings;
}

std::string Tokenizer::decode(std::span<const int64_t> ids, bool skip_special) const {
  std::vector<std::string> tokens;
  tokens.reserve(ids.size());
  for (const int64_t id : ids) {
    auto token = id_to_token(id);
    if (!token || (skip_special && parts_->added.is_special(*token))) continue;
    tokens.push_back(std::move(*token));
  }
  std::string text;
  if (parts_->decoder && !tokens.empty()) {
    parts_->decoder->apply(tokens);
    for (const std::string& token : tokens) text += token;
    return text;
  }
  for (const std::string& token : tokens) (text += text.empty() ? "" : " ") += token;
  return text;
}

std::optional<int64_t> Tokenizer::token_to_id(std::string_view token) const {
  if (const auto id = parts_->added.find(token)) return *id;
  if (const auto id = parts_->model->vocabulary().find(token)) return *id;
  return std::nullopt;
}

std::optional<std::string> Tokenizer::id_to_token(int64_t id) const {
  if (id < 0 || id >= UINT32_MAX) return std::nullopt;
  const auto number = static_cast<uint32_t>(id);
  if (const std::string* added = parts_->added.token(number)) return *added;
  if (const auto token = parts_->model->vocabulary().token(number)) return std::string(*token);
  return std::nullopt;
}

std::string Tokenizer::token_bytes(int64_t id) const {
  const auto token = id_to_token(id);
  if (!token || is_special(id)) return {};
  if (!parts_->decoder) return " " + *token;
  if (parts_->decoder->spells_bytes()) return to_bytes(*token).value_or(*token);
  // What decoding makes of it between two letters.
  const auto decoded = [&](std::vector<std::string> tokens) {
    parts_->decoder->apply(tokens);
    std::string text;
    for (const std::string& part : tokens) text += part;
    return text;
  };
  const std::string without = decoded({"a", "b"}), with = decoded({"a", *token, "b"});
  const std::string_view after = std::string_view(without).substr(1);
  if (with.size() < without.size() || !with.ends_with(after)) return {};
  std::string added = with.substr(1, with.size() - without.size());
  const int byte = fallback_byte(*token);
  return byte >= 0 && added != *token ? std::string(1, static_cast<char>(byte)) : added;
}

size_t Tokenizer::vocabulary_size() const {
  const Vocabulary& model = parts_->model->vocabulary();
  return model.size() + parts_->added.count_beyond(model);
}

bool Tokenizer::is_special(int64_t id) const {
  return id >= 0 && id < UINT32_MAX && parts_->added.is_special_id(static_cast<uint32_t>(id));
}

const SpecialIds& Tokenizer::special_ids() const { return parts_->special; }

bool Tokenizer::has_chat_template() const { return !parts_->chat_template.empty(); }

ChatTemplate Tokenizer::chat_template() const {
  require<FileError>(has_chat_template(), "this tokenizer has no chat template");
  return ChatTemplate(parts_->chat_template, parts_->role_tokens);
}

}  // namespace glassformer
