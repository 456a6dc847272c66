#include "text/bpe_merges.h"

#include <algorithm>
#include <map>
#include <random>

#include <gtest/gtest.h>

namespace glassformer {
namespace {

using Ids = std::vector<uint32_t>;
struct Rule {
  uint32_t left, right, result;
};

// The definition, for few symbols: looks for the best pair among all of them, again and again.
Ids by_definition(Ids ids, const std::vector<Rule>& rules) {
  for (;;) {
    size_t best = rules.size(), place = 0;
    for (size_t i = 0; i + 1 < ids.size(); ++i)
      for (size_t rank = 0; rank < best; ++rank)
        if (rules[rank].left == ids[i] && rules[rank].right == ids[i + 1]) best = rank, place = i;
    if (best == rules.size()) return ids;
    ids[place] = rules[best].result;
    ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(place) + 1);
  }
}

// The definition, for many: a rule at a time over all symbols, from the left. Right where the
// rules that use a result come after the one that makes it.
Ids rule_by_rule(Ids ids, const std::vector<Rule>& rules) {
  for (const Rule& rule : rules) {
    size_t out = 0;
    for (size_t i = 0; i < ids.size(); ++i, ++out) {
      const bool fits = i + 1 < ids.size() && ids[i] == rule.left && ids[i + 1] == rule.right;
      ids[out] = fits ? rule.result : ids[i];
      i += fits ? 1 : 0;
    }
    ids.resize(out);
  }
  return ids;
}

// Rules over `letters` letters, each of two tokens that are there already, in a random order where
// `shuffled`.
std::vector<Rule> random_rules(std::mt19937& random, uint32_t letters, uint32_t count,
                               bool shuffled) {
  std::vector<Rule> rules;
  std::map<std::pair<uint32_t, uint32_t>, bool> known;
  while (rules.size() < count) {
    const auto tokens = letters + static_cast<uint32_t>(rules.size());
    const uint32_t left = static_cast<uint32_t>(random()) % tokens;
    const uint32_t right = static_cast<uint32_t>(random()) % tokens;
    if (known.emplace(std::pair(left, right), true).second) rules.push_back({left, right, tokens});
  }
  if (shuffled) std::shuffle(rules.begin(), rules.end(), random);
  return rules;
}

Ids apply(Ids ids, const std::vector<Rule>& rules) {
  BpeMerges merges(rules.size());
  for (size_t rank = 0; rank < rules.size(); ++rank)
    merges.add(rules[rank].left, rules[rank].right, static_cast<uint32_t>(rank),
               rules[rank].result);
  const size_t count = ids.size();
  Ids sizes(count, 1);
  BpeMerges::Scratch scratch;
  merges.apply(ids, sizes, scratch);
  size_t sum = 0;
  for (const uint32_t size : sizes) sum += size;
  EXPECT_EQ(sizes.size(), ids.size());
  EXPECT_EQ(sum, count);
  return ids;
}

Ids random_ids(std::mt19937& random, uint32_t letters, size_t count) {
  Ids ids(count);
  for (uint32_t& id : ids) id = static_cast<uint32_t>(random()) % letters;
  return ids;
}

TEST(BpeMerges, FollowTheDefinitionForAnyOrderOfRules) {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    const uint32_t letters = 1 + static_cast<uint32_t>(random()) % 4;
    const auto rules =
        random_rules(random, letters, std::min(letters * letters, 12U), round % 2 == 0);
    const Ids ids = random_ids(random, letters, static_cast<uint32_t>(random()) % 150);
    EXPECT_EQ(apply(ids, rules), by_definition(ids, rules));
  }
}

TEST(BpeMerges, LongRowsAreMergedAsIfAtOnce) {
  std::mt19937 random(2);
  for (int round = 0; round < 12; ++round) {
    const uint32_t letters = 2 + static_cast<uint32_t>(round) % 5;
    const auto rules = random_rules(random, letters, 60, false);
    const Ids ids = random_ids(random, letters, 50000 + static_cast<uint32_t>(random()) % 50000);
    EXPECT_EQ(apply(ids, rules), rule_by_rule(ids, rules));
  }
}

// Which of the equal letters belong together depends on how many there are, from end to end.
TEST(BpeMerges, RowsOfOneLetterDependOnTheirWholeLength) {
  const std::vector<Rule> rules = {{0, 0, 1}, {1, 0, 2}, {2, 2, 3}};
  for (const size_t count : {size_t{100001}, size_t{99999}, size_t{65536}, size_t{65537}}) {
    Ids ids(count, 0);
    EXPECT_EQ(apply(ids, rules), rule_by_rule(ids, rules)) << count;
    ids.insert(ids.begin(), 9);
    EXPECT_EQ(apply(ids, rules), rule_by_rule(ids, rules)) << count;
  }
}

}  // namespace
}  // namespace glassformer
