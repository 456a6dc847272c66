#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace glassformer {

// Both lists are as long as each other; where a target is kIgnoredTarget nothing is counted, and
// what would be 0 / 0 is 0. Throws ShapeError for lists that differ.

// The share of predictions that are right.
double accuracy(std::span<const int64_t> predictions, std::span<const int64_t> targets);

struct ClassScores {
  double precision = 0, recall = 0, f1 = 0;
};

// kBinary: of class 1. kMacro: the mean over the classes that occur. kMicro: over all decisions.
enum class Average : uint8_t { kBinary, kMacro, kMicro };
ClassScores class_scores(std::span<const int64_t> predictions, std::span<const int64_t> targets,
                         Average average);

// e to the mean loss of a token.
double perplexity(double loss);

// BLEU (Papineni et al., 2002) and chrF (Popović, 2015, 2017) over whole corpora, as sacreBLEU
// 2.6.0 computes them; the signature is its own. references[r][i] is reference r of sentence i.
// What is no UTF-8 is read as U+FFFD. Throws ValueError where there are no sentences or references,
// or not as many of the one as of the other.
using References = std::span<const std::vector<std::string>>;

struct BleuOptions {
  enum class Tokenizer : uint8_t { k13a, kIntl, kNone, kChar };
  enum class Smoothing : uint8_t { kExp, kFloor, kAddK, kNone };
  Tokenizer tokenizer = Tokenizer::k13a;
  bool lowercase = false;
  Smoothing smoothing = Smoothing::kExp;
  std::optional<double> smoothing_value = {};  // of kFloor (0.1) and kAddK (1)
  bool effective_order = false;                // for single sentences
};

struct BleuScore {
  static constexpr size_t kOrder = 4;
  double score = 0;  // 0 to 100, as are the precisions of 1 to 4 words
  std::array<double, kOrder> precisions{};
  std::array<int64_t, kOrder> counts{}, totals{};
  double brevity_penalty = 1;
  int64_t length = 0, reference_length = 0;
  std::string signature = {};
};

BleuScore bleu(std::span<const std::string> hypotheses, References references,
               const BleuOptions& options = {});

struct ChrfOptions {
  int char_order = 6;
  int word_order = 0;  // 2 is chrF++
  int beta = 2;
  bool lowercase = false;
  bool whitespace = false;  // counts as characters too
  bool epsilon = false;     // smoothing by a small number, in place of effective orders
};

struct ChrfScore {
  double score = 0;       // 0 to 100
  std::string name = {};  // "chrF2", "chrF2++"
  std::string signature = {};
};

ChrfScore chrf(std::span<const std::string> hypotheses, References references,
               const ChrfOptions& options = {});

}  // namespace glassformer
