#pragma once

#include <string>

#include "glassformer/base/random.h"
#include "glassformer/nn/probe.h"
#include "glassformer/tensor/tensor.h"

namespace glassformer {

// What every layer is told about the run it is part of.
struct Context {
  Probe* probe = nullptr;
  Generator* random = nullptr;  // where dropout is drawn from; none in inference
  bool recompute = false;  // the backward runs each block again, which then keeps only its input
};

// The step `name` of the layer at `place`, read or replaced where the probe wishes it.
// Costs nothing where there is no probe.
Tensor probed(const Context& context, const std::string& place, const char* name, Tensor value);

// Dropout where the context trains, otherwise x.
Tensor dropped(const Context& context, double p, const Tensor& x);

}  // namespace glassformer
