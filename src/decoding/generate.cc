#include <algorithm>

#include "base/check.h"
#include "glassformer/autograd/no_grad.h"
#include "glassformer/decoding/engine.h"
#include "glassformer/ops/copy.h"
#include "glassformer/ops/view.h"

namespace glassformer {
namespace {

constexpr int64_t kMostCacheBytes = int64_t{1} << 30;

int64_t bytes_of_a_place(const Transformer& transformer) {
  int64_t bytes = 0;
  for (const BlockSpec& block : transformer.spec().decoder->blocks)
    bytes += 2 * block.self_attention.key_heads * block.self_attention.head_size * 4;
  return bytes;
}

// Room for as many of the requests at once as fit the memory, and for every one of them alone.
void make_room(const Model& model, std::span<const GenerationRequest> requests,
               EngineOptions& options) {
  EngineOptions smallest = options;
  smallest.places = smallest.source_places = 1;
  smallest.draft = nullptr;
  const Engine sizes(model, smallest);
  Engine::Need all{0, 0}, largest{1, 1};
  for (const GenerationRequest& request : requests) {
    Engine::Need one = sizes.need(request);
    if (options.draft) one.places += options.draft_tokens + 1;
    all = {all.places + one.places, all.source_places + one.source_places};
    largest = {std::max(largest.places, one.places),
               std::max(largest.source_places, one.source_places)};
  }
  const int64_t most = kMostCacheBytes / bytes_of_a_place(model.transformer());
  options.places = std::max(largest.places, std::min(all.places, most));
  options.source_places = std::max(largest.source_places, std::min(all.source_places, most));
}

}  // namespace

std::vector<GenerationResult> generate(const Model& model, std::vector<GenerationRequest> requests,
                                       EngineOptions options,
                                       const std::function<bool(int64_t done)>& keep_going) {
  std::vector<GenerationResult> results(requests.size());
  if (requests.empty()) return results;
  make_room(model, requests, options);
  Engine engine(model, options);
  for (GenerationRequest& request : requests) engine.submit(std::move(request));
  int64_t done = 0;
  bool more = true;
  while (more) {
    if (keep_going && !keep_going(done)) engine.stop_all();
    more = engine.step();
    for (GenerationResult& result : engine.take_finished()) {
      ++done;
      const auto at = static_cast<size_t>(result.request);
      results[at] = std::move(result);
    }
  }
  return results;
}

Hypothesis score_target(const Model& model, const GenerationRequest& request,
                        const TokenIds& target) {
  const NoGrad no_grad;
  require<ValueError>(!target.empty(), "the target is empty: it needs at least one id");
  const Engine engine(model, {.places = 1, .source_places = 1});
  const SearchInput input = engine.search_input(request);
  TokenIds ids = input.prompt;
  ids.insert(ids.end(), target.begin(), target.end() - 1);
  const auto row = [&](const TokenIds& values) {
    return to(from_vector(values, {1, static_cast<int64_t>(values.size())}),
              model.transformer().options().device);
  };
  TransformerInput whole;
  (input.source.empty() ? whole.input_ids : whole.decoder_input_ids) = row(ids);
  if (!input.source.empty()) whole.input_ids = row(input.source);
  const Tensor logits = model(whole).logits;
  const auto count = static_cast<int64_t>(target.size());
  const std::vector<float> last =
      slice(logits, 1, logits.size(1) - count, logits.size(1)).to_vector<float>();
  return score_target(last, target, request.options.length_penalty);
}

}  // namespace glassformer
