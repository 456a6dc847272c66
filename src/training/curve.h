#pragma once

#include <string>
#include <utility>
#include <vector>

namespace glassformer {

using Points = std::vector<std::pair<double, double>>;  // step, loss

// A picture of a run's losses: the training loss faint and smoothed, the validation loss as points.
std::string loss_curve_svg(const std::string& title, const Points& training,
                           const Points& validation);

}  // namespace glassformer
