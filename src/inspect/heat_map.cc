#include "glassformer/inspect/heat_map.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include <fmt/format.h>

#include "base/base64.h"
#include "base/check.h"
#include "glassformer/ops/reduce.h"
#include "glassformer/ops/view.h"
#include "tensor/shape_format.h"
#include "text/utf8.h"

namespace glassformer {
namespace {

constexpr int64_t kLargest = 1536;  // pixels along a side of one map
constexpr int64_t kSmall = 96, kGap = 6;

// Lightness, chroma and hue (degrees) in OKLab, where equal steps look equal, as bytes of sRGB.
Colour from_oklch(double lightness, double chroma, double hue) {
  const double angle = hue * std::numbers::pi / 180;
  const double a = chroma * std::cos(angle), b = chroma * std::sin(angle);
  const double l = std::pow(lightness + 0.3963377774 * a + 0.2158037573 * b, 3);
  const double m = std::pow(lightness - 0.1055613458 * a - 0.0638541728 * b, 3);
  const double s = std::pow(lightness - 0.0894841775 * a - 1.2914855480 * b, 3);
  const auto byte = [](double linear) {
    const double x = std::clamp(linear, 0.0, 1.0);
    const double shown = x <= 0.0031308 ? 12.92 * x : 1.055 * std::pow(x, 1 / 2.4) - 0.055;
    return static_cast<uint8_t>(std::lround(255 * shown));
  };
  return {byte(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
          byte(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
          byte(-0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s)};
}

std::array<Colour, 256> colours(bool dark) {
  std::array<Colour, 256> table;
  for (size_t i = 0; i < table.size(); ++i) {
    const double t = static_cast<double>(i) / 255;
    table[i] =
        dark ? from_oklch(0.215 + 0.735 * t, 0.02 + 0.15 * std::sin(std::numbers::pi * t * 0.85),
                          280 - 65 * t)
             : from_oklch(1 - 0.72 * t, 0.2 * std::pow(t, 0.75) * (1 - 0.25 * t), 265 + 18 * t);
  }
  return table;
}

std::vector<std::string> texts_of(const Report& report, const std::string& side) {
  std::vector<std::string> texts;
  const auto found = report.sides.find(side);
  if (found != report.sides.end())
    for (const Report::Token& token : found->second.tokens) texts.push_back(token.text);
  return texts;
}

// A map of at most width × height pixels, whole pixels a cell.
void draw(const HeatMap& map, int64_t left, int64_t top, int64_t width, int64_t height,
          Image& image) {
  const Tensor weights = pooled(map.weights, height, width);
  const int64_t rows = weights.size(0), columns = weights.size(1);
  const std::vector<float> values = weights.to_vector<float>();
  for (int64_t y = 0; y < height / rows * rows; ++y)
    for (int64_t x = 0; x < width / columns * columns; ++x) {
      const int64_t row = y / (height / rows), column = x / (width / columns);
      const Colour colour = weight_colour(values[static_cast<size_t>(row * columns + column)]);
      uint8_t* pixel = image.row(top + y) + 3 * (left + x);
      pixel[0] = colour.red, pixel[1] = colour.green, pixel[2] = colour.blue;
    }
}

// Pixels of one map: whole ones a cell, at least one, of up to 32.
int64_t side_for(int64_t cells) {
  if (cells >= kLargest) return kLargest;
  return cells * std::clamp<int64_t>(kLargest / 2 / cells, 1, 32);
}

bool is_single(const std::vector<std::vector<HeatMap>>& grid) {
  return grid.size() == 1 && grid.front().size() == 1;
}

// Text between tags. XML has no letters for most controls.
std::string escaped(const std::string& text) {
  const std::string whole = replace_invalid_utf8(text);
  std::string result;
  for (size_t at = 0; at < whole.size();) {
    const char32_t c = next_character(whole, at);
    switch (c) {
      case '<': result += "&lt;"; break;
      case '>': result += "&gt;"; break;
      case '&': result += "&amp;"; break;
      case '"': result += "&quot;"; break;
      case ' ': result += "\u00A0"; break;
      default: append_utf8(result, c < 0x20 || c == 0xFFFE || c == 0xFFFF ? 0xFFFD : c);
    }
  }
  return result;
}

std::string picture_tag(const Image& image, int64_t x, int64_t y) {
  return fmt::format(
      "<image x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" style=\"image-rendering:pixelated\" "
      "href=\"data:image/png;base64,{}\"/>\n",
      x, y, image.width, image.height, encode_base64(encode_png(image)));
}

// The tokens along one map, where there is room for them.
std::string labels(const HeatMap& map, const Image& image, int64_t left, int64_t top) {
  std::string svg;
  const auto along = [&](const std::vector<std::string>& tokens, int64_t cells, int64_t pixels,
                         bool across) {
    const double step = static_cast<double>(pixels) / static_cast<double>(cells);
    if (static_cast<int64_t>(tokens.size()) != cells || step < 9) return;
    for (int64_t i = 0; i < cells; ++i) {
      const double at = (static_cast<double>(i) + 0.5) * step;
      const std::string text = escaped(tokens[static_cast<size_t>(i)]);
      if (across)
        svg += fmt::format("<text transform=\"translate({:.1f} {}) rotate(-60)\">{}</text>\n",
                           static_cast<double>(left) + at + 3, top - 5, text);
      else
        svg += fmt::format("<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n", left - 6,
                           static_cast<double>(top) + at + 4, text);
    }
  };
  along(map.keys, map.weights.size(1), image.width, true);
  along(map.queries, map.weights.size(0), image.height, false);
  return svg;
}

}  // namespace

Colour weight_colour(double weight, bool dark) {
  static const std::array<Colour, 256> paper = colours(false), ground = colours(true);
  const double root = std::sqrt(std::clamp(weight, 0.0, 1.0));
  return (dark ? ground : paper)[static_cast<size_t>(std::lround(255 * root))];
}

std::vector<std::vector<HeatMap>> heat_maps_of(const Report& report, bool mean) {
  std::vector<std::vector<HeatMap>> grid;
  for (const Report::Attention& attention : report.attentions) {
    const auto found = report.tensors.find(attention.name + ".weights");
    if (found == report.tensors.end()) continue;
    const Tensor& weights = found->second;
    const auto queries = texts_of(report, attention.queries);
    const auto keys = texts_of(report, attention.keys);
    grid.emplace_back();
    if (mean) {
      const char* what = weights.size(0) == 1 ? "" : ", mean of the heads";
      const std::string one = weights.size(0) == 1 && !attention.kept_heads.empty()
                                  ? fmt::format(", head {}", attention.kept_heads.front())
                                  : std::string(what);
      grid.back().push_back({attention.name + one, glassformer::mean(weights, {0}), queries, keys});
      continue;
    }
    for (int64_t i = 0; i < weights.size(0); ++i) {
      const int64_t head =
          attention.kept_heads.empty() ? i : attention.kept_heads[static_cast<size_t>(i)];
      grid.back().push_back(
          {fmt::format("{}, head {}", attention.name, head), select(weights, 0, i), queries, keys});
    }
  }
  return grid;
}

Tensor pooled(const Tensor& weights, int64_t rows, int64_t columns) {
  require<ShapeError>(weights.rank() == 2, "expected weights [queries, keys], found {}",
                      weights.shape());
  const int64_t high = weights.size(0), wide = weights.size(1);
  rows = std::min(rows, high), columns = std::min(columns, wide);
  if (rows == high && columns == wide) return weights;
  const std::vector<float> values = weights.to_vector<float>();
  std::vector<float> largest(static_cast<size_t>(rows * columns));
  for (int64_t i = 0; i < high; ++i)
    for (int64_t j = 0; j < wide; ++j) {
      float& cell = largest[static_cast<size_t>(i * rows / high * columns + j * columns / wide)];
      cell = std::max(cell, values[static_cast<size_t>(i * wide + j)]);
    }
  return from_vector(largest, {rows, columns});
}

Image draw_heat_maps(const std::vector<std::vector<HeatMap>>& grid) {
  require<ValueError>(!grid.empty() && !grid.front().empty(), "expected a map to draw, found none");
  if (is_single(grid)) {
    const HeatMap& map = grid.front().front();
    Image image(side_for(map.weights.size(1)), side_for(map.weights.size(0)));
    draw(map, 0, 0, image.width, image.height, image);
    return image;
  }
  size_t most = 0;
  for (const auto& row : grid) most = std::max(most, row.size());
  const int64_t step = kSmall + kGap;
  Image image(static_cast<int64_t>(most) * step + kGap,
              static_cast<int64_t>(grid.size()) * step + kGap);
  std::fill(image.pixels.begin(), image.pixels.end(), uint8_t{226});
  for (size_t row = 0; row < grid.size(); ++row)
    for (size_t column = 0; column < grid[row].size(); ++column)
      draw(grid[row][column], kGap + static_cast<int64_t>(column) * step,
           kGap + static_cast<int64_t>(row) * step, kSmall, kSmall, image);
  return image;
}

std::string heat_maps_svg(const std::vector<std::vector<HeatMap>>& grid) {
  const Image image = draw_heat_maps(grid);
  const bool single = is_single(grid);
  const int64_t left = single ? 130 : 210, top = single ? 130 : 30;
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\" "
      "font-family=\"system-ui, sans-serif\" font-size=\"12\" fill=\"#222\">\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
      left + image.width + 60, top + image.height + 30);
  svg += picture_tag(image, left, top);
  if (single) {
    const HeatMap& map = grid.front().front();
    svg += labels(map, image, left, top);
    svg += fmt::format("<text x=\"{}\" y=\"{}\" font-weight=\"600\">{}</text>\n", left,
                       top + image.height + 20, escaped(map.title));
    return svg + "</svg>\n";
  }
  const int64_t step = kSmall + kGap;
  for (size_t row = 0; row < grid.size(); ++row) {
    const std::string& title = grid[row].front().title;
    svg += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\n", left - 8,
                       top + kGap + static_cast<int64_t>(row) * step + kSmall / 2 + 4,
                       escaped(title.substr(0, title.find(','))));
  }
  for (size_t column = 0; column < grid.front().size(); ++column)
    svg += fmt::format(
        "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n",
        left + kGap + static_cast<int64_t>(column) * step + kSmall / 2, top - 8,
        grid.front().size() == 1 ? std::string("mean") : fmt::format("head {}", column));
  return svg + "</svg>\n";
}

}  // namespace glassformer
