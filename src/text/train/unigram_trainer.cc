#include "text/train/unigram_trainer.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "base/check.h"
#include "base/parallel.h"
#include "text/train/lattice.h"

namespace glassformer {
namespace {

constexpr size_t kMostSeeds = 1'000'000;
constexpr double kUnknownPenalty = 10;
constexpr double kLeastExpected = 0.5;
constexpr size_t kChunks = 8;  // of words, each with sums of its own: the same for all threads

// d/dx log(gamma(x)), by its recurrence up to 7 and its asymptotic series about x - 1/2 from there.
double digamma(double x) {
  double result = 0;
  for (; x < 7; ++x) result -= 1 / x;
  x -= 0.5;
  const double square = 1 / (x * x);
  const double fourth = square * square;
  return result + std::log(x) + square / 24 - fourth * 7 / 960 + fourth * square * 31 / 8064 -
         fourth * fourth * 127 / 30720;
}

class UnigramTrainer {
 public:
  UnigramTrainer(const WordCounts& words, const TokenizerTraining& training);
  std::vector<UnigramPiece> train(const TrainingProgress& progress);

 private:
  using Add = FunctionRef<void(size_t word, Lattice&, std::vector<double>& sums)>;

  // One sum a piece: add() on every word, chunks in parallel, put together in order.
  std::vector<double> sum_over_words(Add add) const;
  void maximize(const std::vector<double>& expected);
  void prune();
  // For each of live_: the pieces of its best cut without itself; none where there is no other, or
  // where the piece does not pay even in its own text (`useless`).
  std::vector<std::vector<uint32_t>> alternatives(std::vector<char>& useless) const;
  void drop_all_but(std::vector<uint32_t> live);
  std::vector<UnigramPiece> finish() const;

