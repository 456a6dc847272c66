#pragma once

#include <string>

#include "cli/terminal.h"

namespace glassformer {

// A heat map as lines of text: a cell of two columns a weight with the tokens along its sides where
// there is room, otherwise with neighbours pooled to the width. Without colours weights are shades.
std::string map_view(const HeatMap& map, const Terminal& terminal);

// A picture, and beside it what [CLS] (or another token) looks at: `weights` [rows, columns] of
// patches.
std::string picture_view(const Image& frame, const Tensor& weights, const Terminal& terminal);

}  // namespace glassformer
