#include "training_cases.h"

#include <algorithm>
#include <memory>
#include <string>

#include "glassformer/glassformer.h"

namespace glassformer::bench {
namespace {

using nlohmann::json;

constexpr double kLearningRate = 1e-4, kClipNorm = 1;

Model open_model(const std::string& folder) {
  return Model::open(folder, {.purpose = LoadOptions::Purpose::kTraining,
                              .config_changes = R"({"dropout": 0, "attention_dropout": 0,
                                "activation_dropout": 0, "resid_pdrop": 0, "embd_pdrop": 0,
                                "attn_pdrop": 0, "hidden_dropout_prob": 0,
                                "attention_probs_dropout_prob": 0})"});
}

Batch batch_of(const std::vector<Tensor>& inputs, const json& names) {
  Batch batch;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto name = names.at(i).get<std::string>();
    (name == "input_ids"           ? batch.input.input_ids
     : name == "decoder_input_ids" ? batch.input.decoder_input_ids
     : name == "pixel_values"      ? batch.input.pixel_values
                                   : batch.targets) = inputs[i];
  }
  for (const int64_t target : batch.targets.to_vector<int64_t>())
    batch.target_count += target != kIgnoredTarget;
  return batch;
}

class Step {
 public:
  Step(Model model, Precision precision, Batch batch)
      : learner_(std::move(model), precision),
        optimizer_(learner_.parameters(), {.weight_decay = 0.01}),
        batch_(std::move(batch)) {
    if (batch_.input.pixel_values.defined()) objective_.task = Task::kImageClassification;
  }

  Tensor run() {
    const auto count = static_cast<double>(batch_.target_count);
    float mean = 0;
    {
      const Loss loss = loss_of(objective_, learner_(batch_, {}), batch_);
      mean = static_cast<float>(loss.sum.item() / count);
      backward(loss.sum);
    }
    const double norm = optimizer_.gradient_norm() / count;
    optimizer_.step(kLearningRate, std::min(1.0, kClipNorm / norm) / count);
    optimizer_.clear_gradients();
    return from_vector(std::vector<float>{mean}, {1});
  }

 private:
  ModelLearner learner_;
  Optimizer optimizer_;
  Batch batch_;
  Objective objective_;
};

}  // namespace

std::function<Tensor()> train_case(const std::vector<Tensor>& inputs, const json& args) {
  const bool half = args.at("precision") == "bfloat16";
  const auto step = std::make_shared<Step>(open_model(args.at("folder").get<std::string>()),
                                           half ? Precision::kBFloat16 : Precision::kFloat32,
                                           batch_of(inputs, args.at("names")));
  return [step] { return step->run(); };
}

}  // namespace glassformer::bench
