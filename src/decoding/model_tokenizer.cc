#include "glassformer/decoding/model_tokenizer.h"

#include "base/check.h"

namespace glassformer {
namespace {

std::string key(const char* name) { return std::string("tokenizer.ggml.") + name; }

std::optional<int64_t> optional_id(const GgufFile& file, const char* name) {
  return file.has(key(name)) ? std::optional(file.integer(key(name))) : std::nullopt;
}

std::optional<bool> optional_flag(const GgufFile& file, const char* name) {
  return file.has(key(name)) ? std::optional(file.boolean(key(name))) : std::nullopt;
}

}  // namespace

VocabularyData gguf_vocabulary(const GgufFile& file) {
  VocabularyData data;
  data.model = file.text(key("model"));
  data.pre = file.text(key("pre"), "");
  data.tokens = file.texts(key("tokens"));
  if (file.has(key("scores")))
    for (const double score : file.numbers(key("scores")))
      data.scores.push_back(static_cast<float>(score));
  if (file.has(key("token_type")))
    for (const int64_t type : file.integers(key("token_type")))
      data.types.push_back(static_cast<int32_t>(type));
  if (file.has(key("merges"))) data.merges = file.texts(key("merges"));
  data.bos = optional_id(file, "bos_token_id");
  data.eos = optional_id(file, "eos_token_id");
  data.unk = optional_id(file, "unknown_token_id");
  data.sep = optional_id(file, "seperator_token_id");  // as the format spells it
  data.pad = optional_id(file, "padding_token_id");
  data.cls = optional_id(file, "cls_token_id");
  data.mask = optional_id(file, "mask_token_id");
  data.add_bos = optional_flag(file, "add_bos_token");
  data.add_eos = optional_flag(file, "add_eos_token");
  data.add_space_prefix = optional_flag(file, "add_space_prefix");
  data.remove_extra_spaces = optional_flag(file, "remove_extra_whitespaces");
  if (file.has(key("precompiled_charsmap")))
    for (const int64_t byte : file.integers(key("precompiled_charsmap")))
      data.charsmap.push_back(static_cast<char>(byte));
  data.chat_template = file.text("tokenizer.chat_template", "");
  return data;
}

Tokenizer open_tokenizer(const std::filesystem::path& model, bool target) {
  if (model.extension() != ".gguf") return Tokenizer::open(model, target);
  return Tokenizer::from_vocabulary(gguf_vocabulary(GgufFile(model)), model.string());
}

}  // namespace glassformer
