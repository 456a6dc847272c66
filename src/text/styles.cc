#include "text/styles.h"

#include <algorithm>

#include "base/check.h"
#include "text/split.h"

namespace glassformer {
namespace {

Json piece(std::string_view kind, std::string_view id, int type) {
  return {{std::string(kind), {{"id", id}, {"type_id", type}}}};
}

Json special_token(const Json& vocabulary, std::string_view token) {
  return {{"id", token},
          {"ids", Json::array({vocabulary.value(std::string(token), 0)})},
          {"tokens", Json::array({token})}};
}

Json split_json(std::string_view pattern) {
  return {{"type", "Sequence"},
          {"pretokenizers",
           {{{"type", "Split"},
             {"pattern", {{"Regex", pattern}}},
             {"behavior", "Isolated"},
             {"invert", false}},
            {{"type", "ByteLevel"},
             {"add_prefix_space", false},
             {"trim_offsets", true},
             {"use_regex", false}}}}};
}

// "name" or "name:type".
Json template_piece(const Json& special, std::string_view item, const std::string& where) {
  constexpr size_t kMostDigits = 9;
  std::string_view name = item;
  int type = 0;
  const size_t colon = item.rfind(':');
  if (!special.contains(item) && colon != std::string_view::npos) {
    const std::string digits(item.substr(colon + 1));
    require<ValueError>(!digits.empty() && digits.size() <= kMostDigits &&
                            digits.find_first_not_of("0123456789") == std::string::npos,
                        "{}: a type id must be a whole number, found '{}'", where, item);
    name = item.substr(0, colon);
    type = std::stoi(digits);
  }
  if (name == "$A" || name == "$B") return piece("Sequence", name.substr(1), type);
  require<ValueError>(special.contains(name), "{}: must name $A, $B and special tokens, found '{}'",
                      where, item);
  return piece("SpecialToken", name, type);
}

Json template_pieces(const Json& special, std::string_view text, std::string_view sequences,
                     const std::string& where) {
  Json pieces = Json::array();
  std::string found;
  while (!text.empty()) {
    const size_t size = std::min(text.find(' '), text.size());
    if (size > 0) pieces.push_back(template_piece(special, text.substr(0, size), where));
    if (size > 0 && pieces.back().contains("Sequence"))
      found += pieces.back()["Sequence"]["id"].get<std::string>();
    text.remove_prefix(std::min(size + 1, text.size()));
  }
  std::sort(found.begin(), found.end());
  require<ValueError>(found == sequences, "{}: must have {} once, found '{}'", where,
                      sequences == "A" ? "$A" : "$A and $B", found);
  return pieces;
}

}  // namespace

Json template_json(const Json& special, const TemplateText& text, std::string_view where) {
  const Json single = template_pieces(special, text.single, "A", fmt::format("{}: single", where));
  Json pair = single;
  if (!text.pair.empty()) {
    pair = template_pieces(special, text.pair, "AB", fmt::format("{}: pair", where));
  } else {
    for (Json second : single) {
      if (second.contains("Sequence")) second["Sequence"]["id"] = "B";
      second.front()["type_id"] = 1;
      pair.push_back(std::move(second));
    }
  }
  Json tokens = Json::object();
  for (const Json& list : {single, pair})
    for (const Json& one : list)
      if (const auto token = one.find("SpecialToken"); token != one.end()) {
        const auto id = (*token)["id"].get<std::string>();
        tokens[id] = special_token(special, id);
      }
  return {{"type", "TemplateProcessing"},
          {"single", single},
          {"pair", pair},
          {"special_tokens", tokens}};
}

Json template_json(const Json& vocabulary, std::string_view before, std::string_view after) {
  Json single = Json::array();
  Json tokens = Json::object();
  for (const std::string_view token : {before, after})
    if (!token.empty()) tokens[std::string(token)] = special_token(vocabulary, token);
  if (!before.empty()) single.push_back(piece("SpecialToken", before, 0));
  single.push_back(piece("Sequence", "A", 0));
  if (!after.empty()) single.push_back(piece("SpecialToken", after, 0));
  Json pair = single;
  if (!before.empty()) pair.push_back(piece("SpecialToken", before, 1));
  pair.push_back(piece("Sequence", "B", 1));
  if (!after.empty()) pair.push_back(piece("SpecialToken", after, 1));
  return {{"type", "TemplateProcessing"},
          {"single", single},
          {"pair", pair},
          {"special_tokens", tokens}};
}

Json bert_json(Json vocabulary, const BertStyle& style) {
  Json json;
  json["normalizer"] = {{"type", "BertNormalizer"},
                        {"clean_text", true},
                        {"handle_chinese_chars", style.chinese},
                        {"lowercase", style.lowercase},
                        {"strip_accents", nullptr}};
  if (style.strip_accents) json["normalizer"]["strip_accents"] = *style.strip_accents;
  json["pre_tokenizer"] = {{"type", "BertPreTokenizer"}};
  if (vocabulary.contains(style.cls) && vocabulary.contains(style.sep))
    json["post_processor"] = {{"type", "BertProcessing"},
                              {"cls", {style.cls, vocabulary[style.cls]}},
                              {"sep", {style.sep, vocabulary[style.sep]}}};
  json["decoder"] = {{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", true}};
  json["model"] = {{"type", "WordPiece"},
                   {"unk_token", style.unk},
                   {"continuing_subword_prefix", "##"},
                   {"max_input_chars_per_word", 100}};
  json["model"]["vocab"] = std::move(vocabulary);
  return json;
}

Json byte_bpe_json(Json vocabulary, Json merges, ByteBpeStyle style, bool prefix_space) {
  Json json;
  const Json byte_level = {{"type", "ByteLevel"},
                           {"add_prefix_space", prefix_space},
                           {"trim_offsets", true},
                           {"use_regex", true}};
  if (style == ByteBpeStyle::kQwen2) json["normalizer"] = {{"type", "NFC"}};
  const bool gpt2 = style == ByteBpeStyle::kGpt2 || style == ByteBpeStyle::kRoberta;
  json["pre_tokenizer"] =
      gpt2 ? byte_level
           : split_json(style == ByteBpeStyle::kLlama3 ? kLlama3Pattern : kQwen2Pattern);
  if (style == ByteBpeStyle::kRoberta && vocabulary.contains("<s>") && vocabulary.contains("</s>"))
    json["post_processor"] = {{"type", "RobertaProcessing"},
                              {"cls", {"<s>", vocabulary["<s>"]}},
                              {"sep", {"</s>", vocabulary["</s>"]}},
                              {"trim_offsets", true},
                              {"add_prefix_space", prefix_space}};
  json["decoder"] = byte_level;
  json["model"] = {{"type", "BPE"}, {"ignore_merges", style == ByteBpeStyle::kLlama3}};
  json["model"]["vocab"] = std::move(vocabulary);
  json["model"]["merges"] = std::move(merges);
  return json;
}

}  // namespace glassformer
