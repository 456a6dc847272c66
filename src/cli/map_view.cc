#include "cli/map_view.h"

#include <algorithm>

#include <fmt/format.h>

#include "glassformer/image/resize.h"
#include "text/utf8.h"

namespace glassformer {
namespace {

constexpr int kLabel = 14, kLetters = 10;  // columns of a row's token, lines of a key's
constexpr int64_t kMostRows = 64, kMostLines = 40;

// A weight where there are no colours; small ones are seen, as in the colours.
const char* shade(double weight) {
  return weight < 0.02 ? "·" : weight < 0.1 ? "░" : weight < 0.3 ? "▒" : weight < 0.6 ? "▓" : "█";
}

// A token beside the map: spaces around it say nothing there.
std::string label(const std::string& token) {
  const std::string text = visible(token);
  const size_t first = text.find_first_not_of(' ');
  if (first == std::string::npos) return "·";
  return text.substr(first, text.find_last_not_of(' ') + 1 - first);
}

// Keys' tokens, written downwards over their columns.
std::string key_lines(const std::vector<std::string>& keys) {
  std::vector<std::vector<std::string>> letters;
  size_t longest = 0;
  for (const std::string& key : keys) {
    std::vector<std::string> down;
    const std::string text = label(key);
    for (size_t at = 0; at < text.size() && down.size() < kLetters;) {
      const size_t from = at;
      next_character(text, at);
      const std::string letter = text.substr(from, at - from);
      const int columns = columns_of(letter);
      if (columns == 0 && !down.empty()) down.back() += letter;
      if (columns > 0) down.push_back(columns == 2 ? letter : letter + " ");
    }
    longest = std::max(longest, down.size());
    letters.push_back(std::move(down));
  }
  std::string lines;
  for (size_t line = 0; line < longest; ++line) {
    std::string text(kLabel + 2, ' ');
    for (const auto& down : letters) {
      const size_t skipped = longest - down.size();  // they stand on the map
      text += line < skipped ? "  " : down[line - skipped];
    }
    lines += text.substr(0, text.find_last_not_of(' ') + 1) + "\n";
  }
  return lines;
}

std::string labelled(const HeatMap& map, const Terminal& terminal) {
  std::string text = key_lines(map.keys);
  const std::vector<float> values = map.weights.to_vector<float>();
  const auto columns = static_cast<size_t>(map.weights.size(1));
  for (size_t row = 0; row < map.queries.size(); ++row) {
    text += fitted(label(map.queries[row]), kLabel, /*to_the_right=*/true) + "  ";
    for (size_t key = 0; key < columns; ++key) {
      const double weight = values[row * columns + key];
      const std::string cell =
          terminal.coloured() ? "  " : std::string(shade(weight)) + shade(weight);
      text += terminal.on(weight_colour(weight, true), cell);
    }
    text += "\n";
  }
  return text;
}

// Two rows of pixels a line, in the halves of a block.
template <class Pixel>
std::string half_blocks(int64_t rows, int64_t columns, const Terminal& terminal,
                        const Pixel& pixel) {
  std::string text;
  for (int64_t row = 0; row < rows; row += 2) {
    text += "  ";
    for (int64_t column = 0; column < columns; ++column) {
      const Colour upper = pixel(row, column);
      const Colour lower = row + 1 < rows ? pixel(row + 1, column) : Colour{};
      text += terminal.in(upper, lower, "▀");
    }
    text += "\n";
  }
  return text;
}

std::string pooled_view(const HeatMap& map, const Terminal& terminal) {
  const int64_t per_line = terminal.coloured() ? 2 : 1;
  const Tensor cells = pooled(map.weights, per_line * kMostLines, terminal.width - 4);
  const int64_t rows = cells.size(0), columns = cells.size(1);
  const std::vector<float> values = cells.to_vector<float>();
  const auto weight = [&](int64_t row, int64_t column) {
    return values[static_cast<size_t>(row * columns + column)];
  };
  const std::string sizes = fmt::format("  {} queries × {} keys; a cell is the largest within",
                                        map.weights.size(0), map.weights.size(1));
  std::string text = terminal.faint(fitted(sizes, terminal.width)) + "\n";
  if (terminal.coloured())
    return text + half_blocks(rows, columns, terminal, [&](int64_t row, int64_t column) {
             return weight_colour(weight(row, column), true);
           });
  for (int64_t row = 0; row < rows; ++row) {
    text += "  ";
    for (int64_t column = 0; column < columns; ++column) text += shade(weight(row, column));
    text += "\n";
  }
  return text;
}

// A picture and weights of its size in shades, the brighter or larger the more ink.
template <class Weight>
std::string side_by_side(const Image& picture, const Weight& weight) {
  std::string text;
  for (int64_t y = 0; y < picture.height; ++y) {
    text += "  ";
    for (int64_t x = 0; x < picture.width; ++x) {
      const uint8_t* pixel = picture.row(y) + 3 * x;
      text += shade((0.299 * pixel[0] + 0.587 * pixel[1] + 0.114 * pixel[2]) / 255);
    }
    text += "  ";
    for (int64_t x = 0; x < picture.width; ++x) text += shade(weight(y, x));
    text += "\n";
  }
  return text;
}

}  // namespace

std::string map_view(const HeatMap& map, const Terminal& terminal) {
  const int64_t rows = map.weights.size(0), columns = map.weights.size(1);
  const bool named = static_cast<int64_t>(map.queries.size()) == rows &&
                     static_cast<int64_t>(map.keys.size()) == columns;
  const bool fits = rows <= kMostRows && kLabel + 2 + 2 * columns <= terminal.width;
  return named && fits ? labelled(map, terminal) : pooled_view(map, terminal);
}

std::string picture_view(const Image& frame, const Tensor& weights, const Terminal& terminal) {
  const std::vector<float> values = weights.to_vector<float>();
  const int64_t rows = weights.size(0), columns = weights.size(1);
  const double largest = std::max(*std::max_element(values.begin(), values.end()), 1e-6F);
  const auto share = [&](int64_t row, int64_t column) {
    return values[static_cast<size_t>(row * columns + column)] / largest;
  };
  // Both as wide as half the terminal. Pixels are half as high as a line, without colours as high.
  const int64_t width = std::min<int64_t>((terminal.width - 8) / 2, 56);
  const int64_t pairs = std::max<int64_t>(width * frame.height / frame.width / 2, 1);
  const int64_t height = terminal.coloured() ? 2 * pairs : pairs;
  const Image small = resize(frame, width, height, Resample::kBilinear);
  const auto weight = [&](int64_t y, int64_t x) {
    return share(y * rows / height, x * columns / width);
  };
  if (!terminal.coloured()) return side_by_side(small, weight);
  return half_blocks(height, 2 * width + 2, terminal, [&](int64_t y, int64_t x) {
    if (x >= width && x < width + 2) return Colour{};
    const int64_t column = x < width ? x : x - width - 2;
    const uint8_t* pixel = small.row(y) + 3 * column;
    if (x < width) return Colour{pixel[0], pixel[1], pixel[2]};
    return weight_colour(weight(y, column), true);
  });
}

}  // namespace glassformer
