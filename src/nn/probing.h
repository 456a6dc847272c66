#pragma once

#include <string>

#include "glassformer/nn/context.h"
#include "glassformer/nn/linear.h"

namespace glassformer {

std::string step_name(const std::string& place, const char* name);

// Whether the probe puts something else in the place of a step.
bool replaces(const Context& context, const std::string& place, const char* name);

// What the probe puts in the place of `value`. Throws ValueError, ShapeError, DTypeError or
// DeviceError unless it fits there.
Tensor replaced(Probe& probe, const std::string& name, const Tensor& value);

// The slices `ids` of x along `axis`, or x where there are none or the axis only broadcasts.
Tensor selected(const Tensor& x, int axis, const std::vector<int64_t>& ids);

// Of a step inside an attention, [batch, heads, queries, keys], what the wish asks for.
Tensor asked_for(const ProbeWish& wish, const Tensor& x);

// Where the probe wishes to read what a linear layer gives inside a fused one: computes it beside.
void read_beside(const Context& context, const std::string& place, const char* name,
                 const Linear& linear, const Tensor& x);

// residual + dropout(linear(x)), with the linear layer's result probed as `place`.output. In one
// pass over the result where nothing is dropped or replaced. An undefined residual adds nothing.
Tensor add_projected(const Context& context, const std::string& place, const Linear& linear,
                     const Tensor& x, const Tensor& residual, double dropout);

}  // namespace glassformer
