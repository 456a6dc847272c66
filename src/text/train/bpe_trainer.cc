#include "text/train/bpe_trainer.h"

#include <algorithm>
#include <limits>
#include <map>
#include <unordered_map>

#include "base/check.h"
#include "text/hash.h"
#include "text/utf8.h"

namespace glassformer {
namespace {

uint64_t make_pair_key(uint32_t left, uint32_t right) { return uint64_t{left} << 32 | right; }

// The characters that get a token, sorted.
std::u32string make_alphabet(const WordCounts& words, const TokenizerTraining& training) {
  constexpr int64_t kAlways = std::numeric_limits<int64_t>::max();
  std::unordered_map<char32_t, int64_t> counts;
  for (size_t i = 0; i < words.size(); ++i)
    for (size_t at = 0; at < words.word(i).size();)
      counts[next_character(words.word(i), at)] += words.count(i);
  for (const char32_t c : to_utf32(training.initial_alphabet)) counts[c] = kAlways;
  std::vector<std::pair<char32_t, int64_t>> kept(counts.begin(), counts.end());
  std::sort(kept.begin(), kept.end(), [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  const auto limit = static_cast<size_t>(training.limit_alphabet);
  if (limit > 0 && kept.size() > limit) kept.resize(limit);
  std::u32string alphabet;
  for (const auto& [character, count] : kept) alphabet += character;
  std::sort(alphabet.begin(), alphabet.end());
  return alphabet;
}

class BpeTrainer {
 public:
  BpeTrainer(const WordCounts& words, const TokenizerTraining& training);
  TrainedBpe train(const TrainingProgress& progress);

 private:
  // A run of symbols_, which shrinks as its symbols are joined.
  struct Word {
    size_t begin;
    uint32_t size;
    int64_t count;
  };
  struct Pair {
    int64_t count = 0;
    int64_t merge = -1;           // its last one, of merges_
    std::vector<uint32_t> fresh;  // words in which it has come up since it was last queued
  };
  // A pair to merge in some words. The count may be out of date: it is looked at when it is taken.
  struct Candidate {
    int64_t count;
    uint64_t pair;
    std::vector<uint32_t> words;
    bool operator<(const Candidate& other) const {
      return count != other.count ? count < other.count : pair > other.pair;
    }
  };
  struct PairHash {
    size_t operator()(uint64_t pair) const { return mix(pair, 0x9E3779B97F4A7C15); }
  };

  uint32_t add_token(std::string_view token);
  void spell(const WordCounts& words, const std::string& prefix);
  void count_pair(uint32_t left, uint32_t right, uint32_t word, int64_t count);
  void queue_fresh();
  // The next pair to merge, or false where none occurs often enough.
  bool take(Candidate& best);
  uint32_t join(uint64_t pair);
  void merge(const Candidate& best, uint32_t joined);
  TrainedBpe result() const;

  const TokenizerTraining& training_;
  Vocabulary tokens_;
  std::vector<Word> words_;
  std::vector<uint32_t> symbols_;
  std::unordered_map<uint64_t, Pair, PairHash> pairs_;
  std::vector<std::pair<const uint64_t, Pair>*> touched_;  // those with fresh words
  std::vector<Candidate> queue_;                           // a heap
  std::vector<uint64_t> merges_;
};

BpeTrainer::BpeTrainer(const WordCounts& words, const TokenizerTraining& training)
    : training_(training) {
  for (const std::string& token : training.special_tokens) add_token(token);
  for (const char32_t c : make_alphabet(words, training)) add_token(to_utf8(c));
  spell(words, training.continuing_subword_prefix);
  require<ValueError>(static_cast<int64_t>(tokens_.size()) <= training.vocab_size,
                      "train_tokenizer: vocab_size must be at least {} to hold {} special tokens "
                      "and the alphabet, found {}",
                      tokens_.size(), training.special_tokens.size(), training.vocab_size);
}

uint32_t BpeTrainer::add_token(std::string_view token) {
  if (const auto known = tokens_.find(token)) return *known;
  const auto id = static_cast<uint32_t>(tokens_.size());
  tokens_.add(token, id);
  return id;
}

// Words as tokens of characters. Characters without a token are left out.
void BpeTrainer::spell(const WordCounts& words, const std::string& prefix) {
  std::map<char32_t, uint32_t> continuing;  // sorted: their tokens are numbered in this order
  if (!prefix.empty())
    for (size_t i = 0; i < words.size(); ++i) {
      const std::string_view word = words.word(i);
      for (size_t at = character_size(word[0]); at < word.size();)
        continuing.emplace(next_character(word, at), 0);
    }
  std::erase_if(continuing, [&](const auto& c) { return !tokens_.find(to_utf8(c.first)); });
  for (auto& [character, token] : continuing) token = add_token(prefix + to_utf8(character));
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words.word(i);
    const size_t begin = symbols_.size();
    for (size_t at = 0; at < word.size();) {
      const size_t size = character_size(word[at]);
      auto token = tokens_.find(word.substr(at, size));
      if (token && at > 0 && !prefix.empty()) {
        size_t next = at;
        token = continuing.at(next_character(word, next));
      }
      if (token) symbols_.push_back(*token);
      at += size;
    }
    words_.push_back({begin, static_cast<uint32_t>(symbols_.size() - begin), words.count(i)});
  }
}

void BpeTrainer::count_pair(uint32_t left, uint32_t right, uint32_t word, int64_t count) {
  auto& entry = *pairs_.try_emplace(make_pair_key(left, right)).first;
  Pair& pair = entry.second;
  pair.count += count;
  if (count < 0) return;
  if (pair.fresh.empty()) touched_.push_back(&entry);
  if (pair.fresh.empty() || pair.fresh.back() != word) pair.fresh.push_back(word);
}

void BpeTrainer::queue_fresh() {
  for (auto* entry : touched_) {
    std::vector<uint32_t> fresh = std::exchange(entry->second.fresh, {});
    if (entry->second.count <= 0) continue;
    queue_.push_back({entry->second.count, entry->first, std::move(fresh)});
    std::push_heap(queue_.begin(), queue_.end());
  }
  touched_.clear();
}

bool BpeTrainer::take(Candidate& best) {
  while (!queue_.empty()) {
    std::pop_heap(queue_.begin(), queue_.end());
    const int64_t count = pairs_.at(queue_.back().pair).count;
    if (queue_.back().count == count) {
      best = std::move(queue_.back());
      queue_.pop_back();
      return count >= std::max<int64_t>(1, training_.min_frequency);
    }
    queue_.back().count = count;
    std::push_heap(queue_.begin(), queue_.end());
  }
  return false;
}

uint32_t BpeTrainer::join(uint64_t pair) {
  std::string token(*tokens_.token(static_cast<uint32_t>(pair >> 32)));
  std::string_view right = *tokens_.token(static_cast<uint32_t>(pair));
  const std::string& prefix = training_.continuing_subword_prefix;
  if (right.starts_with(prefix)) right.remove_prefix(prefix.size());
  return add_token(token.append(right));
}

// Joins the pair in its words. As in the package, the count of the pair itself stays.
void BpeTrainer::merge(const Candidate& best, uint32_t joined) {
  const auto left = static_cast<uint32_t>(best.pair >> 32);
  const auto right = static_cast<uint32_t>(best.pair);
  for (const uint32_t index : best.words) {
    Word& word = words_[index];
    uint32_t* symbols = symbols_.data() + word.begin;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < word.size; ++i) {
      if (symbols[i] != left || i + 1 == word.size || symbols[i + 1] != right) {
        symbols[kept++] = symbols[i];
        continue;
      }
      if (kept > 0) {
        count_pair(symbols[kept - 1], left, index, -word.count);
        count_pair(symbols[kept - 1], joined, index, word.count);
      }
      if (i + 2 < word.size) {
        count_pair(right, symbols[i + 2], index, -word.count);
        count_pair(joined, symbols[i + 2], index, word.count);
      }
      symbols[kept++] = joined;
      ++i;
    }
    word.size = kept;
  }
}

TrainedBpe BpeTrainer::train(const TrainingProgress& progress) {
  for (uint32_t i = 0; i < words_.size(); ++i) {
    const uint32_t* symbols = symbols_.data() + words_[i].begin;
    for (uint32_t at = 1; at < words_[i].size; ++at)
      count_pair(symbols[at - 1], symbols[at], i, words_[i].count);
  }
  queue_fresh();
  Candidate best;
  while (static_cast<int64_t>(tokens_.size()) < training_.vocab_size && take(best)) {
    const uint32_t joined = join(best.pair);
    pairs_.at(best.pair).merge = static_cast<int64_t>(merges_.size());
    merges_.push_back(best.pair);
    merge(best, joined);
    queue_fresh();
    if (progress) progress("merges", static_cast<int64_t>(tokens_.size()), training_.vocab_size);
  }
  return result();
}

// A token that two pairs make lets pairs with it come up again, and be merged again: the last merge
// is the one that counts.
TrainedBpe BpeTrainer::result() const {
  TrainedBpe trained;
  tokens_.each([&](std::string_view token, uint32_t) { trained.tokens.emplace_back(token); });
  for (size_t i = 0; i < merges_.size(); ++i)
    if (pairs_.at(merges_[i]).merge == static_cast<int64_t>(i))
      trained.merges.emplace_back(static_cast<uint32_t>(merges_[i] >> 32),
                                  static_cast<uint32_t>(merges_[i]));
  return trained;
}

}  // namespace

TrainedBpe train_bpe(const WordCounts& words, const TokenizerTraining& training,
                     const TrainingProgress& progress) {
  return BpeTrainer(words, training).train(progress);
}

}  // namespace glassformer
