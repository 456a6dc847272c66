#include "cli/look_view.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "cli/map_view.h"
#include "glassformer/ops/reduce.h"
#include "glassformer/ops/view.h"

namespace glassformer {
namespace {

constexpr size_t kMostTokens = 40;  // of a generation, a list, a lens

class View {
 public:
  View(const Report& report, const ViewOptions& options)
      : report_(report), options_(options), terminal_(options.terminal) {}

  std::string text() {
    header();
    if (report_.ablation) {
      heading(fmt::format("without {}", joined(report_.ablation->steps)));
      prediction(report_.ablation->before, "before");
      if (report_.prediction) prediction(*report_.prediction, "after");
    } else if (report_.prediction) {
      heading(title_of(*report_.prediction));
      prediction(*report_.prediction, "");
    }
    generation();
    alignment();
    heads();
    map();
    saliency();
    lens();
    return std::move(text_);
  }

  std::string only_prediction() {
    if (report_.prediction) prediction(*report_.prediction, "");
    return std::move(text_);
  }

  std::string only_map() {
    map();
    return std::move(text_);
  }

 private:
  void line(const std::string& text) {
    text_.append(text, 0, text.find_last_not_of(' ') + 1);
    text_ += "\n";
  }
  void heading(const std::string& text) { line(fmt::format("\n{}", terminal_.bold(text))); }

  static std::string joined(const std::vector<std::string>& list) {
    std::string text;
    for (const std::string& one : list) text += (text.empty() ? "" : ", ") + visible(one);
    return text;
  }

  // "Two " → "Two·": spaces at the ends are part of a token.
  static std::string token(const std::string& text) {
    const std::string whole = visible(text);
    const size_t first = std::min(whole.find_first_not_of(' '), whole.size());
    std::string shown;
    for (size_t i = 0; i < first; ++i) shown += "·";
    shown.append(whole, first);
    if (shown.ends_with(' ')) {
      shown.pop_back();
      shown += "·";
    }
    return shown.empty() ? "∅" : shown;
  }

