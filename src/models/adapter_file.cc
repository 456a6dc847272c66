#include "models/adapter_file.h"

#include "base/atomic_file.h"
#include "base/check.h"

namespace glassformer {
namespace {

constexpr const char* kConfigName = "adapter_config.json";
constexpr const char* kTensorsName = "adapter_model.safetensors";
constexpr std::string_view kPrefix = "base_model.model.";

// Fields that make another adapter of it wherever they are set.
constexpr const char* kUnsupported[] = {"use_dora",
                                        "lora_bias",
                                        "use_qalora",
                                        "alpha_pattern",
                                        "rank_pattern",
                                        "layer_replication",
                                        "target_parameters",
                                        "trainable_token_indices",
                                        "alora_invocation_tokens",
                                        "arrow_config",
                                        "use_bdlora",
                                        "kasa_config",
                                        "monteclora_config",
                                        "velora_config"};

bool is_set(const Json* value) {
  return value != nullptr && *value != false &&
         !((value->is_object() || value->is_array()) && value->empty());
}

// "query" or ["query", "value"].
std::vector<std::string> names_in(const JsonFields& fields, const char* name) {
  if (!fields.has(name)) return {};
  return fields.at(name).is_string() ? std::vector{fields.text(name)} : fields.texts(name);
}

LoraOptions read_options(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / kConfigName;
  const Json json = read_json(path);
  return adapter_options(JsonFields(json, path.string()));
}

}  // namespace

LoraOptions adapter_options(const JsonFields& fields) {
  const auto refuse = [&](std::string_view name, std::string_view expected) {
    throw UnsupportedError(fmt::format("{}: field '{}': expected {}, found {}", fields.where(),
                                       name, expected, describe(fields.at(name))));
  };
  if (fields.text("peft_type") != "LORA") refuse("peft_type", "\"LORA\"");
  for (const char* name : kUnsupported)
    if (is_set(fields.find(name))) refuse(name, "an adapter without it");
  if (fields.text("bias", "none") != "none") refuse("bias", "\"none\"");
  // Those that start with parts of the weights take them out of the base model.
  if (const Json* start = fields.find("init_lora_weights");
      start != nullptr && start->is_string() && *start != "gaussian" && *start != "orthogonal")
    refuse("init_lora_weights", "a start that leaves the base model as it is");

  LoraOptions options;
  options.rank = fields.integer("r");
  options.alpha = fields.number("lora_alpha");
  options.dropout = fields.number("lora_dropout", 0);
  options.rank_stabilised = fields.boolean("use_rslora", false);
  // A pattern, or a list that other fields narrow, would say something else by itself.
  const bool list = fields.has("target_modules") && fields.at("target_modules").is_array();
  if (list && !is_set(fields.find("layers_to_transform")) &&
      !is_set(fields.find("exclude_modules")))
    options.targets = names_in(fields, "target_modules");
  options.also_trained = names_in(fields, "modules_to_save");
  if (options.rank < 1) fields.fail("r", "at least 1");
  if (!(options.dropout >= 0 && options.dropout < 1)) fields.fail("lora_dropout", "in [0, 1)");
  return options;
}

AdapterFile::AdapterFile(const std::filesystem::path& folder)
    : options_(read_options(folder)), file_(folder / kTensorsName), tensors_(file_.tensors()) {
  for (StoredTensor& tensor : tensors_) {
    require<FileError>(tensor.name.starts_with(kPrefix),
                       "{}: tensor '{}': expected a name that starts with '{}'", where(),
                       tensor.name, kPrefix);
    tensor.name.erase(0, kPrefix.size());
  }
}

const StoredTensor* AdapterFile::find(std::string_view name) const {
  return file_.find(std::string(kPrefix).append(name));
}

Tensor AdapterFile::get(std::string_view name) const {
  used_.emplace(name);
  return file_.get(std::string(kPrefix).append(name));
}

void AdapterFile::check_all_used() const {
  for (const StoredTensor& tensor : tensors_)
    require<FileError>(used_.contains(tensor.name),
                       "{}: tensor '{}{}' {} belongs to no layer of this model that can be adapted",
                       where(), kPrefix, tensor.name, tensor.shape.str());
}

void save_adapter_file(const std::filesystem::path& folder, const AdapterConfig& config,
                       std::vector<std::pair<std::string, Tensor>> tensors) {
  make_folders(folder);
  for (auto& [name, tensor] : tensors) name.insert(0, kPrefix);
  write_safetensors(folder / kTensorsName, tensors);
  const LoraOptions& options = config.options;
  const Json json = {
      {"peft_type", "LORA"},
      {"task_type", nullptr},
      {"base_model_name_or_path", config.base},
      {"inference_mode", true},
      {"r", options.rank},
      {"lora_alpha", options.alpha},
      {"lora_dropout", options.dropout},
      {"use_rslora", options.rank_stabilised},
      {"bias", "none"},
      {"fan_in_fan_out", config.fan_in_fan_out},
      {"init_lora_weights", true},
      {"target_modules", options.targets},
      {"modules_to_save", options.also_trained.empty() ? Json() : Json(options.also_trained)}};
  AtomicFile file(folder / kConfigName);
  file.write(json.dump(2) + "\n");
  file.commit();
}

}  // namespace glassformer
