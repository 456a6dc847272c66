#include "decoding/draft.h"

#include <algorithm>

#include "base/check.h"
#include "glassformer/ops/copy.h"
#include "glassformer/ops/gather.h"
#include "glassformer/ops/reduce.h"
#include "glassformer/ops/view.h"

namespace glassformer {

Draft::Draft(const Model& model, int64_t vocabulary_size, int64_t places) : model_(model) {
  const TransformerSpec& spec = model.transformer().spec();
  require<ValueError>(
      spec.decoder && !spec.encoder && spec.head.kind == HeadSpec::Kind::kLanguageModel,
      "draft: expected a decoder that generates text, found {}", model.config().architecture);
  require<ValueError>(spec.head.outputs == vocabulary_size,
                      "draft: expected the model's vocabulary of {} tokens, found {}",
                      vocabulary_size, spec.head.outputs);
  cache_ = model.transformer().make_cache(places);
}

int64_t Draft::choose(Seen& seen, std::span<const int64_t> next) {
  const CachedPart part{&seen.sequence, next};
  const Tensor hidden = model_.transformer().decode({&part, 1}, Pass::kPrompt);
  seen.ids.insert(seen.ids.end(), next.begin(), next.end());
  const Tensor last = slice(hidden, 0, hidden.size(0) - 1, hidden.size(0));
  return argmax(model_.transformer().head(last).logits, -1).to_vector<int64_t>().front();
}

TokenIds Draft::guess(const Running& running, int64_t count) {
  Seen& seen = seen_.try_emplace(running.number, Seen{CacheSequence(*cache_), {}}).first->second;
  const TokenIds& said = running.said;
  const auto same = std::mismatch(seen.ids.begin(), seen.ids.end(), said.begin(), said.end());
  // The last token is always run: its logits are wanted.
  const size_t common =
      std::min(static_cast<size_t>(same.first - seen.ids.begin()), said.size() - 1);
  seen.sequence.truncate(static_cast<int64_t>(common));
  seen.ids.resize(common);
  const int64_t limit = model_.config().max_positions;
  TokenIds guesses, next(said.begin() + static_cast<ptrdiff_t>(common), said.end());
  while (static_cast<int64_t>(guesses.size()) < count) {
    if (limit > 0 && seen.sequence.length() + static_cast<int64_t>(next.size()) > limit) break;
    guesses.push_back(choose(seen, next));
    next = {guesses.back()};
  }
  return guesses;
}

}  // namespace glassformer
