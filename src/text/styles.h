#pragma once

#include <string>
#include <string_view>

#include "base/json.h"

namespace glassformer {

// The parts of a tokenizer.json that older layouts leave to the code of their model. Each takes the
// vocabulary as an object of tokens and numbers.

struct BertStyle {
  bool lowercase = true;
  bool chinese = true;
  std::optional<bool> strip_accents;
  std::string unk = "[UNK]", sep = "[SEP]", cls = "[CLS]";
};
Json bert_json(Json vocabulary, const BertStyle& style);

enum class ByteBpeStyle { kGpt2, kRoberta, kLlama3, kQwen2 };
Json byte_bpe_json(Json vocabulary, Json merges, ByteBpeStyle style, bool prefix_space);

// A template of special tokens around a text; empty names are left out.
Json template_json(const Json& vocabulary, std::string_view before, std::string_view after);

// A template as TokenizerTraining writes it. `special` has the tokens that it may name. Throws
// ValueError, naming `where`.
struct TemplateText {
  std::string_view single, pair;
};
Json template_json(const Json& special, const TemplateText& text, std::string_view where);

}  // namespace glassformer
