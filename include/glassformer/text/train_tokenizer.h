#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace glassformer {

// A tokenizer to learn from text. Names and rules are those of the trainers of Hugging Face's
// `tokenizers`; the steps around the model are those that its own tokenizers of the kind have.
struct TokenizerTraining {
  enum class Kind {
    kByteLevelBpe,  // GPT-2: bytes, cut by its pattern; every text has tokens
    kBpe,           // characters of words that begin with ▁ (U+2581), after NFKC
    kWordPiece,     // BERT: its normalizer and words, pieces after the first begin with ##
    kUnigram,       // T5: words that begin with ▁, after NFKC; the pieces of the likeliest model
  };
  Kind kind = Kind::kByteLevelBpe;
  int64_t vocab_size = 30000;  // at most so many tokens, special ones included
  bool lowercase = false;      // with kWordPiece also without accents, as BERT does

  // These get the first ids, in order. Where one stands in `texts`, it is text like any other.
  std::vector<std::string> special_tokens;
  // The token of what has none: one of special_tokens, or nothing. kWordPiece needs one; without
  // one a text with a character that was never seen cannot be encoded by kBpe and kUnigram.
  std::string unknown_token;
  // What encoding puts around a text, and around a pair: "$A </s>", "[CLS] $A [SEP] $B:1 [SEP]:1".
  // Special tokens, $A and $B, with blanks between; :1 is a type id. Empty: nothing. Where only
  // `single` is there, a pair is two of it, the second with type id 1.
  std::string single;
  std::string pair;

  std::string initial_alphabet;  // characters to have whether seen or not; kByteLevelBpe has all
                                 // bytes

  // kByteLevelBpe, kBpe and kWordPiece.
  int64_t min_frequency = 0;   // a pair that occurs less often is not merged
  int64_t limit_alphabet = 0;  // the most frequent characters to keep; 0 keeps all
  std::string continuing_subword_prefix = "##";  // kWordPiece

  // kUnigram.
  int64_t max_piece_length = 16;   // in characters, at most 1000
  double shrinking_factor = 0.75;  // of the pieces, those that a round of pruning keeps
  int64_t n_sub_iterations = 2;    // of expectation and maximisation between two prunings
};

// Hears what has been done of the `total` of a stage, on the calling thread. What it throws ends
// the training.
using TrainingProgress = std::function<void(std::string_view stage, int64_t done, int64_t total)>;

// The text of a tokenizer.json, for Tokenizer::from_json() and for any other reader of the format.
//
// The result depends on the words of the texts and how often each occurs, and is the same for any
// number of threads. It equals the package's wherever the package's own is the same on every run.
// It is not (it walks hash tables) in four places, where we go by the character, lowest first:
// which of the characters of equal count limit_alphabet keeps; the ids of WordPiece's continuing
// characters, and with them which of two pairs of equal count is merged first; the scores of
// characters that Unigram had dropped and needs back; and the order of those of equal score.
//
// What is no UTF-8 is read as U+FFFD. Throws ValueError for options outside their domain, for
// special tokens that are empty or there twice, for a template or an unknown token that names none
// of them, for texts without a word, and where vocab_size cannot hold special tokens and alphabet.
std::string train_tokenizer(std::span<const std::string> texts, const TokenizerTraining& training,
                            const TrainingProgress& progress = {});

}  // namespace glassformer
