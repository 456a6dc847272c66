#include "text/tokenizer_config.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "base/mapped_file.h"

namespace glassformer {
namespace {

struct Role {
  const char* name;
  std::optional<int64_t> SpecialIds::*id;
  std::array<const char*, 3> usual;
};
constexpr std::array kRoles = {
    Role{"bos_token", &SpecialIds::bos, {"<s>", "<bos>", "<|begin_of_text|>"}},
    Role{"eos_token", &SpecialIds::eos, {"</s>", "<eos>", "<|endoftext|>"}},
    Role{"unk_token", &SpecialIds::unk, {"<unk>", "[UNK]", "<|unk|>"}},
    Role{"sep_token", &SpecialIds::sep, {"[SEP]", "<sep>", "</s>"}},
    Role{"pad_token", &SpecialIds::pad, {"<pad>", "[PAD]", "<|pad|>"}},
    Role{"cls_token", &SpecialIds::cls, {"[CLS]", "<cls>", "<s>"}},
    Role{"mask_token", &SpecialIds::mask, {"[MASK]", "<mask>", "<|mask|>"}},
};

// A token as text, or as an object with its flags.
AddedToken read_token(const Json& value, const std::string& where) {
  if (value.is_string())
    return {.content = value.get<std::string>(), .normalized = false, .special = true};
  AddedToken token = read_added_tokens(Json::array({value}), where)[0];
  token.special = true;
  token.normalized = JsonFields(value, where).boolean("normalized", false);
  return token;
}

void read_roles(const Json& json, const std::string& where, TokenizerConfig& config) {
  const JsonFields fields(json, where);
  for (const Role& role : kRoles)
    if (const Json* value = fields.find(role.name))
      config.roles.try_emplace(role.name,
                               read_token(*value, fmt::format("{}: {}", where, role.name)));
}

std::string read_text(const std::filesystem::path& path) {
  const MappedFile file(path);
  return {reinterpret_cast<const char*>(file.data()), file.bytes()};
}

// A template, or a list of named ones, of which "default" counts.
std::string read_chat_template(const JsonFields& fields) {
  const Json* value = fields.find("chat_template");
  if (value == nullptr) return {};
  if (value->is_string()) return value->get<std::string>();
  if (!value->is_array()) fields.fail("chat_template", "a template or a list of templates");
  for (const Json& one : *value) {
    const JsonFields named(one, fields.where() + ": chat_template");
    if (named.text("name") == "default") return named.text("template");
  }
  return {};
}

}  // namespace

TokenizerConfig read_tokenizer_config(const std::filesystem::path& folder) {
  TokenizerConfig config;
  const std::filesystem::path file = folder / "tokenizer_config.json";
  config.where = file.string();
  if (std::filesystem::exists(file)) {
    config.json = read_json(file);
    const JsonFields fields(config.json, config.where);
    config.tokenizer_class = fields.text("tokenizer_class", "");
    if (config.tokenizer_class.ends_with("Fast"))
      config.tokenizer_class.resize(config.tokenizer_class.size() - 4);
    read_roles(config.json, config.where, config);
    config.chat_template = read_chat_template(fields);
    if (fields.has("added_tokens_decoder")) {
      std::map<int64_t, AddedToken> by_id;
      const JsonFields decoder = fields.object("added_tokens_decoder");
      for (const auto& [id, token] : decoder.json().items()) {
        require<FileError>(
            !id.empty() && id.size() < 10 && id.find_first_not_of("0123456789") == id.npos,
            "{}: a token's number must be a whole number, found '{}'", decoder.where(), id);
        by_id[std::stoll(id)] = read_added_tokens(Json::array({token}), decoder.where())[0];
      }
      for (auto& [id, token] : by_id) config.added.push_back(std::move(token));
    }
  }
  if (const auto map = folder / "special_tokens_map.json"; std::filesystem::exists(map))
    read_roles(read_json(map), map.string(), config);
  if (const auto jinja = folder / "chat_template.jinja"; std::filesystem::exists(jinja))
    config.chat_template = read_text(jinja);
  return config;
}

void complete(Tokenizer::Parts& parts, const TokenizerConfig& config) {
  const Vocabulary& model = parts.model->vocabulary();
  std::vector<AddedToken> missing;
  for (const AddedToken& token : config.added)
    if (!parts.added.find(token.content)) missing.push_back(token);
  for (const auto& role : config.roles) {
    const AddedToken& token = role.second;
    const bool listed = std::any_of(missing.begin(), missing.end(), [&](const AddedToken& one) {
      return one.content == token.content;
    });
    if (!listed && !parts.added.find(token.content)) missing.push_back(token);
  }
  if (!missing.empty()) parts.added.add(missing, model, parts.normalizer.get());
  const auto find = [&](std::string_view token) -> std::optional<int64_t> {
    if (const auto id = parts.added.find(token)) return *id;
    if (const auto id = model.find(token)) return *id;
    return std::nullopt;
  };
  for (const Role& role : kRoles) {
    auto& id = parts.special.*role.id;
    if (const auto named = config.roles.find(role.name); named != config.roles.end()) {
      id = find(named->second.content);
      continue;
    }
    if (!config.roles.empty()) continue;
    for (const char* usual : role.usual)
      if (!id) id = find(usual);
  }
  parts.chat_template = config.chat_template;
  for (const auto& [role, token] : config.roles) parts.role_tokens[role] = token.content;
}

}  // namespace glassformer
