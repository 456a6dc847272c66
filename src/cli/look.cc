#include "glassformer/inspect/look.h"

#include <memory>

#include <fmt/format.h>

#include "base/atomic_file.h"
#include "cli/commands.h"
#include "cli/look_input.h"
#include "cli/look_view.h"
#include "cli/model_options.h"
#include "glassformer/inspect/page.h"

namespace glassformer {
namespace {

struct Options {
  ModelOptions model;
  LookArguments input;
  LookOptions look;
  std::string png, svg, html, safetensors, colour = "auto", map;
  bool json = false;

  // Files in which everything is written, not only a picture.
  bool writes_reports() const { return !html.empty() || !safetensors.empty(); }
  bool writes_files() const { return !png.empty() || !svg.empty() || writes_reports(); }
};

// The terminal shows one layer; programs and files get all that was not ruled out.
LookOptions look_options(const Options& options, const Model& model) {
  LookOptions look = options.look;
  if (options.json || options.writes_reports()) {
    if (look.rollout == LookOptions::Rollout::kNone)
      look.rollout = LookOptions::Rollout::kAttention;
    look.lens = look.lens || (!options.html.empty() && model.transformer().spec().head.kind ==
                                                           HeadSpec::Kind::kLanguageModel);
    return look;
  }
  look.steps = false;
  if (options.writes_files() || !look.layers.empty()) return look;
  look.layers = {static_cast<int64_t>(model.transformer().spec().last_stack().blocks.size()) - 1};
  return look;
}

void write_text(const std::string& path, const std::string& text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

void run(const Options& options) {
  const Model model = options.model.open();
  const LookSubject subject = look_subject(model, options.model.path, options.input);
  Report report = look(model, subject.input, look_options(options, model));
  report.model.name = name_of_model(options.model.path);
  if (report.generation) report.generation->tree = subject.tree;
  if (!options.png.empty()) write_png(options.png, draw_heat_maps(heat_maps_of(report)));
  if (!options.svg.empty()) write_text(options.svg, heat_maps_svg(heat_maps_of(report)));
  if (!options.html.empty()) write_page({&report, 1}, options.html);
  if (!options.safetensors.empty()) write_report(options.safetensors, report);
  if (options.json)
    fmt::print("{}\n", to_json(report));
  else if (!options.writes_files())
    fmt::print("{}",
               view_of(report, {.terminal = Terminal::of_stdout(options.colour),
                                .map = options.map,
                                .rollout = options.look.rollout != LookOptions::Rollout::kNone}));
}

void add_choices(CLI::App& command, LookOptions& look) {
  const char* group = "What to look at";
  command
      .add_option("--layer", look.layers,
                  "this layer; may be repeated; the terminal shows the last, files all")
      ->allow_extra_args(false)
      ->group(group);
  command.add_option("--head", look.heads, "this head; may be repeated; all unless given")
      ->allow_extra_args(false)
      ->group(group);
  command
      .add_option("--row", look.row,
                  "the query to follow; where the prediction is made unless given")
      ->group(group);
  command
      .add_option("--probe", look.probes,
                  "also the steps of this name; * stands for a part of a name, ** for several")
      ->allow_extra_args(false)
      ->group(group);
  command
      .add_option("--ablate", look.ablate,
                  "look without this step or head: decoder.3.self_attention.head.5")
      ->allow_extra_args(false)
      ->group(group);
  command
      .add_option_function<std::string>(
          "--ablate-to",
          [&look](const std::string& to) {
            look.ablate_to = to == "mean" ? Ablation::To::kMean : Ablation::To::kZero;
          },
          "what stands in its place: zero, or the mean over the tokens")
      ->check(CLI::IsMember({"zero", "mean"}))
      ->group(group);
  command.add_option("--top", look.top, "how many predictions to list")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str()
      ->group(group);
  command.add_flag("--lens", look.lens, "what every layer would say")->group(group);
  command
      .add_option_function<std::string>(
          "--rollout",
          [&look](const std::string& kind) {
            look.rollout = kind == "gradient" ? LookOptions::Rollout::kGradient
                                              : LookOptions::Rollout::kAttention;
          },
          "how the output depends on the input through all layers: attention or gradient")
      ->check(CLI::IsMember({"attention", "gradient"}))
      ->group(group);
  command
      .add_option_function<std::string>(
          "--saliency",
          [&look](const std::string& kind) {
            look.saliency = kind == "gradient" ? LookOptions::Saliency::kGradient
                                               : LookOptions::Saliency::kIntegratedGradients;
          },
          "what the prediction depends on: gradient or integrated")
      ->check(CLI::IsMember({"gradient", "integrated"}))
      ->group(group);
}

}  // namespace

void add_look(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "look", "looks inside: the attention, steps and prediction of one text or picture");
  auto options = std::make_shared<Options>();
  options->model.add_to(*command);
  options->input.add_to(*command);
  add_choices(*command, options->look);
  const char* group = "Where to show it (the terminal unless given)";
  command->add_option("--map", options->map, "the map to show: encoder, decoder or cross")
      ->check(CLI::IsMember({"encoder", "decoder", "cross"}))
      ->group(group);
  command->add_option("--color", options->colour, "colours: auto, always or never")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->group(group);
  command->add_option("--png", options->png, "draw the maps as a PNG file")->group(group);
  command->add_option("--svg", options->svg, "draw the maps as an SVG file, with the tokens")
      ->group(group);
  command->add_option("--html", options->html, "write a page that shows everything, in one file")
      ->group(group);
  command->add_option("--safetensors", options->safetensors, "write all tensors to this file")
      ->group(group);
  command->add_flag("--json", options->json, "everything, for programs")->group(group);
  command->callback([options] { run(*options); });
}

}  // namespace glassformer
