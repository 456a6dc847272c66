#include "generation_cases.h"

#include <memory>
#include <optional>
#include <string>

#include "glassformer/glassformer.h"

namespace glassformer::bench {
namespace {

using nlohmann::json;

Model open_model(const json& args) {
  const auto dtype = dtype_from_name(args.at("dtype").get<std::string>());
  return Model::open(args.at("folder").get<std::string>(), {.dtype = dtype});
}

// One sequence in a cache of its own.
class Decoder {
 public:
  Decoder(Model model, TokenIds prompt, TokenIds steps)
      : model_(std::move(model)), prompt_(std::move(prompt)), steps_(std::move(steps)) {
    const NoGrad no_grad;
    cache_ = transformer().make_cache(static_cast<int64_t>(prompt_.size() + steps_.size()));
    sequence_.emplace(*cache_);
    if (!steps_.empty()) advance(prompt_, Pass::kPrompt);
  }

  Tensor run() {
    if (steps_.empty()) {
      sequence_->truncate(0);
      return advance(prompt_, Pass::kPrompt);
    }
    sequence_->truncate(static_cast<int64_t>(prompt_.size()));
    Tensor logits;
    for (const int64_t& id : steps_) logits = advance({&id, 1}, Pass::kSteps);
    return logits;
  }

 private:
  const Transformer& transformer() const { return model_.transformer(); }

  // The logits after the last of `ids`.
  Tensor advance(std::span<const int64_t> ids, Pass pass) {
    const CachedPart part{&*sequence_, ids};
    const Tensor hidden = transformer().decode({&part, 1}, pass);
    const Tensor last = slice(hidden, 0, hidden.size(0) - 1, hidden.size(0));
    return cast(select(transformer().head(last).logits, 0, 0), DType::kFloat32);
  }

  Model model_;
  TokenIds prompt_, steps_;
  std::unique_ptr<KvCache> cache_;
  std::optional<CacheSequence> sequence_;
};

}  // namespace

std::function<Tensor()> decode_case(const std::vector<Tensor>& inputs, const json& args) {
  const TokenIds steps = inputs.size() > 1 ? inputs[1].to_vector<int64_t>() : TokenIds();
  const auto decoder =
      std::make_shared<Decoder>(open_model(args), inputs.at(0).to_vector<int64_t>(), steps);
  return [decoder] { return decoder->run(); };
}

std::function<Tensor()> translate_case(const std::vector<Tensor>& inputs, const json& args) {
  const Model model = open_model(args);
  const auto length = args.at("length").get<int64_t>();
  GenerationRequest request;
  request.options =
      parse_generation_options(model.config().json, args.at("folder").get<std::string>());
  request.options.num_beams = args.at("beams").get<int64_t>();
  request.options.max_new_tokens = request.options.min_new_tokens = length;
  request.options.max_length.reset();
  request.options.forced_eos_token_id.clear();
  std::vector<GenerationRequest> requests;
  const TokenIds ids = inputs.at(0).to_vector<int64_t>();
  auto from = ids.begin();
  for (const int64_t count : inputs.at(1).to_vector<int64_t>()) {
    request.ids.assign(from, from + count);
    requests.push_back(request);
    from += count;
  }
  return [=] {
    TokenIds all;
    for (const GenerationResult& result : generate(model, requests)) {
      const TokenIds& best = result.hypotheses.at(0).ids;
      all.insert(all.end(), best.begin(), best.end());
    }
    return from_vector(all, {static_cast<int64_t>(requests.size()), length});
  };
}

}  // namespace glassformer::bench
