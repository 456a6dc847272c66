#include "glassformer/inspect/look.h"

#include <memory>

#include <fmt/format.h>

#include "base/check.h"
#include "base/json.h"
#include "cli/commands.h"
#include "cli/look_input.h"
#include "cli/model_options.h"
#include "glassformer/inspect/page.h"

namespace glassformer {
namespace {

struct Options {
  ModelOptions model;
  LookArguments input;
  LookOptions look;
  std::string safetensors, html;
  bool json = false;
};

void run(const Options& options) {
  const Model model = options.model.open();
  const LookInput input = look_input(model, options.model.path, options.input);
  Report report = look(model, input, options.look);
  report.model.name = name_of_model(options.model.path);
  if (!options.safetensors.empty()) write_report(options.safetensors, report);
  if (!options.html.empty()) write_page(report, options.html);
  if (options.json) fmt::print("{}\n", to_json(report));
}

}  // namespace

void add_look(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("look", "looks inside: attention, steps and predictions of one input");
  auto options = std::make_shared<Options>();
  options->model.add_to(*command);
  options->input.add_to(*command);
  command->add_option("--layer", options->look.layers, "keep these layers; all unless given");
  command->add_option("--head", options->look.heads, "keep these heads; all unless given");
  command->add_option("--row", options->look.row, "the query to follow through the equations");
  command->add_option("--probe", options->look.probes,
                      "also the steps of this name; * stands for a part of a name, ** for several");
  command->add_option("--safetensors", options->safetensors, "write all tensors to this file");
  command->add_option("--html", options->html, "write a page that shows it, all in one file");
  command->add_flag("--json", options->json, "for programs");
  command->callback([options] { run(*options); });
}

}  // namespace glassformer
