#include "glassformer/text/vocabulary_data.h"

#include <array>

#include "base/check.h"
#include "text/layouts.h"
#include "text/sentence_piece.h"
#include "text/styles.h"
#include "text/tokenizer_config.h"
#include "text/utf8.h"

namespace glassformer {
namespace {

using Parts = std::unique_ptr<Tokenizer::Parts>;

std::string token_of(const VocabularyData& data, const std::optional<int64_t>& id,
                     const std::string& where) {
  if (!id) return {};
  require<FileError>(*id >= 0 && *id < static_cast<int64_t>(data.tokens.size()),
                     "{}: a special token must be one of {} tokens, found {}", where,
                     data.tokens.size(), *id);
  return data.tokens[static_cast<size_t>(*id)];
}

int32_t type_of(const VocabularyData& data, size_t i) {
  return data.types.empty() ? 1 : data.types[i];
}

// Control and user-defined tokens, found in the text.
Json added_json(const VocabularyData& data) {
  Json added = Json::array();
  for (size_t i = 0; i < data.tokens.size(); ++i) {
    const int32_t type = type_of(data, i);
    if (type == 3 || type == 4)
      added.push_back({{"content", data.tokens[i]}, {"special", type == 3}, {"normalized", false}});
  }
  return added;
}

// Words begin with ▁, and what continues one has no mark: the other way round than in vocab.txt.
Parts make_bert(const VocabularyData& data, const std::string& where) {
  constexpr std::string_view kMark = "\xE2\x96\x81";
  Json vocabulary = Json::object();
  for (size_t i = 0; i < data.tokens.size(); ++i) {
    const std::string& token = data.tokens[i];
    const bool special = type_of(data, i) == 3 || (token.starts_with('[') && token.ends_with(']'));
    vocabulary[token.starts_with(kMark) ? token.substr(kMark.size())
               : special                ? token
                                        : fmt::format("##{}", token)] = i;
  }
  Json json = bert_json(std::move(vocabulary), {});
  json["added_tokens"] = added_json(data);
  return read_tokenizer_json(json, where);
}

Parts make_byte_bpe(const VocabularyData& data, const std::string& where) {
  constexpr std::array<std::pair<std::string_view, ByteBpeStyle>, 9> kNames = {{
      {"", ByteBpeStyle::kGpt2},
      {"default", ByteBpeStyle::kGpt2},
      {"gpt-2", ByteBpeStyle::kGpt2},
      {"roberta-bpe", ByteBpeStyle::kGpt2},
      {"llama-bpe", ByteBpeStyle::kLlama3},
      {"llama3", ByteBpeStyle::kLlama3},
      {"llama-v3", ByteBpeStyle::kLlama3},
      {"qwen2", ByteBpeStyle::kQwen2},
      {"deepseek-r1-qwen", ByteBpeStyle::kQwen2},
  }};
  for (const auto& [name, style] : kNames) {
    if (name != data.pre) continue;
    Json vocabulary = Json::object();
    for (size_t i = 0; i < data.tokens.size(); ++i) vocabulary[data.tokens[i]] = i;
    std::string before = data.add_bos.value_or(false) ? token_of(data, data.bos, where) : "";
    std::string after = data.add_eos.value_or(false) ? token_of(data, data.eos, where) : "";
    Json around = template_json(vocabulary, before, after);
    Json json = byte_bpe_json(std::move(vocabulary), data.merges, style,
                              data.add_space_prefix.value_or(false));
    if (!before.empty() || !after.empty()) json["post_processor"] = std::move(around);
    json["added_tokens"] = added_json(data);
    return read_tokenizer_json(json, where);
  }
  throw FileError(
      fmt::format("{}: the pre-tokenizer '{}' is not known; known are gpt-2, llama-bpe "
                  "and qwen2",
                  where, data.pre));
}

Parts make_pieces(const VocabularyData& data, const std::string& where) {
  SentencePieceSpec spec;
  spec.unigram = data.model == "t5";
  spec.add_dummy_prefix = data.add_space_prefix.value_or(true);
  spec.remove_extra_spaces = data.remove_extra_spaces.value_or(spec.unigram);
  spec.charsmap = data.charsmap;
  for (size_t i = 0; i < data.tokens.size(); ++i) {
    const int32_t type = type_of(data, i);
    require<FileError>(type >= 1 && type <= 6, "{}: a token's type must be 1 to 6, found {}", where,
                       type);
    spec.byte_fallback |= type == 6;
    spec.pieces.push_back({data.tokens[i], data.scores.empty() ? 0 : data.scores[i],
                           static_cast<SentencePieceSpec::Type>(type)});
  }
  Parts parts = make_sentence_piece(spec, where);
  std::string before = data.add_bos.value_or(!spec.unigram) ? token_of(data, data.bos, where) : "";
  std::string after = data.add_eos.value_or(spec.unigram) ? token_of(data, data.eos, where) : "";
  Json numbers = Json::object();
  for (const std::string& token : {before, after})
    if (!token.empty()) numbers[token] = *parts->model->vocabulary().find(token);
  const Json around = template_json(numbers, before, after);
  parts->post_processor = make_post_processor(JsonFields(around, where));
  const Json added = added_json(data);
  parts->added.add(read_added_tokens(added, where), parts->model->vocabulary(), nullptr);
  return parts;
}

}  // namespace

Parts make_from_data(const VocabularyData& data, const std::string& where) {
  const size_t count = data.tokens.size();
  require<FileError>(count > 0 && count < (size_t{1} << 31), "{}: a vocabulary of {} tokens", where,
                     count);
  require<FileError>((data.scores.empty() || data.scores.size() == count) &&
                         (data.types.empty() || data.types.size() == count),
                     "{}: {} tokens need as many scores and types, found {} and {}", where, count,
                     data.scores.size(), data.types.size());
  for (const std::string& token : data.tokens)
    require<FileError>(valid_utf8(token) == token.size(), "{}: a token is not UTF-8", where);
  Parts parts;
  if (data.model == "gpt2") {
    parts = make_byte_bpe(data, where);
  } else if (data.model == "bert") {
    parts = make_bert(data, where);
  } else if (data.model == "llama" || data.model == "t5") {
    parts = make_pieces(data, where);
  } else {
    throw FileError(fmt::format(
        "{}: the tokenizer model must be gpt2, llama, bert or t5, found '{}'", where, data.model));
  }
  const auto check = [&](const std::optional<int64_t>& id) {
    token_of(data, id, where);
    return id;
  };
  parts->special = {check(data.bos), check(data.eos), check(data.unk), check(data.sep),
                    check(data.pad), check(data.cls), check(data.mask)};
  parts->chat_template = data.chat_template;
  for (const auto& [role, id] :
       {std::pair{"bos_token", data.bos}, std::pair{"eos_token", data.eos},
        std::pair{"unk_token", data.unk}, std::pair{"pad_token", data.pad}})
    if (id) parts->role_tokens[role] = token_of(data, id, where);
  return parts;
}

}  // namespace glassformer
