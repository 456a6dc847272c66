#include "training/model_setup.h"

#include "base/check.h"
#include "glassformer/nn/random_weights.h"

namespace glassformer {
namespace {

namespace fs = std::filesystem;

// What Hugging Face puts behind a family's name for the task's head.
const char* head_of(Task task) {
  switch (task) {
    case Task::kMaskedLm: return "ForMaskedLM";
    case Task::kSequenceClassification: return "ForSequenceClassification";
    case Task::kTokenClassification: return "ForTokenClassification";
    case Task::kImageClassification: return "ForImageClassification";
    case Task::kEmbedding: return "Model";
    default: return "";
  }
}

// "BertModel" or "BertForMaskedLM" → "BertForSequenceClassification". The task's own where that is
// what it is, or where the family has but one.
std::string architecture_for(Task task, const std::string& architecture) {
  const std::string head = head_of(task);
  if (head.empty() || architecture.ends_with(head)) return architecture;
  for (const char* other :
       {"ForMaskedLM", "ForSequenceClassification", "ForTokenClassification",
        "ForQuestionAnswering", "ForImageClassification", "ForPreTraining", "Model"})
    if (architecture.ends_with(other))
      return architecture.substr(0, architecture.size() - std::string_view(other).size()) + head;
  return architecture;
}

std::vector<std::string> labels_of(const TrainConfig& config) {
  const JsonFields data(config.data, "data");
  return data.has("labels") ? data.texts("labels") : std::vector<std::string>{};
}

void set_labels(Json& json, const std::vector<std::string>& labels) {
  if (labels.empty()) return;
  json["id2label"] = json["label2id"] = Json::object();
  for (size_t i = 0; i < labels.size(); ++i) {
    json["id2label"][std::to_string(i)] = labels[i];
    json["label2id"][labels[i]] = i;
  }
}

// Fields that the configuration leaves to the tokenizer.
void set_vocabulary(Json& json, Task task, const Tokenizer& tokenizer) {
  const auto set = [&](const char* name, std::optional<int64_t> value) {
    if (value && !json.contains(name)) json[name] = *value;
  };
  const SpecialIds& ids = tokenizer.special_ids();
  set("vocab_size", static_cast<int64_t>(tokenizer.vocabulary_size()));
  set("pad_token_id", ids.pad);
  set("bos_token_id", ids.bos ? ids.bos : ids.eos);
  set("eos_token_id", ids.eos);
  if (task != Task::kSequenceToSequence) return;
  set("decoder_start_token_id", ids.pad);
  set("forced_eos_token_id", ids.eos);
}

Json new_config(const TrainConfig& config, const Tokenizer* tokenizer) {
  Json json = JsonFields(config.model, "model").object("config").json();
  if (tokenizer != nullptr) set_vocabulary(json, config.task, *tokenizer);
  set_labels(json, labels_of(config));
  return json;
}

// What fine-tuning changes in the configuration of a model.
std::string config_changes(const TrainConfig& config, const fs::path& from) {
  Json changes = config.model.contains("config") ? config.model["config"] : Json::object();
  const Json own = read_json(from / "config.json");
  const JsonFields fields(own, (from / "config.json").string());
  if (fields.has("architectures") && !changes.contains("architectures")) {
    const std::vector<std::string> names = fields.texts("architectures");
    if (!names.empty()) changes["architectures"] = {architecture_for(config.task, names.front())};
  }
  set_labels(changes, labels_of(config));
  return changes.dump();
}

LoraOptions lora_of(const JsonFields& fields, uint64_t seed) {
  fields.reject_unknown({"rank", "alpha", "dropout", "rank_stabilised", "targets", "also_trained"});
  LoraOptions lora{.seed = seed};
  lora.rank = fields.integer("rank", lora.rank);
  lora.alpha = fields.number("alpha", lora.alpha);
  lora.dropout = fields.number("dropout", lora.dropout);
  lora.rank_stabilised = fields.boolean("rank_stabilised", lora.rank_stabilised);
  lora.targets = fields.texts("targets");
  if (fields.has("also_trained")) lora.also_trained = fields.texts("also_trained");
  return lora;
}

Model open_model(const TrainConfig& config, const Tokenizer* tokenizer,
                 const std::optional<fs::path>& checkpoint) {
  LoadOptions load{.purpose = LoadOptions::Purpose::kTraining};
  if (checkpoint && config.lora.is_null()) return Model::open(*checkpoint, load);
  const JsonFields fields(config.model, "model");
  fields.reject_unknown({"from", "config"});
  require<ValueError>(config.lora.is_null() || fields.has("from"),
                      "lora: expected a model to fine-tune, in model.from");
  if (!fields.has("from"))
    return Model::create(new_config(config, tokenizer).dump(2) + "\n", config.trainer.seed);
  const fs::path from = config.folder / fields.text("from");
  load.config_changes = config_changes(config, from);
  load.new_head = config.trainer.seed;
  if (!config.lora.is_null()) {
    if (checkpoint)
      load.adapter = *checkpoint;
    else
      load.lora = lora_of(JsonFields(config.lora, "lora"), config.trainer.seed);
  }
  return Model::open(from, load);
}

Mlp open_mlp(const TrainConfig& config, const std::optional<fs::path>& checkpoint) {
  if (checkpoint) return Mlp::open(*checkpoint, /*trainable=*/true);
  const JsonFields fields(config.model, "model");
  fields.reject_unknown({"config"});
  RandomWeights weights(config.trainer.seed);
  return {Mlp::spec_of(fields.object("config").json().dump(), "model: config"), weights};
}

ModelSetup with(Mlp mlp) {
  ModelSetup setup;
  setup.classes = mlp.spec().outputs;
  setup.learner = std::make_unique<MlpLearner>(std::move(mlp));
  return setup;
}

ModelSetup with(const TrainConfig& config, Model model) {
  ModelSetup setup;
  setup.model = std::move(model);
  setup.labels = setup.model->config().labels;
  setup.classes = setup.model->transformer().spec().head.outputs;
  std::optional<SentencePooling> pooling;
  if (config.task == Task::kEmbedding) {
    pooling.emplace();
    if (config.model.contains("from"))
      pooling = SentencePooling::load(config.folder / config.model["from"].get<std::string>());
  }
  setup.learner = std::make_unique<ModelLearner>(*setup.model, config.precision, pooling);
  return setup;
}

}  // namespace

ModelSetup set_up_model(const TrainConfig& config, const Tokenizer* tokenizer,
                        const std::optional<fs::path>& checkpoint) {
  if (config.task == Task::kTable) return with(open_mlp(config, checkpoint));
  return with(config, open_model(config, tokenizer, checkpoint));
}

ModelSetup open_trained(const TrainConfig& config, const fs::path& folder) {
  if (config.task == Task::kTable) return with(Mlp::open(folder));
  return with(config, Model::open(folder, {.purpose = LoadOptions::Purpose::kTraining}));
}

DataContext data_context(const TrainConfig& config, const ModelSetup& setup,
                         const Tokenizer* tokenizer) {
  DataContext context{.task = config.task, .folder = config.folder, .tokenizer = tokenizer};
  context.labels.names = labels_of(config);
  context.labels.count = setup.classes;
  context.labels.numbers = setup.classes == 1;
  const JsonFields data(config.data, "data");
  context.max_length = data.integer("max_length", 0);
  if (!setup.model) return context;
  const ModelConfig& model = setup.model->config();
  if (context.max_length == 0) context.max_length = model.max_positions;
  context.pad_id = model.padding.value_or(0);
  context.decoder_start_id = model.decoder_start.value_or(context.pad_id);
  if (tokenizer != nullptr) {
    context.mask_id = tokenizer->special_ids().mask;
    context.end_id = tokenizer->special_ids().eos;
  }
  if (const auto& image = setup.model->transformer().spec().image) {
    context.images.height = image->height;
    context.images.width = image->width;
    context.images.channels = image->channels;
  }
  return context;
}

}  // namespace glassformer
