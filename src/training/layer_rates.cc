#include "training/layer_rates.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <string_view>

namespace glassformer {
namespace {

struct Block {
  std::string_view stack;
  int64_t index = 0;
};

std::optional<Block> block_of(std::string_view name) {
  for (size_t begin = 0; begin < name.size();) {
    const size_t end = std::min(name.find('.', begin), name.size());
    int64_t index = 0;
    const auto [last, error] = std::from_chars(name.data() + begin, name.data() + end, index);
    if (error == std::errc() && last == name.data() + end)
      return Block{name.substr(0, begin), index};
    begin = end + 1;
  }
  return std::nullopt;
}

}  // namespace

std::vector<double> layer_rates(const std::vector<Trained>& parameters, double layer_decay) {
  std::map<std::string_view, int64_t> blocks;  // how many a stack has
  int64_t most = 0;
  for (const Trained& one : parameters)
    if (const auto block = block_of(one.name)) {
      int64_t& count = blocks[block->stack];
      count = std::max(count, block->index + 1);
      most = std::max(most, count);
    }
  std::vector<double> rates;
  for (const Trained& one : parameters) {
    int64_t below = one.name.starts_with("embedding.") ? most + 1 : 0;
    if (const auto block = block_of(one.name)) below = blocks[block->stack] - block->index;
    rates.push_back(std::pow(layer_decay, static_cast<double>(below)));
  }
  return rates;
}

}  // namespace glassformer
