#include "glassformer/models/model.h"

#include "base/atomic_file.h"
#include "base/check.h"
#include "base/json.h"
#include "base/mapped_file.h"
#include "glassformer/autograd/no_grad.h"
#include "glassformer/checkpoint/weights.h"
#include "glassformer/nn/random_weights.h"
#include "glassformer/ops/copy.h"
#include "models/gguf_recipe.h"
#include "models/loaded_weights.h"
#include "models/recipe.h"

namespace glassformer {

struct Model::Content {
  ModelConfig config;
  NameMap names;
  std::unique_ptr<Transformer> transformer;
};

namespace {

std::optional<int64_t> optional_id(const JsonFields& fields, std::string_view name) {
  return fields.has(name) ? std::optional(fields.integer(name)) : std::nullopt;
}

// The labels in the order of their numbers.
std::vector<std::string> labels_of(const JsonFields& fields) {
  std::vector<std::string> labels;
  if (!fields.has("id2label")) return labels;
  const JsonFields by_id = fields.object("id2label");
  for (size_t i = 0; i < by_id.json().size(); ++i) labels.push_back(by_id.text(std::to_string(i)));
  return labels;
}

int64_t max_positions_of(const TransformerSpec& spec) {
  if (!spec.tokens) return 0;
  const PositionSpec& positions = spec.tokens->positions;
  if (positions.kind == PositionSpec::Kind::kLearned)
    return positions.max_positions - positions.first_row;
  return spec.last_stack().positions.max_positions;
}

ModelConfig config_of(const JsonFields& fields, std::string text, const TransformerSpec& spec) {
  ModelConfig config;
  config.json = std::move(text);
  config.model_type = fields.text("model_type");
  if (fields.has("architectures")) {
    const std::vector<std::string> names = fields.texts("architectures");
    if (!names.empty()) config.architecture = names.front();
  }
  config.labels = labels_of(fields);
  config.padding = optional_id(fields, "pad_token_id");
  config.begin = optional_id(fields, "bos_token_id");
  config.decoder_start = optional_id(fields, "decoder_start_token_id");
  if (const Json* end = fields.find("eos_token_id"); end != nullptr)
    config.end = end->is_array() ? fields.integers("eos_token_id")
                                 : std::vector{fields.integer("eos_token_id")};
  config.max_positions = max_positions_of(spec);
  return config;
}

std::string read_text(const std::filesystem::path& path) {
  const MappedFile file(path);
  return {reinterpret_cast<const char*>(file.data()), file.bytes()};
}

// What to compute in where the file decides. float16 is a form to store: it is computed in float32.
DType stored_dtype(const StoredTensors& stored) {
  for (const StoredTensor& tensor : stored.tensors()) {
    if (tensor.type == "BF16") return DType::kBFloat16;
    if (tensor.type == "F64") return DType::kFloat64;
  }
  return DType::kFloat32;
}

// Weights to train: copies that ask for gradients.
class TrainableWeights : public WeightSource {
 public:
  explicit TrainableWeights(WeightSource& source) : source_(source) {}
  bool contains(const std::string& name) const override { return source_.contains(name); }
  Tensor get(const std::string& name, const Shape& shape, const Initial& initial) override {
    return clone(source_.get(name, shape, initial)).set_requires_grad();
  }

