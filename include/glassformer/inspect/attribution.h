#pragma once

#include <string>
#include <vector>

#include "glassformer/inspect/saliency.h"

namespace glassformer {

// A logit as the sum of what each part of the model wrote into the residual stream.
struct LogitAttribution {
  struct Part {
    // "embedding", "decoder.3.self_attention.head.5", "decoder.3.feed_forward", and biases:
    // "decoder.3.self_attention.bias", "decoder.3.norm_1", "decoder.norm", "head.bias".
    std::string name;
    double value;
  };
  std::vector<Part> parts;  // in the order of the model; they add up to the logit
  double logit = 0;
  Explained what;  // with output and position filled in
};

// Direct logit attribution (Elhage et al. 2021). Every norm on the way is taken with the mean and
// deviation that it had, which makes it linear. Throws UnsupportedError for a head with a layer of
// its own (head.transform), for two classifiers and for quantised weights, and as gradient_saliency
// does.
LogitAttribution direct_logit_attribution(const Model& model, const TransformerInput& input,
                                          Explained what = {});

}  // namespace glassformer
