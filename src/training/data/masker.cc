#include "training/data/masker.h"

#include "base/check.h"

namespace glassformer {

Masker::Masker(const Masking& options, const Tokenizer& tokenizer)
    : options_(options), tokenizer_(tokenizer) {
  require<ValueError>(tokenizer.id_to_token(options.mask_id).has_value(),
                      "masking: expected the id of a mask token, found {}", options.mask_id);
  require<ValueError>(
      options.chosen > 0 && options.chosen <= 1 && options.masked >= 0 && options.random >= 0 &&
          options.masked + options.random <= 1,
      "masking: expected shares of a whole, found {} chosen, of those {} masked and "
      "{} random",
      options.chosen, options.masked, options.random);
}

std::shared_ptr<const Masker> Masker::make(const std::optional<Masking>& options,
                                           const Tokenizer& tokenizer) {
  return options ? std::make_shared<const Masker>(*options, tokenizer) : nullptr;
}

int64_t Masker::replacement(int64_t id, Draws& draws) const {
  const double draw = draws.uniform();
  if (draw < options_.masked) return options_.mask_id;
  if (draw < options_.masked + options_.random)
    return draws.below(static_cast<int64_t>(tokenizer_.vocabulary_size()));
  return id;
}

std::vector<int64_t> Masker::operator()(std::span<int64_t> ids, Draws draws) const {
  std::vector<int64_t> targets(ids.size(), kIgnoredTarget);
  std::vector<size_t> open;
  for (size_t i = 0; i < ids.size(); ++i)
    if (can_choose(ids[i])) open.push_back(i);
  bool any = false;
  const auto choose = [&](size_t i) {
    targets[i] = ids[i];
    ids[i] = replacement(ids[i], draws);
    any = true;
  };
  for (const size_t i : open)
    if (draws.uniform() < options_.chosen) choose(i);
  if (!any && !open.empty())
    choose(open[static_cast<size_t>(draws.below(static_cast<int64_t>(open.size())))]);
  return targets;
}

}  // namespace glassformer