 private:
  WeightSource& source_;
};

// config.json of what is saved: as it came, but for what the weights are written in.
std::string saved_config(const std::string& text,
                         const std::optional<QuantizationConfig>& quantization,
                         std::optional<DType> dtype) {
  if (!quantization && !dtype) return text;
  Json json = parse_json(text, "config.json");
  if (quantization) json["quantization_config"] = to_json(*quantization);
  if (dtype) json[json.contains("dtype") ? "dtype" : "torch_dtype"] = name_of(*dtype);
  return json.dump(2) + "\n";
}

// Whether the file's names start with that of the base model ("bert.").
bool has_prefix(const StoredTensors& stored, const std::string& prefix) {
  for (const StoredTensor& tensor : stored.tensors())
    if (tensor.name.starts_with(prefix)) return true;
  return false;
}

// Heads that a checkpoint may come without: the pooler of a base model is then left out.
void drop_missing_head(const LoadedWeights& weights, TransformerSpec& spec) {
  if (spec.head.kind == HeadSpec::Kind::kPooler && !weights.contains("head.dense.weight"))
    spec.head = {};
  if (spec.head.kind == HeadSpec::Kind::kLanguageModel && spec.head.tied && spec.head.bias &&
      !weights.contains("head.output.bias"))
    spec.head.bias = false;
}

}  // namespace

Model Model::load(const std::string& config_text, const std::string& where, Recipe recipe,
                  const StoredTensors& stored, const LoadOptions& options) {
  if (!has_prefix(stored, recipe.names.prefix())) recipe.names.drop_prefix();
  std::optional<DType> dtype = options.dtype;
  if (!dtype && options.purpose != LoadOptions::Purpose::kReading) dtype = stored_dtype(stored);
  const Json json = parse_json(config_text, where);
  LoadedWeights weights(
      stored, recipe.names,
      {.dtype = dtype,
       .device = options.device,
       .quantization = quantization_of(JsonFields(json, where)),
       .int8_activations = options.activations == LoadOptions::Activations::kInt8});
  drop_missing_head(weights, recipe.spec);
  auto content = std::make_shared<Content>();
  content->config = config_of(JsonFields(json, where), config_text, recipe.spec);
  content->names = recipe.names;
  if (options.purpose == LoadOptions::Purpose::kTraining) {
    TrainableWeights trainable(weights);
    content->transformer = std::make_unique<Transformer>(recipe.spec, trainable);
  } else {
    const bool pack = options.purpose == LoadOptions::Purpose::kInference;
    content->transformer = std::make_unique<Transformer>(recipe.spec, weights, pack);
  }
  return Model(content);
}

Model Model::open(const std::filesystem::path& path, const LoadOptions& options) {
  if (path.extension() == ".gguf") {
    const GgufFile file(path);
    const Json json = gguf_config(file);
    const Recipe recipe = gguf_recipe(file, JsonFields(json, path.string()));
    return load(json.dump(2), path.string(), recipe, file, options);
  }
  require<FileError>(std::filesystem::is_directory(path),
                     "{}: expected a model folder or a .gguf file, found neither", path.string());
  const std::filesystem::path config_path = path / "config.json";
  const std::string text = read_text(config_path);
  const Json json = parse_json(text, config_path.string());
  const Recipe recipe = make_recipe(JsonFields(json, config_path.string()));
  return load(text, config_path.string(), recipe, *open_weights(path), options);
}

Model Model::create(const std::string& config_json, uint64_t seed, TensorOptions options) {
  const Json json = parse_json(config_json, "configuration");
  const JsonFields fields(json, "configuration");
  Recipe recipe = make_recipe(fields);
  const HeadSpec::Kind head = recipe.spec.head.kind;
  if (head == HeadSpec::Kind::kNone || head == HeadSpec::Kind::kPooler) recipe.names.drop_prefix();
  RandomWeights weights(seed, options);
  auto content = std::make_shared<Content>();
  content->config = config_of(fields, config_json, recipe.spec);
  content->names = recipe.names;
  content->transformer = std::make_unique<Transformer>(recipe.spec, weights);
  return Model(content);
}

void Model::save(const std::filesystem::path& folder, const SaveOptions& options) const {
  std::vector<Parameter> parameters = transformer().parameters();
  for (Parameter& parameter : parameters) {
    require<UnsupportedError>(!parameter.quantised.defined(),
                              "{}: expected a model of floating weights to save, found one that is "
                              "quantised already",
                              folder.string());
    const NoGrad no_grad;
    if (options.dtype) parameter.value = cast(parameter.value, *options.dtype);
  }
  std::optional<QuantizationConfig> quantization;
  if (options.scheme) quantization = {*options.scheme, options.group};
  save_weights(folder,
               stored_parameters(parameters, content_->names, quantization, options.progress));
  AtomicFile file(folder / "config.json");
  file.write(saved_config(config().json, quantization, options.dtype));
  file.commit();
}

std::string Model::stored_name(const std::string& name) const {
  return content_->names.find(name).front().name;
}

const Transformer& Model::transformer() const { return *content_->transformer; }

const ModelConfig& Model::config() const { return content_->config; }

}  // namespace glassformer
