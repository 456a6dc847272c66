#include "training/curve.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace glassformer {
namespace {

constexpr double kWidth = 720, kHeight = 400, kLeft = 60, kRight = 20, kTop = 40, kBottom = 45;

struct Axes {
  double last_step = 1, low = 0, high = 1;
  double x(double step) const { return kLeft + step / last_step * (kWidth - kLeft - kRight); }
  double y(double loss) const {
    return kTop + (high - loss) / (high - low) * (kHeight - kTop - kBottom);
  }
};

// 1, 2 or 5 times a power of ten, for about five marks.
double mark_distance(double range) {
  const double rough = range / 5, power = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= rough) return factor * power;
  return 10 * power;
}

Axes axes_for(const Points& training, const Points& validation) {
  Axes axes{1, INFINITY, -INFINITY};
  for (const Points* points : {&training, &validation})
    for (const auto& [step, loss] : *points) {
      axes.last_step = std::max(axes.last_step, step);
      axes.low = std::min(axes.low, loss);
      axes.high = std::max(axes.high, loss);
    }
  if (!(axes.low < axes.high))
    axes.low = std::isfinite(axes.low) ? axes.low - 1 : 0, axes.high = axes.low + 2;
  return axes;
}

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text)
    out += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : std::string(1, c);
  return out;
}

std::string line(const Axes& axes, const Points& points, const char* style) {
  std::string path;
  for (const auto& [step, loss] : points)
    path += fmt::format("{:.1f},{:.1f} ", axes.x(step), axes.y(loss));
  return fmt::format("<polyline fill=\"none\" {} points=\"{}\"/>\n", style, path);
}

// An exponential average over about a fiftieth of the run.
Points smoothed(const Points& points) {
  const double keep = 1 - 1 / std::max(1.0, static_cast<double>(points.size()) / 50);
  Points out;
  double mean = 0, weight = 0;
  for (const auto& [step, loss] : points) {
    mean = keep * mean + (1 - keep) * loss;
    weight = keep * weight + (1 - keep);
    out.emplace_back(step, mean / weight);
  }
  return out;
}

// No more points than there are pixels to see them: means of equal numbers of steps.
Points thinned(const Points& points) {
  const size_t most = static_cast<size_t>(kWidth), each = (points.size() + most - 1) / most;
  if (each <= 1) return points;
  Points out;
  for (size_t i = 0; i < points.size(); i += each) {
    const size_t end = std::min(points.size(), i + each);
    double loss = 0;
    for (size_t j = i; j < end; ++j) loss += points[j].second;
    out.emplace_back(points[end - 1].first, loss / static_cast<double>(end - i));
  }
  return out;
}

std::string grid(const Axes& axes) {
  std::string out;
  const double rows = mark_distance(axes.high - axes.low);
  for (double loss = std::ceil(axes.low / rows) * rows; loss <= axes.high; loss += rows)
    out += fmt::format(
        "<line x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"#ddd\"/>\n"
        "<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{:.4g}</text>\n",
        kLeft, kWidth - kRight, axes.y(loss), axes.y(loss), kLeft - 8, axes.y(loss) + 4, loss);
  const double columns = mark_distance(axes.last_step);
  for (double step = 0; step <= axes.last_step; step += columns)
    out += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{:g}</text>\n",
                       axes.x(step), kHeight - kBottom + 18, step);
  return out;
}

}  // namespace

std::string loss_curve_svg(const std::string& title, const Points& training,
                           const Points& validation) {
  const Points seen = thinned(training);
  const Axes axes = axes_for(seen, validation);
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" font-family=\"sans-serif\" "
      "font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
      "<text x=\"{}\" y=\"24\" font-size=\"15\">{}</text>\n",
      kWidth, kHeight, kLeft, escaped(title));
  out += grid(axes);
  out += line(axes, seen, "stroke=\"#9ecae1\" stroke-width=\"1\"");
  out += line(axes, smoothed(seen), "stroke=\"#08519c\" stroke-width=\"2\"");
  out += line(axes, validation, "stroke=\"#d95f02\" stroke-width=\"2\" stroke-dasharray=\"6 4\"");
  for (const auto& [step, loss] : validation)
    out += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"#d95f02\"/>\n",
                       axes.x(step), axes.y(loss));
  out += fmt::format(
      "<text x=\"{}\" y=\"24\" text-anchor=\"end\" fill=\"#08519c\">training</text>\n"
      "<text x=\"{}\" y=\"24\" text-anchor=\"end\" fill=\"#d95f02\">validation</text>\n"
      "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">step</text>\n</svg>\n",
      kWidth - kRight - 75, kWidth - kRight, kWidth / 2, kHeight - 6);
  return out;
}

}  // namespace glassformer
