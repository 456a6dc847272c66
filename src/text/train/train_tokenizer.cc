#include "glassformer/text/train_tokenizer.h"

#include <limits>
#include <unordered_set>

#include "base/check.h"
#include "text/byte_alphabet.h"
#include "text/styles.h"
#include "text/train/bpe_trainer.h"
#include "text/train/pipeline.h"
#include "text/train/unigram_trainer.h"
#include "text/utf8.h"

namespace glassformer {
namespace {

using OrderedJson = nlohmann::ordered_json;
using Kind = TokenizerTraining::Kind;

// Substrings are compared as far as a piece goes: a text of one letter takes the square of it.
constexpr int64_t kLongestPiece = 1000;

void check_at_least(const char* name, int64_t value, int64_t least) {
  require<ValueError>(value >= least, "train_tokenizer: {} must be at least {}, found {}", name,
                      least, value);
}

void check_utf8(const char* name, std::string_view text) {
  require<ValueError>(valid_utf8(text) == text.size(), "train_tokenizer: {} must be UTF-8", name);
}

void check_special_tokens(const TokenizerTraining& training) {
  std::unordered_set<std::string_view> seen;
  for (const std::string& token : training.special_tokens) {
    check_utf8("special_tokens", token);
    require<ValueError>(!token.empty(), "train_tokenizer: special_tokens must not be empty");
    require<ValueError>(seen.insert(token).second,
                        "train_tokenizer: special_tokens must differ, found '{}' twice", token);
  }
  const std::string& unknown = training.unknown_token;
  require<ValueError>(unknown.empty() || seen.contains(unknown),
                      "train_tokenizer: unknown_token must be one of special_tokens, found '{}'",
                      unknown);
  require<ValueError>(training.kind != Kind::kWordPiece || !unknown.empty(),
                      "train_tokenizer: WordPiece needs an unknown_token");
}

void check(const TokenizerTraining& training) {
  check_at_least("vocab_size", training.vocab_size, 1);
  require<ValueError>(training.vocab_size <= std::numeric_limits<int32_t>::max(),
                      "train_tokenizer: vocab_size must be below 2^31, found {}",
                      training.vocab_size);
  check_at_least("min_frequency", training.min_frequency, 0);
  check_at_least("limit_alphabet", training.limit_alphabet, 0);
  check_at_least("max_piece_length", training.max_piece_length, 1);
  require<ValueError>(training.max_piece_length <= kLongestPiece,
                      "train_tokenizer: max_piece_length must be at most {}, found {}",
                      kLongestPiece, training.max_piece_length);
  check_at_least("n_sub_iterations", training.n_sub_iterations, 1);
  require<ValueError>(training.shrinking_factor > 0 && training.shrinking_factor < 1,
                      "train_tokenizer: shrinking_factor must be between 0 and 1, found {}",
                      training.shrinking_factor);
  check_utf8("initial_alphabet", training.initial_alphabet);
  check_utf8("continuing_subword_prefix", training.continuing_subword_prefix);
  check_special_tokens(training);
  require<ValueError>(training.pair.empty() || !training.single.empty(),
                      "train_tokenizer: a template for a pair needs one for a single text");
}

// What the kind decides is filled in, and what is not for it is taken out.
TokenizerTraining resolve(TokenizerTraining training) {
  if (training.kind == Kind::kByteLevelBpe) {
    training.initial_alphabet.clear();
    for (int byte = 0; byte < 256; ++byte)
      append_utf8(training.initial_alphabet, byte_to_character(static_cast<unsigned char>(byte)));
  }
  if (training.kind != Kind::kWordPiece) training.continuing_subword_prefix.clear();
  return training;
}

WordCounts read_words(std::span<const std::string> texts, const TokenizerPipeline& pipeline,
                      bool bytes, const TrainingProgress& progress) {
  const Json normalizer_json(pipeline.normalizer), pre_tokenizer_json(pipeline.pre_tokenizer);
  std::unique_ptr<Normalizer> normalizer;
  if (!normalizer_json.is_null())
    normalizer = make_normalizer(JsonFields(normalizer_json, "normalizer"));
  const auto pre_tokenizer =
      make_pre_tokenizer(JsonFields(pre_tokenizer_json, "pre_tokenizer"), bytes);
  WordCounts words = count_words(texts, normalizer.get(), *pre_tokenizer, progress);
  require<ValueError>(words.size() > 0,
                      "train_tokenizer: texts must have a word, found none in {} texts",
                      texts.size());
  if (!bytes) return words;
  // Words were counted as bytes, which is faster; each is spelled once.
  WordCounts spelled;
  for (size_t i = 0; i < words.size(); ++i) spelled.add(from_bytes(words.word(i)), words.count(i));
  return spelled;
}

// An object is a list of pairs that is searched at every insertion; tokens differ, so that there is
// nothing to find.
OrderedJson vocabulary_json(const std::vector<std::string>& tokens) {
  OrderedJson json = OrderedJson::object();
  auto& object = json.get_ref<OrderedJson::object_t&>();
  object.reserve(tokens.size());
  for (size_t i = 0; i < tokens.size(); ++i) object.emplace_back(tokens[i], i);
  return json;
}

OrderedJson bpe_json(const TokenizerTraining& training, const TrainedBpe& trained) {
  OrderedJson unknown;
  if (!training.unknown_token.empty()) unknown = training.unknown_token;
  OrderedJson merges = OrderedJson::array();
  for (const auto& [left, right] : trained.merges)
    merges.push_back({trained.tokens[left], trained.tokens[right]});
  return {{"type", "BPE"},
          {"dropout", nullptr},
          {"unk_token", std::move(unknown)},
          {"continuing_subword_prefix", nullptr},
          {"end_of_word_suffix", nullptr},
          {"fuse_unk", false},
          {"byte_fallback", false},
          {"ignore_merges", false},
          {"vocab", vocabulary_json(trained.tokens)},
          {"merges", std::move(merges)}};
}

OrderedJson word_piece_json(const TokenizerTraining& training, const TrainedBpe& trained) {
  return {{"type", "WordPiece"},
          {"unk_token", training.unknown_token},
          {"continuing_subword_prefix", training.continuing_subword_prefix},
          {"max_input_chars_per_word", 100},
          {"vocab", vocabulary_json(trained.tokens)}};
}

OrderedJson unigram_json(const TokenizerTraining& training,
                         const std::vector<UnigramPiece>& pieces) {
  OrderedJson vocabulary = OrderedJson::array();
  OrderedJson unknown;
  for (const std::string& token : training.special_tokens) {
    if (token == training.unknown_token) unknown = vocabulary.size();
    vocabulary.push_back({token, 0.0});
  }
  for (const UnigramPiece& piece : pieces) vocabulary.push_back({piece.text, piece.score});
  return {{"type", "Unigram"},
          {"unk_id", std::move(unknown)},
          {"vocab", std::move(vocabulary)},
          {"byte_fallback", false}};
}

OrderedJson train_model(const WordCounts& words, const TokenizerTraining& training,
                        const TrainingProgress& progress) {
  if (training.kind == Kind::kUnigram)
    return unigram_json(training, train_unigram(words, training, progress));
  const TrainedBpe trained = train_bpe(words, training, progress);
  return training.kind == Kind::kWordPiece ? word_piece_json(training, trained)
                                           : bpe_json(training, trained);
}

}  // namespace

std::string train_tokenizer(std::span<const std::string> texts, const TokenizerTraining& training,
                            const TrainingProgress& progress) {
  check(training);
  const TokenizerTraining resolved = resolve(training);
  OrderedJson added = OrderedJson::array();
  Json special = Json::object();
  for (const std::string& token : resolved.special_tokens) {
    added.push_back({{"id", added.size()},
                     {"content", token},
                     {"single_word", false},
                     {"lstrip", false},
                     {"rstrip", false},
                     {"normalized", false},
                     {"special", true}});
    special[token] = special.size();
  }
  Json post_processor;
  if (!resolved.single.empty())
    post_processor = template_json(special, {resolved.single, resolved.pair}, "train_tokenizer");

  const TokenizerPipeline pipeline = make_pipeline(resolved);
  const WordCounts words =
      read_words(texts, pipeline, resolved.kind == Kind::kByteLevelBpe, progress);
  const OrderedJson json = {{"version", "1.0"},
                            {"truncation", nullptr},
                            {"padding", nullptr},
                            {"added_tokens", std::move(added)},
                            {"normalizer", pipeline.normalizer},
                            {"pre_tokenizer", pipeline.pre_tokenizer},
                            {"post_processor", OrderedJson(post_processor)},
                            {"decoder", pipeline.decoder},
                            {"model", train_model(words, resolved, progress)}};
  return json.dump(2);
}

}  // namespace glassformer
