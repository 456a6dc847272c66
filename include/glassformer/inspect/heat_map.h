#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "glassformer/image/image.h"
#include "glassformer/inspect/report.h"

namespace glassformer {

struct Colour {
  uint8_t red = 0, green = 0, blue = 0;
};

// The colour of a weight in [0, 1], on paper or on a dark ground: lightness runs evenly with the
// root of the weight, so that small weights are seen and hue is not needed to read it.
Colour weight_colour(double weight, bool dark = false);

// Weights [queries, keys] with a title and the tokens along its sides.
struct HeatMap {
  std::string title;
  Tensor weights;
  std::vector<std::string> queries, keys;
};

// The maps whose weights a report has, a row an attention: a map a head, or with `mean` one of the
// mean over heads.
std::vector<std::vector<HeatMap>> heat_maps_of(const Report& report, bool mean = false);

// The larger of neighbours, so that at most rows × columns remain. Throws ShapeError unless weights
// is a matrix.
Tensor pooled(const Tensor& weights, int64_t rows, int64_t columns);

// One map as large as is good to look at, several as a grid of small ones. Without text, which a
// PNG has no letters for. Throws ValueError for no map.
Image draw_heat_maps(const std::vector<std::vector<HeatMap>>& grid);
// The same as an SVG file, with titles, and with tokens where there is one map.
std::string heat_maps_svg(const std::vector<std::vector<HeatMap>>& grid);

}  // namespace glassformer
