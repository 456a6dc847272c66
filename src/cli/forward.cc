#include <memory>

#include <fmt/format.h>

#include "base/json.h"
#include "cli/commands.h"
#include "cli/model_options.h"
#include "glassformer/checkpoint/safetensors.h"
#include "glassformer/inspect/named_pass.h"

namespace glassformer {
namespace {

struct Options {
  ModelOptions model;
  std::string input, output;
  NamedPassOptions pass;
  bool json = false;
};

void run(const Options& options) {
  const SafetensorsFile file(options.input);
  NamedTensors inputs;
  for (const StoredTensor& tensor : file.tensors()) inputs[tensor.name] = file.get(tensor.name);
  const Model model = options.model.open();
  const NamedTensors outputs = named_pass(model, inputs, options.pass);
  const std::vector<std::pair<std::string, Tensor>> named(outputs.begin(), outputs.end());
  write_safetensors(options.output, named);

  Json shapes = Json::object();
  for (const auto& [name, tensor] : outputs) {
    if (!options.json)
      fmt::print("{} {} {}\n", name, tensor.shape().str(), name_of(tensor.dtype()));
    shapes[name] = {{"shape", std::vector(tensor.shape().begin(), tensor.shape().end())},
                    {"dtype", name_of(tensor.dtype())}};
  }
  if (options.json) fmt::print("{}\n", shapes.dump(2));
}

}  // namespace

void add_forward(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "forward", "one raw pass: named inputs in, named outputs and asked-for steps out");
  auto options = std::make_shared<Options>();
  options->model.add_to(*command);
  command->add_option("IN", options->input, "safetensors file: input_ids, attention_mask, ...")
      ->required();
  command->add_option("OUT", options->output, "safetensors file to write: logits, ...")->required();
  command->add_flag("--attentions", options->pass.attentions,
                    "also the weights of every attention");
  command->add_flag("--hidden-states", options->pass.hidden_states, "also what every layer gave");
  command->add_option("--probe", options->pass.probes,
                      "also the steps of this name; * stands for a part of a name, ** for several");
  command->add_flag("--json", options->json, "print the outputs' shapes for programs");
  command->callback([options] { run(*options); });
}

}  // namespace glassformer
