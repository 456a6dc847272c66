#pragma once

#include <string>
#include <vector>

#include "glassformer/inspect/capture.h"

namespace glassformer {

// Takes steps out of a model. A step by its name or pattern ("decoder.3.feed_forward.output",
// "encoder.*.self_attention.output"), or a head of an attention, which is
// "decoder.3.self_attention.head.5": what W_O is given of it. Zeroing a head is the same, bit for
// bit, as zeroing its columns of W_O.
class Ablation : public Probe {
 public:
  enum class To : uint8_t {
    kZero,
    kMean  // over the tokens of the input: what a step says of where it stands is gone
  };
  explicit Ablation(std::vector<std::string> steps, To to = To::kZero);

  ProbeWish wish(const std::string& name) override;
  void read(const std::string& name, const Tensor& value) override;
  Tensor replace(const std::string& name, const Tensor& value) override;

  // Those that fitted nothing in the passes so far.
  std::vector<std::string> unused() const;

 private:
  std::vector<std::string> steps_;
  std::vector<bool> used_;
  To to_;
};

// Activation patching: puts the values that another run had into this one, for the steps that both
// the capture and one of the patterns have. Shapes must be the same.
class Patch : public Probe {
 public:
  // `other` must outlive this. With `rows`, only those tokens (queries); with `heads`, only those
  // heads, and only steps that have heads.
  explicit Patch(const Capture& other, std::vector<std::string> patterns = {"**"},
                 std::vector<int64_t> heads = {}, std::vector<int64_t> rows = {});

  ProbeWish wish(const std::string& name) override;
  void read(const std::string& name, const Tensor& value) override;
  Tensor replace(const std::string& name, const Tensor& value) override;

 private:
  const Capture& other_;
  std::vector<std::string> patterns_;
  std::vector<int64_t> heads_, rows_;
};

// Several probes as one: what they replace goes through them in their order, and what they read is
// what the model went on with.
class Probes : public Probe {
 public:
  explicit Probes(std::vector<Probe*> probes) : probes_(std::move(probes)) {}

  ProbeWish wish(const std::string& name) override;
  void read(const std::string& name, const Tensor& value) override;
  Tensor replace(const std::string& name, const Tensor& value) override;

 private:
  std::vector<Probe*> probes_;
};

}  // namespace glassformer
