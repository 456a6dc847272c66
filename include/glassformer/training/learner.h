#pragma once

#include <filesystem>
#include <vector>

#include "glassformer/models/mlp.h"
#include "glassformer/models/model.h"
#include "glassformer/models/sentence.h"
#include "glassformer/training/dataset.h"
#include "glassformer/training/optimizer.h"

namespace glassformer {

// What is trained: parameters, and an output for every batch.
class Learner {
 public:
  virtual ~Learner() = default;
  virtual std::vector<Trained> parameters() const = 0;
  // What the batch's targets are held against: logits [..., classes], or vectors [texts, width].
  virtual Tensor operator()(const Batch& batch, const Context& context) const = 0;
  // Writes the weights as they are now, in full precision, so that they can be opened again.
  virtual void save(const std::filesystem::path& folder) const = 0;
};

// How the numbers of a training run are kept.
enum class Precision : uint8_t {
  kFloat32,
  kBFloat16,           // computes in bfloat16 from float32 masters
  kBFloat16Stochastic  // bfloat16 alone: every update is rounded by chance
};

class ModelLearner : public Learner {
 public:
  // `model` has float32 weights that ask for gradients (Model::create, or opened for training).
  // With `pooling` its output are vectors of whole texts. Of one with an adapter, save() writes
  // the adapter.
  explicit ModelLearner(Model model, Precision precision = Precision::kFloat32,
                        std::optional<SentencePooling> pooling = {});
  std::vector<Trained> parameters() const override;
  Tensor operator()(const Batch& batch, const Context& context) const override;
  void save(const std::filesystem::path& folder) const override;
  const Model& model() const { return master_; }

 private:
  Model master_, working_;  // the same one but for kBFloat16
  std::optional<SentencePooling> pooling_;
};

class MlpLearner : public Learner {
 public:
  explicit MlpLearner(Mlp mlp) : mlp_(std::move(mlp)) {}
  std::vector<Trained> parameters() const override;
  Tensor operator()(const Batch& batch, const Context& context) const override;
  void save(const std::filesystem::path& folder) const override { mlp_.save(folder); }

 private:
  Mlp mlp_;
};

}  // namespace glassformer
