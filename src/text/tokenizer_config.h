#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "text/added_tokens.h"
#include "text/tokenizer_parts.h"

namespace glassformer {

// tokenizer_config.json, with special_tokens_map.json, added_tokens.json and chat_template.jinja
// beside it; a file that is not there says nothing. Throws FileError.
struct TokenizerConfig {
  std::string where;
  Json json = Json::object();
  std::string tokenizer_class;
  // By role: bos_token, eos_token, unk_token, sep_token, pad_token, cls_token, mask_token.
  std::map<std::string, AddedToken> roles;
  std::vector<AddedToken> added;  // in the order of their ids
  std::string chat_template;

  std::string role(const std::string& name, std::string_view otherwise) const {
    const auto found = roles.find(name);
    return found == roles.end() ? std::string(otherwise) : found->second.content;
  }
};

TokenizerConfig read_tokenizer_config(const std::filesystem::path& folder);

// Adds the tokens that are not there yet, and says which play a role. Without a name for a role,
// the usual ones are looked for.
void complete(Tokenizer::Parts& parts, const TokenizerConfig& config);

}  // namespace glassformer