  const WordCounts& words_;
  const TokenizerTraining& training_;
  std::set<std::string> required_;  // characters; in UTF-8 they sort as code points do
  std::vector<std::string> texts_;  // of all seeds; that of kUnknown is empty
  PieceScores pieces_;
  std::vector<uint32_t> live_;  // those that are left, kUnknown first
};

UnigramTrainer::UnigramTrainer(const WordCounts& words, const TokenizerTraining& training)
    : words_(words), training_(training) {
  const auto add_characters = [&](std::string_view text) {
    for (size_t at = 0; at < text.size(); at += character_size(text[at]))
      required_.emplace(text.substr(at, character_size(text[at])));
  };
  for (size_t i = 0; i < words.size(); ++i) add_characters(words.word(i));
  add_characters(training.initial_alphabet);
  for (const std::string& token : training.special_tokens) required_.erase(token);
  const size_t least = required_.size() + training.special_tokens.size();
  require<ValueError>(static_cast<int64_t>(least) <= training.vocab_size,
                      "train_tokenizer: vocab_size must be at least {} to hold {} special tokens "
                      "and the alphabet, found {}",
                      least, training.special_tokens.size(), training.vocab_size);

  auto seeds = seed_pieces(words, static_cast<size_t>(training.max_piece_length), kMostSeeds);
  texts_.emplace_back();
  pieces_.scores.push_back(0);
  for (UnigramPiece& seed : seeds) {
    texts_.push_back(std::move(seed.text));
    pieces_.scores.push_back(seed.score);
  }
  std::vector<Trie::Key> keys;
  std::vector<uint32_t> live;
  for (uint32_t i = 0; i < texts_.size(); ++i) {
    keys.push_back({texts_[i], i});
    live.push_back(i);
  }
  pieces_.trie = Trie(std::move(keys));
  drop_all_but(std::move(live));
}

void UnigramTrainer::drop_all_but(std::vector<uint32_t> live) {
  std::vector<double> scores(texts_.size(), PieceScores::kDropped);
  double lowest = std::numeric_limits<double>::infinity();
  for (size_t i = 1; i < live.size(); ++i) {
    scores[live[i]] = pieces_.scores[live[i]];
    lowest = std::min(lowest, scores[live[i]]);
  }
  scores[PieceScores::kUnknown] = lowest - kUnknownPenalty;
  pieces_.scores = std::move(scores);
  live_ = std::move(live);
}

std::vector<double> UnigramTrainer::sum_over_words(Add add) const {
  std::vector<std::vector<double>> sums(kChunks);
  const size_t size = (words_.size() + kChunks - 1) / kChunks;
  parallel_tasks(kChunks, [&](int64_t chunk) {
    std::vector<double>& own = sums[static_cast<size_t>(chunk)];
    own.resize(texts_.size());
    Lattice lattice;
    const size_t begin = static_cast<size_t>(chunk) * size;
    for (size_t i = begin; i < std::min(begin + size, words_.size()); ++i) {
      lattice.build(words_.word(i), pieces_);
      add(i, lattice, own);
    }
  });
  for (size_t chunk = 1; chunk < kChunks; ++chunk)
    for (const uint32_t piece : live_) sums[0][piece] += sums[chunk][piece];
  return std::move(sums[0]);
}

void UnigramTrainer::maximize(const std::vector<double>& expected) {
  std::vector<uint32_t> live = {PieceScores::kUnknown};
  double sum = 0;
  for (size_t i = 1; i < live_.size(); ++i) {
    const double count = expected[live_[i]];
    if (count < kLeastExpected) continue;
    live.push_back(live_[i]);
    sum += count;
  }
  require<ValueError>(live.size() > 1,
                      "train_tokenizer: the texts are too short to train Unigram: no piece of {} "
                      "is likely to occur",
                      live_.size() - 1);
  const double total = digamma(sum);
  for (size_t i = 1; i < live.size(); ++i)
    pieces_.scores[live[i]] = digamma(expected[live[i]]) - total;
  drop_all_but(std::move(live));
}

std::vector<std::vector<uint32_t>> UnigramTrainer::alternatives(std::vector<char>& useless) const {
  std::vector<std::vector<uint32_t>> others(live_.size());
  useless.assign(live_.size(), 0);
  parallel_ranges(static_cast<int64_t>(live_.size()), 1024, [&](int64_t begin, int64_t end) {
    Lattice lattice;
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
      const uint32_t piece = live_[i];
      const std::string& text = texts_[piece];
      if (text.empty() || text.size() == character_size(text[0])) continue;
      lattice.build(text, pieces_, piece);
      useless[i] = lattice.find_best() >= pieces_.scores[piece];
      if (!useless[i]) others[i] = lattice.path();
    }
  });
  return others;
}

// The loss of a piece is estimated: each time the best cut of a word uses it, its alternative takes
// its place.
void UnigramTrainer::prune() {
  std::vector<char> useless;
  const auto others = alternatives(useless);
  const std::vector<double> used =
      sum_over_words([&](size_t word, Lattice& lattice, std::vector<double>& sums) {
        lattice.find_best();
        for (const uint32_t piece : lattice.path())
          sums[piece] += static_cast<double>(words_.count(word));
      });
  double sum = 0, words = 0;
  for (const uint32_t piece : live_) sum += used[piece];
  for (size_t i = 0; i < words_.size(); ++i) words += static_cast<double>(words_.count(i));

  std::vector<uint32_t> live = {PieceScores::kUnknown};
  std::vector<std::pair<double, uint32_t>> losses;
  for (size_t i = 1; i < live_.size(); ++i) {
    const double count = used[live_[i]];
    if (count == 0 && (useless[i] || !others[i].empty())) continue;
    if (others[i].empty()) {
      live.push_back(live_[i]);
      continue;
    }
    // For each use of the piece the sum grows by the number of its parts less one. The package
    // takes the number of all pieces there, which favours frequent ones; so do we, to prune as it
    // does.
    const double changed_sum = std::log(sum + count * static_cast<double>(live_.size() - 1));
    double changed = 0;
    for (size_t k = others[i].size(); k-- > 0;)
      changed += std::log(used[others[i][k]] + count) - changed_sum;
    losses.emplace_back(count / words * (std::log(count) - std::log(sum) - changed), live_[i]);
  }
  std::stable_sort(losses.begin(), losses.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  const auto kept =
      static_cast<size_t>(static_cast<double>(live_.size()) * training_.shrinking_factor);
  const size_t size = std::max(static_cast<size_t>(training_.vocab_size * 11 / 10), kept);
  for (const auto& [loss, piece] : losses) {
    if (live.size() >= size) break;
    live.push_back(piece);
  }
  drop_all_but(std::move(live));
}

std::vector<UnigramPiece> UnigramTrainer::train(const TrainingProgress& progress) {
  const auto enough = static_cast<size_t>(training_.vocab_size * 11 / 10);
  const size_t seeds = std::max(live_.size(), enough);
  for (;;) {
    for (int64_t i = 0; i < training_.n_sub_iterations; ++i)
      maximize(sum_over_words([&](size_t word, Lattice& lattice, std::vector<double>& sums) {
        lattice.add_expected(static_cast<double>(words_.count(word)), sums);
      }));
    const size_t before = live_.size();
    if (progress)
      progress("pieces", static_cast<int64_t>(seeds - std::max(before, enough)),
               static_cast<int64_t>(seeds - enough));
    if (before <= enough) break;
    prune();
    if (live_.size() == before) break;
  }
  return finish();
}

std::vector<UnigramPiece> UnigramTrainer::finish() const {
  constexpr double kStep = 0.0001;  // keeps apart the scores of characters that are put back
  const size_t size = static_cast<size_t>(training_.vocab_size) - training_.special_tokens.size();
  std::unordered_map<std::string_view, double> scores;
  double lowest = std::numeric_limits<double>::infinity();
  for (size_t i = 1; i < live_.size(); ++i) {
    const double score = pieces_.scores[live_[i]];
    scores.emplace(texts_[live_[i]], score);
    lowest = std::min(lowest, score);
  }
  std::vector<UnigramPiece> pieces;
  for (const std::string& character : required_) {
    const auto found = scores.find(character);
    pieces.push_back({character, found != scores.end() ? found->second : lowest});
    if (found == scores.end()) lowest += kStep;
  }
  const std::unordered_set<std::string_view> special(training_.special_tokens.begin(),
                                                     training_.special_tokens.end());
  for (size_t i = 1; i < live_.size() && pieces.size() < size; ++i) {
    const std::string& text = texts_[live_[i]];
    if (!required_.contains(text) && !special.contains(text))
      pieces.push_back({text, pieces_.scores[live_[i]]});
  }
  std::stable_sort(pieces.begin(), pieces.end(),
                   [](const UnigramPiece& a, const UnigramPiece& b) { return a.score > b.score; });
  return pieces;
}

}  // namespace

std::vector<UnigramPiece> train_unigram(const WordCounts& words, const TokenizerTraining& training,
                                        const TrainingProgress& progress) {
  return UnigramTrainer(words, training).train(progress);
}

}  // namespace glassformer
