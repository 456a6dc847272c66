#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "glassformer/nn/probe.h"

namespace glassformer {

// True if the name of a step fits the pattern: `*` stands for anything but a dot, `**` for
// anything.
bool matches(std::string_view pattern, std::string_view name);

// Keeps the steps whose names fit one of the patterns: "encoder.*.self_attention.weights".
class Capture : public Probe {
 public:
  // `heads` and `rows` limit the steps inside attentions; empty means all.
  explicit Capture(std::vector<std::string> patterns, std::vector<int64_t> heads = {},
                   std::vector<int64_t> rows = {});

  ProbeWish wish(const std::string& name) override;
  void read(const std::string& name, const Tensor& value) override;
  Tensor replace(const std::string& name, const Tensor& value) override;

  const std::map<std::string, Tensor>& values() const { return values_; }
  // Undefined where the step did not come.
  Tensor value(const std::string& name) const;
  // Every name that was met, wanted or not, in order: what there is to ask for.
  const std::vector<std::string>& seen() const { return seen_; }

 private:
  std::vector<std::string> patterns_;
  std::vector<int64_t> heads_, rows_;
  std::map<std::string, Tensor> values_;
  std::vector<std::string> seen_;
};

}  // namespace glassformer
