#include "text/train/pipeline.h"

namespace glassformer {
namespace {

using OrderedJson = nlohmann::ordered_json;

OrderedJson step(const char* type) { return {{"type", type}}; }

OrderedJson byte_level(bool prefix_space) {
  return {{"type", "ByteLevel"},
          {"add_prefix_space", prefix_space},
          {"trim_offsets", true},
          {"use_regex", true}};
}

OrderedJson metaspace() {
  return {
      {"type", "Metaspace"}, {"replacement", "▁"}, {"prepend_scheme", "always"}, {"split", true}};
}

// Null for no step, the step itself for one.
OrderedJson normalizers(std::vector<OrderedJson> steps) {
  if (steps.empty()) return nullptr;
  if (steps.size() == 1) return steps[0];
  return {{"type", "Sequence"}, {"normalizers", std::move(steps)}};
}

}  // namespace

TokenizerPipeline make_pipeline(const TokenizerTraining& training) {
  using Kind = TokenizerTraining::Kind;
  if (training.kind == Kind::kWordPiece)
    return {.normalizer = {{"type", "BertNormalizer"},
                           {"clean_text", true},
                           {"handle_chinese_chars", true},
                           {"strip_accents", nullptr},
                           {"lowercase", training.lowercase}},
            .pre_tokenizer = step("BertPreTokenizer"),
            .decoder = {{"type", "WordPiece"},
                        {"prefix", training.continuing_subword_prefix},
                        {"cleanup", true}}};
  std::vector<OrderedJson> steps;
  if (training.kind == Kind::kUnigram) steps.push_back(step("Nmt"));
  if (training.kind != Kind::kByteLevelBpe) steps.push_back(step("NFKC"));
  if (training.kind == Kind::kUnigram)
    steps.push_back({{"type", "Replace"}, {"pattern", {{"Regex", " {2,}"}}}, {"content", " "}});
  if (training.lowercase) steps.push_back(step("Lowercase"));
  const bool bytes = training.kind == Kind::kByteLevelBpe;
  // The package's decoder of bytes is written with a prefix space, which it does not look at.
  return {.normalizer = normalizers(std::move(steps)),
          .pre_tokenizer = bytes ? byte_level(false) : metaspace(),
          .decoder = bytes ? byte_level(true) : metaspace()};
}

}  // namespace glassformer
