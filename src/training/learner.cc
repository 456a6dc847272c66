#include "glassformer/training/learner.h"

#include "base/check.h"
#include "glassformer/ops/copy.h"

namespace glassformer {
namespace {

Model working_copy(const Model& master, Precision precision) {
  if (precision == Precision::kFloat32) return master;
  return master.copy(DType::kBFloat16, /*trainable=*/true);
}

}  // namespace

ModelLearner::ModelLearner(Model model, Precision precision, std::optional<SentencePooling> pooling)
    : master_(std::move(model)),
      working_(working_copy(master_, precision)),
      pooling_(std::move(pooling)) {
  if (precision == Precision::kBFloat16Stochastic) master_ = working_;
}

std::vector<Trained> ModelLearner::parameters() const {
  const std::vector<Parameter>& working = working_.transformer().parameters();
  const std::vector<Parameter>& masters = master_.transformer().parameters();
  std::vector<Trained> trained;
  for (size_t i = 0; i < working.size(); ++i) {
    const bool own = masters[i].value.storage() != working[i].value.storage();
    trained.push_back(
        {working[i].name, working[i].value, own ? masters[i].value.detach() : Tensor()});
  }
  return trained;
}

Tensor ModelLearner::operator()(const Batch& batch, const Context& context) const {
  TransformerInput input = batch.input;
  if (input.pixel_values.defined())
    input.pixel_values = cast(input.pixel_values, working_.transformer().options().dtype);
  const TransformerOutput output = working_(input, context);
  if (pooling_)
    return pool_sentences(output.last_hidden_state, input.starts.to_vector<int64_t>(), *pooling_);
  require<ValueError>(output.logits.defined(), "training: expected a model with a head, found {}",
                      master_.config().architecture);
  return output.logits;
}

void ModelLearner::save(const std::filesystem::path& folder) const {
  if (master_.has_adapter())
    master_.save_adapter(folder);
  else
    master_.save(folder);
}

std::vector<Trained> MlpLearner::parameters() const {
  std::vector<Trained> trained;
  for (const Parameter& parameter : mlp_.parameters())
    trained.push_back({parameter.name, parameter.value});
  return trained;
}

Tensor MlpLearner::operator()(const Batch& batch, const Context& context) const {
  return mlp_(batch.features, context);
}

}  // namespace glassformer
