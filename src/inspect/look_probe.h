#pragma once

#include <map>
#include <string>
#include <vector>

#include "inspect/look_plan.h"

namespace glassformer {

// Carries out a plan while the model runs: fills in a report's attentions and tensors.
class LookProbe : public Probe {
 public:
  LookProbe(const LookPlan& plan, const LookInput& input, const LookOptions& options,
            Report& report);

  ProbeWish wish(const std::string& name) override;
  void read(const std::string& name, const Tensor& value) override;
  Tensor replace(const std::string& name, const Tensor& value) override;

  // Every name that was met, in order.
  const std::vector<std::string>& seen() const { return seen_; }
  // The means over heads of self-attentions, [1, tokens, tokens] each, of a side.
  const std::vector<Tensor>& means(const std::string& side) { return means_[side]; }
  // The mean over layers and heads of cross-attentions, [targets, sources]; undefined where none.
  Tensor cross_mean() const;
  // What each layer of the last stack gave, where the lens is asked for.
  const std::map<std::string, Tensor>& blocks() const { return blocks_; }

 private:
  void take_weights(const std::string& name, const Tensor& value);
  void measure(Report::Attention& attention, const Tensor& weights) const;
  bool for_lens(const std::string& name) const;

  const LookPlan& plan_;
  const LookInput& input_;
  const LookOptions& options_;
  Report& report_;
  std::vector<std::string> seen_;
  std::map<std::string, std::vector<Tensor>> means_;
  std::vector<Tensor> cross_means_;
  std::map<std::string, Tensor> blocks_;
};

// A step of a batch of one as reports hold it.
Tensor reported(const Tensor& x);

}  // namespace glassformer
