#include "training/config.h"

#include "base/check.h"
#include "base/named_choice.h"
#include "training/yaml.h"

namespace glassformer {
namespace {

namespace fs = std::filesystem;

// A nested object, or an empty one where it is absent.
struct Section {
  Section(const JsonFields& parent, std::string_view name,
          const std::vector<std::string_view>& known)
      : json(parent.has(name) ? parent.at(name) : Json::object()),
        fields(json, fmt::format("{}: {}", parent.where(), name)) {
    fields.reject_unknown(known);
  }
  Json json;
  JsonFields fields;
};

int64_t count_of(const JsonFields& fields, std::string_view name, int64_t otherwise) {
  const int64_t value = fields.integer(name, otherwise);
  if (value < 0) fields.fail(name, "0 or more");
  return value;
}

OptimizerOptions optimizer_of(const JsonFields& fields, Precision precision) {
  OptimizerOptions options;
  options.kind = optimizer_kind(fields.text("kind", "adamw"));
  if (options.kind == OptimizerOptions::Kind::kLion) options.beta2 = 0.99;
  options.beta1 = fields.number("beta1", options.beta1);
  options.beta2 = fields.number("beta2", options.beta2);
  options.epsilon = fields.number("epsilon", options.epsilon);
  options.weight_decay = fields.number("weight_decay", options.weight_decay);
  options.momentum = fields.number("momentum", options.momentum);
  options.nesterov = fields.boolean("nesterov", options.nesterov);
  options.layer_decay = fields.number("layer_decay", options.layer_decay);
  using Decay = OptimizerOptions::Decay;
  options.decay = named_choice<Decay>(fields.where() + ": decay", fields.text("decay", "matrices"),
                                      {{"matrices", Decay::kMatrices}, {"all", Decay::kAll}});
  options.stochastic_rounding = precision == Precision::kBFloat16Stochastic;
  return options;
}

void read_optimizer(const JsonFields& fields, TrainConfig& config) {
  const Section section(fields, "optimizer",
                        {"kind", "lr", "beta1", "beta2", "epsilon", "weight_decay", "momentum",
                         "nesterov", "decay", "layer_decay", "clip_norm", "shard"});
  config.trainer.optimizer = optimizer_of(section.fields, config.precision);
  config.trainer.schedule.peak = section.fields.number("lr", config.trainer.schedule.peak);
  config.trainer.clip_norm = section.fields.number("clip_norm", 0);
  config.trainer.shard_optimizer = section.fields.boolean("shard", false);
}

void read_schedule(const JsonFields& fields, TrainConfig& config) {
  const Section section(fields, "schedule", {"kind", "warmup_steps", "final_lr"});
  Schedule& schedule = config.trainer.schedule;
  schedule.kind = schedule_kind(section.fields.text("kind", "constant"));
  schedule.warmup_steps = count_of(section.fields, "warmup_steps", 0);
  schedule.final = section.fields.number("final_lr", 0);
}

void read_batch(const JsonFields& fields, TrainConfig& config) {
  const Section section(fields, "batch", {"size", "tokens", "accumulate", "drop_last"});
  BatchOptions& batch = config.trainer.batch;
  batch.size = count_of(section.fields, "size", section.fields.has("tokens") ? 0 : 32);
  batch.tokens = count_of(section.fields, "tokens", 0);
  batch.drop_last = section.fields.boolean("drop_last", false);
  config.trainer.accumulate = section.fields.integer("accumulate", 1);
}

double from_zero(const JsonFields& fields, const char* name) {
  const double value = fields.number(name, 0);
  require<ValueError>(value >= 0, "{}: {}: expected a number from 0, found {}", fields.where(),
                      name, value);
  return value;
}

void read_ends(const JsonFields& fields, TrainConfig& config) {
  TrainerOptions& trainer = config.trainer;
  trainer.steps = count_of(fields, "steps", 0);
  trainer.epochs = count_of(fields, "epochs", 0);
  trainer.evaluate_every = count_of(fields, "evaluate_every", 0);
  const Section checkpoint(fields, "checkpoint", {"every", "keep"});
  trainer.checkpoint_every = count_of(checkpoint.fields, "every", 0);
  trainer.keep = checkpoint.fields.integer("keep", 2);
  const Section stopping(fields, "early_stopping", {"patience"});
  trainer.patience = count_of(stopping.fields, "patience", 0);
  const Section average(fields, "average", {"last", "ema"});
  config.average_last = count_of(average.fields, "last", 0);
  trainer.ema = average.fields.number("ema", 0);
  require<ValueError>(config.average_last == 0 || trainer.ema == 0,
                      "{}: average: expected one of last and ema, found both", fields.where());
  trainer.keep = std::max(trainer.keep, config.average_last);
}

void set_field(Json& json, const std::string& path, const std::string& value) {
  Json* at = &json;
  for (size_t begin = 0;;) {
    const size_t dot = path.find('.', begin);
    const std::string name = path.substr(begin, dot - begin);
    require<ValueError>(!name.empty() && (at->is_object() || at->is_null()),
                        "--{}: expected a field of the configuration", path);
    at = &(*at)[name];
    if (dot == std::string::npos) break;
    begin = dot + 1;
  }
  const Json parsed = Json::parse(value, nullptr, /*allow_exceptions=*/false);
  *at = parsed.is_discarded() ? Json(value) : parsed;
}

}  // namespace

TrainConfig parse_train_config(Json json, const std::string& where, const fs::path& folder) {
  TrainConfig config{.folder = folder, .json = std::move(json)};
  const JsonFields fields(config.json, where);
  fields.reject_unknown({"task",           "output",         "seed",
                         "model",          "tokenizer",      "data",
                         "lora",           "precision",      "batch",
                         "optimizer",      "schedule",       "steps",
                         "epochs",         "evaluate_every", "checkpoint",
                         "early_stopping", "average",        "label_smoothing",
                         "temperature",    "r_drop",         "adversarial",
                         "recompute",      "threads"});
  config.task = task_of(fields.text("task"));
  config.model = fields.object("model").json();
  config.data = fields.object("data").json();
  if (fields.has("tokenizer")) config.tokenizer = fields.object("tokenizer").json();
  if (fields.has("lora")) config.lora = fields.object("lora").json();
  config.precision =
      named_choice<Precision>(where + ": precision", fields.text("precision", "float32"),
                              {{"float32", Precision::kFloat32},
                               {"bfloat16", Precision::kBFloat16},
                               {"bfloat16_stochastic", Precision::kBFloat16Stochastic}});
  config.threads = static_cast<int>(std::min<int64_t>(count_of(fields, "threads", 0), 1024));
  TrainerOptions& trainer = config.trainer;
  trainer.output = (folder / fields.text("output")).lexically_normal();
  trainer.seed = static_cast<uint64_t>(count_of(fields, "seed", 0));
  trainer.recompute = fields.boolean("recompute", false);
  trainer.objective = {config.task, from_zero(fields, "label_smoothing"),
                       fields.number("temperature", 0.05), from_zero(fields, "r_drop"),
                       from_zero(fields, "adversarial")};
  read_optimizer(fields, config);
  read_schedule(fields, config);
  read_batch(fields, config);
  read_ends(fields, config);
  return config;
}

TrainConfig read_train_config(const fs::path& path, const Overrides& overrides) {
  const std::string extension = path.extension().string();
  require<ValueError>(extension == ".json" || extension == ".yaml" || extension == ".yml",
                      "{}: expected a .json, .yaml or .yml file", path.string());
  Json json = read_json(path, extension == ".json" ? parse_json : parse_yaml);
  require<FileError>(json.is_object(), "{}: expected an object, found {}", path.string(),
                     describe(json));
  for (const auto& [field, value] : overrides) set_field(json, field, value);
  return parse_train_config(std::move(json), path.string(), path.parent_path());
}

}  // namespace glassformer
