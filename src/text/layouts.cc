#include "text/layouts.h"

#include "base/check.h"
#include "base/mapped_file.h"
#include "text/sentence_piece.h"
#include "text/styles.h"
#include "text/tokenizer_config.h"
#include "text/utf8.h"

namespace glassformer {
namespace {

using Parts = std::unique_ptr<Tokenizer::Parts>;
namespace fs = std::filesystem;

// The lines of a file, without their ends.
std::vector<std::string> read_lines(const fs::path& path) {
  const MappedFile file(path);
  std::string_view text(reinterpret_cast<const char*>(file.data()), file.bytes());
  require<FileError>(valid_utf8(text) == text.size(), "{}: not UTF-8 at byte {}", path.string(),
                     valid_utf8(text));
  std::vector<std::string> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    while (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    lines.emplace_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

Json numbered(const std::vector<std::string>& tokens) {
  Json vocabulary = Json::object();
  for (size_t i = 0; i < tokens.size(); ++i) vocabulary[tokens[i]] = i;
  return vocabulary;
}

Parts read_bert(const fs::path& file, const TokenizerConfig& config) {
  const JsonFields fields(config.json, config.where);
  BertStyle style;
  style.lowercase = fields.boolean("do_lower_case", true);
  style.chinese = fields.boolean("tokenize_chinese_chars", true);
  if (fields.has("strip_accents")) style.strip_accents = fields.boolean("strip_accents");
  style.unk = config.role("unk_token", style.unk);
  style.sep = config.role("sep_token", style.sep);
  style.cls = config.role("cls_token", style.cls);
  Json vocabulary = numbered(read_lines(file));
  Json added = Json::array();
  for (const char* token : {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"})
    if (config.roles.empty() && vocabulary.contains(token))
      added.push_back({{"content", token}, {"special", true}, {"normalized", false}});
  Json json = bert_json(std::move(vocabulary), style);
  json["added_tokens"] = std::move(added);
  return read_tokenizer_json(json, file.string());
}

Parts read_byte_bpe(const fs::path& folder, const TokenizerConfig& config) {
  const JsonFields fields(config.json, config.where);
  Json merges = Json::array();
  for (std::string& line : read_lines(folder / "merges.txt"))
    if (!line.empty() && !line.starts_with("#version")) merges.push_back(std::move(line));
  const std::string& kind = config.tokenizer_class;
  const bool roberta = kind == "RobertaTokenizer" || kind == "BartTokenizer" ||
                       kind == "LongformerTokenizer" || kind == "LEDTokenizer";
  const ByteBpeStyle style = roberta                    ? ByteBpeStyle::kRoberta
                             : kind == "Qwen2Tokenizer" ? ByteBpeStyle::kQwen2
                                                        : ByteBpeStyle::kGpt2;
  require<FileError>(kind.empty() || kind == "GPT2Tokenizer" || kind == "PreTrainedTokenizer" ||
                         style != ByteBpeStyle::kGpt2,
                     "{}: vocab.json and merges.txt of a {} cannot be read without tokenizer.json",
                     folder.string(), kind);
  return read_tokenizer_json(byte_bpe_json(read_json(folder / "vocab.json"), std::move(merges),
                                           style, fields.boolean("add_prefix_space", false)),
                             (folder / "vocab.json").string());
}

// Special tokens around a SentencePiece text, as the class of the tokenizer puts them.
void add_template(Tokenizer::Parts& parts, const std::string& before, const std::string& after,
                  const std::string& where) {
  Json numbers = Json::object();
  std::vector<AddedToken> special;
  for (const std::string& token : {before, after}) {
    if (token.empty()) continue;
    const auto id = parts.model->vocabulary().find(token);
    require<FileError>(id.has_value(), "{}: the special token '{}' is not in the vocabulary", where,
                       token);
    numbers[token] = *id;
    special.push_back({.content = token, .normalized = false, .special = true});
  }
  parts.added.add(special, parts.model->vocabulary(), nullptr);
  const Json json = template_json(numbers, before, after);
  parts.post_processor = make_post_processor(JsonFields(json, where));
}

Parts read_sentence_piece_folder(const fs::path& file, const TokenizerConfig& config) {
  Parts parts = make_sentence_piece(read_sentence_piece(file), file.string());
  const JsonFields fields(config.json, config.where);
  const std::string& kind = config.tokenizer_class;
  std::string before;
  std::string after;
  if (kind == "T5Tokenizer") {
    after = config.role("eos_token", "</s>");
    std::vector<AddedToken> extra;
    for (int64_t i = fields.integer("extra_ids", 100); i-- > 0 && config.added.empty();)
      extra.push_back({.content = fmt::format("<extra_id_{}>", i),
                       .lstrip = true,
                       .rstrip = true,
                       .normalized = false,
                       .special = true});
    parts->added.add(extra, parts->model->vocabulary(), nullptr);
  } else if (kind == "LlamaTokenizer" || kind == "GemmaTokenizer") {
    if (fields.boolean("add_bos_token", true)) before = config.role("bos_token", "<s>");
    if (fields.boolean("add_eos_token", false)) after = config.role("eos_token", "</s>");
  } else if (kind == "AlbertTokenizer") {
    before = config.role("cls_token", "[CLS]");
    after = config.role("sep_token", "[SEP]");
  }
  if (!before.empty() || !after.empty()) add_template(*parts, before, after, file.string());
  return parts;
}

// Two SentencePiece models with one vocabulary; </s> ends a text.
Parts read_marian(const fs::path& folder, const TokenizerConfig& config, bool target) {
  const fs::path file = folder / (target ? "target.spm" : "source.spm");
  Parts parts = make_sentence_piece(read_sentence_piece(file), file.string());
  const Json vocabulary = read_json(folder / "vocab.json");
  const JsonFields fields(vocabulary, (folder / "vocab.json").string());
  const Json wrapped = {{"vocab", vocabulary}};
  parts->model = renumber(std::move(parts->model),
                          read_vocabulary(JsonFields(wrapped, fields.where()), "vocab"),
                          config.role("unk_token", "<unk>"), fields.where());
  // Decoding is for what the model writes: the target language.
  const fs::path writes = folder / "target.spm";
  if (!target && fs::exists(writes))
    parts->decoder =
        std::move(make_sentence_piece(read_sentence_piece(writes), writes.string())->decoder);
  parts->added = {};
  std::vector<AddedToken> added;
  for (const char* token : {"</s>", "<unk>", "<pad>"})
    if (vocabulary.contains(token))
      added.push_back({.content = token, .normalized = false, .special = true});
  // >>fr<< and its like name the target language.
  for (const auto& [token, id] : vocabulary.items())
    if (token.starts_with(">>") && token.ends_with("<<"))
      added.push_back({.content = token, .normalized = false});
  parts->added.add(added, parts->model->vocabulary(), nullptr);
  add_template(*parts, "", config.role("eos_token", "</s>"), fields.where());
  return parts;
}

}  // namespace

Parts read_folder(const fs::path& folder, bool target) {
  const TokenizerConfig config = read_tokenizer_config(folder);
  Parts parts;
  const auto has = [&](const char* name) { return fs::exists(folder / name); };
  if (has("tokenizer.json")) {
    const fs::path file = folder / "tokenizer.json";
    parts = read_tokenizer_json(read_json(file, parse_tokenizer_json), file.string());
  } else if (has("source.spm") && has("vocab.json")) {
    parts = read_marian(folder, config, target);
  } else if (has("vocab.json") && has("merges.txt")) {
    parts = read_byte_bpe(folder, config);
  } else if (has("vocab.txt")) {
    parts = read_bert(folder / "vocab.txt", config);
  } else {
    for (const char* name : {"spiece.model", "tokenizer.model"})
      if (!parts && has(name)) parts = read_sentence_piece_folder(folder / name, config);
    // Better no ids than wrong ones.
    require<FileError>(
        parts != nullptr || !has("sentencepiece.bpe.model"),
        "{}: the families with a sentencepiece.bpe.model number its pieces anew, each "
        "in its own way; expected a tokenizer.json beside it, found none",
        folder.string());
  }
  require<FileError>(
      parts != nullptr,
      "{}: no tokenizer here; looked for tokenizer.json, source.spm with vocab.json, "
      "vocab.json with merges.txt, vocab.txt, spiece.model and tokenizer.model",
      folder.string());
  complete(*parts, config);
  return parts;
}

Parts read_file(const fs::path& file) {
  const std::string ending = file.extension().string();
  Parts parts;
  // Mistral names versions: tokenizer.model.v3.
  if (ending == ".model" || ending == ".spm" || file.stem().extension() == ".model") {
    parts = make_sentence_piece(read_sentence_piece(file), file.string());
  } else if (ending == ".txt") {
    parts = read_bert(file, TokenizerConfig{});
  } else {
    parts = read_tokenizer_json(read_json(file, parse_tokenizer_json), file.string());
  }
  TokenizerConfig config;
  config.where = file.string();
  complete(*parts, config);
  return parts;
}

}  // namespace glassformer
