#include "cli/model_options.h"

#include "cli/bundled.h"
#include "cli/numbers.h"
#include "glassformer/base/threads.h"

namespace glassformer {

void add_model_argument(CLI::App& command, std::string& path, const std::string& kinds) {
  command.add_option("MODEL", path, kinds + ", or the name of a bundled model")
      ->required()
      ->transform([](const std::string& given) { return model_path(given).string(); }, "", "");
}

void ModelOptions::add_to(CLI::App& command) {
  add_model_argument(command, path);
  command
      .add_option("--dtype", dtype, "what to compute in: float32, bfloat16, or that of the file")
      ->check(CLI::IsMember({"float32", "bfloat16", "float64", "auto"}))
      ->capture_default_str();
  command
      .add_option("--device", device, "where to compute; ref is slow, and simple to check against")
      ->check(CLI::IsMember({"cpu", "cuda", "ref"}))
      ->capture_default_str();
  command
      .add_option("--activations", activations,
                  "what quantised weights are multiplied with: int8 is faster, float nearer")
      ->check(CLI::IsMember({"int8", "float"}))
      ->capture_default_str();
  command.add_option("--adapter", adapter,
                     "a LoRA adapter of the model, a folder as PEFT saves it");
  command.add_option("--threads", threads, "how many threads to use; all cores unless given")
      ->check(at_least_one());
}

Model ModelOptions::open() const {
  if (threads > 0) set_num_threads(threads);
  LoadOptions load;
  load.dtype = dtype == "auto" ? std::nullopt : std::optional(dtype_from_name(dtype));
  load.device = device_from_name(device);
  load.activations =
      activations == "int8" ? LoadOptions::Activations::kInt8 : LoadOptions::Activations::kFloat;
  load.adapter = adapter;
  return Model::open(path, load);
}

}  // namespace glassformer