  // Below zero it is hatched.
  std::string bar(double share, int width) const {
    if (share < 0) {
      std::string text;
      for (auto i = std::lround(std::min(-share, 1.0) * width); i > 0; --i) text += "░";
      return fitted(text, width);
    }
    const int eighths = static_cast<int>(std::lround(std::min(share, 1.0) * width * 8));
    static constexpr const char* kParts[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    std::string text;
    for (int i = 0; i < eighths / 8; ++i) text += "█";
    text += kParts[eighths % 8];
    return fitted(text, width);
  }

  void header() {
    const Report::Model& model = report_.model;
    line(terminal_.bold(model.name) +
         terminal_.faint(fmt::format("  {}, {:.1f} M parameters", model.family,
                                     static_cast<double>(model.anatomy.parameters) / 1e6)));
    for (const std::string& text : model.description)
      line(terminal_.faint(fitted("  " + text, terminal_.width)));
  }

  std::string title_of(const Report::Prediction& prediction) const {
    if (prediction.kind == "next_token") return "the next token";
    if (prediction.kind == "masked") return "what stands under the mask";
    if (prediction.kind == "tokens") return "the tokens' labels";
    return prediction.kind == "answer" ? "the answer" : "the label";
  }

  void prediction(const Report::Prediction& prediction, const std::string& when) {
    if (!when.empty()) line(fmt::format("  {}", terminal_.faint(when)));
    const bool several = prediction.rows.size() > 1;
    size_t shown = 0;
    for (const Report::Prediction::Row& row : prediction.rows) {
      if (++shown > kMostTokens) break;
      if (several && prediction.kind == "tokens") {
        const Report::Guess& best = row.top.front();
        line(fmt::format("  {}  {:.4f}  {}", fitted(token(text_at(row.position)), 16),
                         best.probability, visible(best.text)));
        continue;
      }
      if (several) line(terminal_.faint(fmt::format("  at {}", row.position)));
      for (const Report::Guess& guess : row.top)
        line(fmt::format(
            "  {:.4f} {}  {}", guess.probability, bar(guess.probability, 20),
            prediction.kind == "classification" ? visible(guess.text) : token(guess.text)));
    }
  }

  std::string text_at(int64_t position) const {
    const auto side = report_.sides.find("encoder");
    return side == report_.sides.end() ? std::to_string(position)
                                       : side->second.tokens[static_cast<size_t>(position)].text;
  }

  void generation() {
    if (!report_.generation || report_.generation->tokens.empty()) return;
    heading("what was said, and what else was likely");
    size_t shown = 0;
    for (const Report::Generation::Chosen& chosen : report_.generation->tokens) {
      if (++shown > kMostTokens) break;
      std::string others;
      for (const Report::Guess& guess : chosen.alternatives)
        if (guess.id != chosen.token.id && guess.probability >= 0.005)
          others += fmt::format("  {} {:.2f}", token(guess.text), guess.probability);
      line(fmt::format("  {} {:.3f} {}{}", fitted(token(chosen.token.text), 18),
                       chosen.token.probability, bar(chosen.token.probability, 10),
                       terminal_.faint(fitted(others, std::max(terminal_.width - 38, 8)))));
    }
    if (report_.generation->tokens.size() > kMostTokens)
      line(terminal_.faint(
          fmt::format("  … and {} more", report_.generation->tokens.size() - kMostTokens)));
  }

  std::string word(const Report::Side& side, std::pair<int64_t, int64_t> range) const {
    std::string text;
    for (int64_t i = range.first; i <= range.second; ++i)
      text += side.tokens[static_cast<size_t>(i)].text;
    const size_t first = text.find_first_not_of(' ');
    return visible(first == std::string::npos ? text : text.substr(first));
  }

  void alignment() {
    if (!report_.alignment || report_.alignment->pairs.empty()) return;
    heading("words, and those of the source that they look at");
    const Report::Words& words = *report_.alignment;
    for (size_t target = 0; target < std::min(words.target.size(), kMostTokens); ++target) {
      std::vector<const Report::Words::Pair*> pairs;
      for (const Report::Words::Pair& pair : words.pairs)
        if (pair.target == static_cast<int64_t>(target)) pairs.push_back(&pair);
      std::sort(pairs.begin(), pairs.end(),
                [](const auto* a, const auto* b) { return a->weight > b->weight; });
      std::string sources;
      for (const auto* pair : pairs)
        sources += fmt::format(
            "  {} {:.2f}",
            word(report_.sides.at("encoder"), words.source[static_cast<size_t>(pair->source)]),
            pair->weight);
      line(fmt::format("  {} ←{}",
                       fitted(word(report_.sides.at("decoder"), words.target[target]), 18),
                       fitted(sources, std::max(terminal_.width - 24, 8))));
    }
  }

  // What a head is most like, where it is like something.
  static char role_of(const Report::Attention& attention, size_t head) {
    static constexpr std::pair<const char*, char> kRoles[] = {
        {"induction", 'i'}, {"previous_token", 'p'}, {"cls", 'c'}};
    for (const auto& [measure, letter] : kRoles) {
      const auto found = attention.measures.find(measure);
      if (found != attention.measures.end() && found->second[head] > 0.4) return letter;
    }
    return ' ';
  }

  void heads() {
    heading("heads: the entropy of where they look, in nats");
    int64_t most = 0, longest = 0;
    for (const Report::Attention& attention : report_.attentions) {
      most = std::max(most, attention.heads);
      longest = std::max(longest, static_cast<int64_t>(attention.name.size()));
    }
    const auto name = static_cast<int>(longest);
    const int64_t columns = std::max<int64_t>((terminal_.width - name - 4) / 6, 1);
    for (int64_t first = 0; first < most; first += columns) {
      std::string numbers = fitted("", name + 2);
      for (int64_t head = first; head < std::min(most, first + columns); ++head)
        numbers += fmt::format("{:>6}", head);
      line(terminal_.faint(numbers));
      for (const Report::Attention& attention : report_.attentions)
        line(
            fmt::format("  {} {}", fitted(attention.name, name), cells(attention, first, columns)));
    }
    line(terminal_.faint("  p: on the previous token · i: induction · c: on the first"));
  }

  std::string cells(const Report::Attention& attention, int64_t first, int64_t columns) const {
    std::string text;
    const auto entropy = attention.measures.find("entropy");
    if (entropy == attention.measures.end()) return text;
    const auto side = report_.sides.find(attention.keys);
    const size_t keys = side == report_.sides.end() ? 0 : side->second.tokens.size();
    const double most = std::log(static_cast<double>(std::max<size_t>(keys, 2)));
    for (int64_t head = first; head < std::min(attention.heads, first + columns); ++head) {
      const auto at = static_cast<size_t>(head);
      const double value = entropy->second[at];
      const double focus = std::isnan(value) ? 0 : std::clamp(1 - value / most, 0.0, 1.0);
      const std::string number = std::isnan(value) ? "    " : fmt::format("{:.2f}", value);
      const Colour ground = weight_colour(0.85 * focus * focus, true);
      const Colour ink = focus > 0.62 ? Colour{10, 12, 24} : Colour{235, 238, 245};
      text +=
          terminal_.in(ink, ground, fmt::format("{:>4}{}", number, role_of(attention, at))) + " ";
    }
    return text;
  }

  bool is_chosen(const Report::Attention& attention) const {
    if (options_.map.empty()) return true;
    return options_.map == "cross" ? attention.cross
                                   : !attention.cross && attention.queries == options_.map;
  }

  void map() {
    if (options_.rollout && !report_.rollout.empty()) return rollout();
    HeatMap chosen;
    for (const std::vector<HeatMap>& maps : heat_maps_of(report_, /*mean=*/true))
      for (const Report::Attention& attention : report_.attentions)
        if (maps.front().title.starts_with(attention.name) && is_chosen(attention))
          chosen = maps.front();
    if (!chosen.weights.defined()) return;
    heading(chosen.title);
    show(chosen);
  }

  std::vector<std::string> texts_of(const std::string& side) const {
    std::vector<std::string> texts;
    for (const Report::Token& token : report_.sides.at(side).tokens) texts.push_back(token.text);
    return texts;
  }

  void rollout() {
    const bool through = report_.rollout.contains("cross");
    if (through && options_.map.empty()) return relevance();
    const auto chosen = report_.rollout.find(options_.map);
    const auto& [of, name] = chosen == report_.rollout.end() ? *report_.rollout.rbegin() : *chosen;
    const bool cross = of == "cross";
    const HeatMap map{cross ? "rollout from the source to what was said" : "rollout of the " + of,
                      report_.tensors.at(name), texts_of(cross ? "decoder" : of),
                      texts_of(cross ? "encoder" : of)};
    heading(map.title);
    show(map);
  }

  // What one output token has to do with the source.
  void relevance() {
    heading(
        fmt::format("what \"{}\" after \"{}\" comes from: the source, through all layers",
                    token(report_.explained->text),
                    token(texts_of("decoder")[static_cast<size_t>(report_.explained->position)])));
    const Tensor& rolled = report_.tensors.at(report_.rollout.at("cross"));
    bars("encoder", select(rolled, 0, report_.explained->position).to_vector<float>());
  }

  // A number a token, over the largest.
  void bars(const std::string& side, const std::vector<float>& values) {
    float largest = 1e-12F;
    for (const float value : values) largest = std::max(largest, std::abs(value));
    const std::vector<std::string> texts = texts_of(side);
    for (size_t i = 0; i < std::min(values.size(), kMostTokens); ++i)
      line(fmt::format("  {} {:>9.4f} {}", fitted(token(texts[i]), 18), values[i],
                       bar(values[i] / largest, 24)));
  }

  void show(const HeatMap& map) {
    if (!report_.picture) {
      text_ += map_view(map, terminal_);
      return;
    }
    const Report::Picture& picture = *report_.picture;
    const int64_t row = report_.steps.rows.at("encoder");
    const Tensor patches = slice(select(map.weights, 0, row), 0, picture.prefix,
                                 picture.prefix + picture.rows * picture.columns);
    line(terminal_.faint(
        fmt::format("  the picture, and where {} looks",
                    report_.sides.at("encoder").tokens[static_cast<size_t>(row)].text)));
    text_ +=
        picture_view(picture.frame, reshape(patches, {picture.rows, picture.columns}), terminal_);
  }

  void saliency() {
    if (!report_.saliency) return;
    heading(
        fmt::format("{} of \"{}\"",
                    report_.saliency->method == "gradient" ? "gradients" : "integrated gradients",
                    visible(report_.saliency->target)));
    const std::vector<float> values = report_.tensors.at("saliency").to_vector<float>();
    if (report_.picture) {
      const Report::Picture& picture = *report_.picture;
      std::vector<float> patches;
      for (auto i = static_cast<size_t>(picture.prefix); i < values.size(); ++i)
        patches.push_back(std::abs(values[i]));
      text_ += picture_view(picture.frame, from_vector(patches, {picture.rows, picture.columns}),
                            terminal_);
      return;
    }
    bars(report_.saliency->side, values);
  }

  // The last positions that fit, a column each.
  void lens() {
    if (report_.lens.empty()) return;
    heading("the logit lens: what each layer would say");
    const size_t count = report_.lens.front().positions.size();
    const auto room = static_cast<size_t>(std::max((terminal_.width - 16) / 12, 1));
    const size_t first = count > room ? count - room : 0;
    const auto side = report_.sides.find(report_.layers.back().side);
    if (side != report_.sides.end() && side->second.tokens.size() == count) {
      std::string tokens = fitted("", 14);
      for (size_t i = first; i < count; ++i)
        tokens += fmt::format(" {}", fitted(token(side->second.tokens[i].text), 11));
      line(terminal_.faint(tokens));
    }
    for (auto layer = report_.lens.rbegin(); layer != report_.lens.rend(); ++layer) {
      std::string cells = fmt::format("  {}", fitted(layer->name, 12));
      for (size_t i = first; i < count; ++i) {
        const Report::Guess& best = layer->positions[i].front();
        const Colour ink = best.probability > 0.5 ? Colour{10, 12, 24} : Colour{235, 238, 245};
        const Colour ground = weight_colour(0.9 * best.probability * best.probability, true);
        cells += fmt::format(" {}", terminal_.in(ink, ground, fitted(token(best.text), 11)));
      }
      line(cells);
    }
  }

  const Report& report_;
  const ViewOptions& options_;
  const Terminal& terminal_;
  std::string text_;
};

}  // namespace

std::string view_of(const Report& report, const ViewOptions& options) {
  return View(report, options).text();
}

std::string prediction_of(const Report& report, const ViewOptions& options) {
  return View(report, options).only_prediction();
}

std::string map_of(const Report& report, const ViewOptions& options) {
  return View(report, options).only_map();
}

}  // namespace glassformer
