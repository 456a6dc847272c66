#include "glassformer/models/model.h"

#include <map>

#include "base/atomic_file.h"
#include "base/check.h"
#include "base/json.h"
#include "base/mapped_file.h"
#include "glassformer/autograd/no_grad.h"
#include "glassformer/checkpoint/weights.h"
#include "glassformer/nn/random_weights.h"
#include "glassformer/ops/copy.h"
#include "glassformer/ops/view.h"
#include "models/adapter.h"
#include "models/gguf_recipe.h"
#include "models/loaded_weights.h"
#include "models/recipe.h"

namespace glassformer {

struct Model::Content {
  ModelConfig config;
  NameMap names;      // of the weights in its file
  NameMap modules;    // of the same in Hugging Face's class, where the file may leave a prefix out
  std::string where;  // it came from
  std::optional<Adapter> adapter;       // that is being trained
  std::optional<NameMap> folder_names;  // to save under, where they are others
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

// Weights from a file, and new ones for a head that it does not have.
class WithNewHead : public WeightSource {
 public:
  WithNewHead(WeightSource& source, uint64_t seed, TensorOptions options)
      : source_(source), fresh_(seed, options) {}
  bool contains(const std::string& name) const override {
    return is_new(name) || source_.contains(name);
  }
  Tensor get(const std::string& name, const Shape& shape, const Initial& initial) override {
    return is_new(name) ? fresh_.get(name, shape, initial).detach()
                        : source_.get(name, shape, initial);
  }
  WeightMatrix matrix(const std::string& name, const Shape& shape,
                      const Initial& initial) override {
    return is_new(name) ? WeightSource::matrix(name, shape, initial)
                        : source_.matrix(name, shape, initial);
  }

 private:
  bool is_new(const std::string& name) const {
    return name.starts_with("head.") && !source_.contains(name);
  }
  WeightSource& source_;
  RandomWeights fresh_;
};

// config.json with the changes that fine-tuning for another task makes.
std::string changed_config(const std::string& text, const std::string& where,
                           const std::string& changes) {
  if (changes.empty()) return text;
  Json json = parse_json(text, where);
  json.merge_patch(parse_json(changes, "config_changes"));
  return json.dump(2) + "\n";
}

// The weights of another model, copied. With an adapter, what it trains asks for gradients alone.
class CopiedWeights : public WeightSource {
 public:
  CopiedWeights(const std::vector<Parameter>& parameters, const std::optional<Adapter>& adapter,
                std::optional<DType> dtype, bool trainable)
      : dtype_(dtype), trainable_(trainable), adapter_(adapter) {
    for (const Parameter& parameter : parameters) {
      require<UnsupportedError>(parameter.value.defined(),
                                "copy of a model: weight '{}' is quantised", parameter.name);
      values_.emplace(parameter.name, parameter);
    }
  }
  bool contains(const std::string& name) const override { return values_.contains(name); }
  Tensor get(const std::string& name, const Shape& /*shape*/, const Initial& /*init*/) override {
    return copied(values_.at(name).value, values_.at(name).dtype);
  }
  LowRank low_rank(const std::string& name, const Shape& /*shape*/) override {
    if (!adapter_ || !adapter_->pairs.contains(name)) return {};
    LowRank& pair = adapter_->pairs.at(name);
    Tensor& a = shared_[pair.a.storage().get()];
    if (!a.defined()) a = copied(pair.a, pair.a.dtype());
    pair.a = a;
    pair.b = copied(pair.b, pair.b.dtype());
    return pair;
  }
  // With the pairs that were handed out.
  std::optional<Adapter> take_adapter() { return std::move(adapter_); }

 private:
  Tensor copied(const Tensor& value, DType computed) const {
    const NoGrad no_grad;
    const DType dtype = dtype_.value_or(computed);
    return (value.dtype() == dtype ? clone(value) : cast(value, dtype))
        .set_requires_grad(trainable_ && (!adapter_ || value.requires_grad()));
  }

  std::optional<DType> dtype_;
  bool trainable_;
  std::optional<Adapter> adapter_;
  std::map<std::string, Parameter> values_;
  std::map<const void*, Tensor> shared_;  // the a of pairs that have one in common, by the old one
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

// Codes can be written as they are, where folders have their scheme. Quantising the numbers that
// they stand for once more would lose more, unseen.
void check_codes(const Parameter& parameter, const SaveOptions& options, const std::string& where) {
  const QuantisedTensor& codes = parameter.quantised;
  if (!codes.defined()) return;
  const bool ours = codes.scheme == QuantScheme::kInt8 || codes.scheme == QuantScheme::kInt4;
  require<UnsupportedError>(ours && !options.scheme && !options.dtype,
                            "{}: expected a model of floating weights to save{}, found one that is "
                            "quantised already ({})",
                            where, ours ? " in another type" : "", name_of(codes.scheme));
}

// Llama's queries and keys as folders have them: GGUF files have the two elements of a rotated pair
// side by side, folders half a head apart.
Tensor with_halves_apart(const Tensor& x, int64_t heads) {
  const int64_t rows = x.size(0), rest = x.count() / rows;
  const Tensor pairs = reshape(contiguous(x), {heads, rows / heads / 2, 2, rest});
  return reshape(contiguous(transpose(pairs, 1, 2)), x.shape());
}

void undo_interleaving(std::vector<Parameter>& parameters, const StackSpec& stack) {
  for (size_t i = 0; i < stack.blocks.size(); ++i) {
    const std::string place = fmt::format("decoder.{}.self_attention.", i);
    const AttentionSpec& spec = stack.blocks[i].self_attention;
    for (Parameter& parameter : parameters) {
      if (parameter.name.starts_with(place + "query."))
        parameter.value = with_halves_apart(parameter.value, spec.heads);
      if (parameter.name.starts_with(place + "key."))
        parameter.value = with_halves_apart(parameter.value, spec.key_heads);
    }
  }
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

// A base model has no module around it.
NameMap module_names(const Recipe& recipe) {
  NameMap names = recipe.names;
  const HeadSpec::Kind head = recipe.spec.head.kind;
  if (head == HeadSpec::Kind::kNone || head == HeadSpec::Kind::kPooler) names.drop_prefix();
  return names;
}

void check_adapter_options(const LoadOptions& options) {
  require<ValueError>(!options.lora || options.adapter.empty(),
                      "open: expected new low-rank pairs or those of an adapter ({}), found both",
                      options.adapter.string());
  require<ValueError>(!options.lora || options.purpose == LoadOptions::Purpose::kTraining,
                      "open: expected low-rank pairs only where a model is opened to be trained");
}

// PEFT trains a copy of such a table and leaves its other uses as they were: another model.
void check_not_shared(const Adapter& adapter, const TransformerSpec& spec) {
  if (!spec.head.tied && !spec.shared_tokens) return;
  for (const std::string& name : adapter.trained)
    require<UnsupportedError>(
        !name.ends_with("tokens.weight"),
        "adapter: expected to train no table that the model uses twice, found '{}'", name);
}

}  // namespace

void Model::build(Content& content, const TransformerSpec& spec, WeightSource& weights,
                  const LoadOptions& options) {
  const bool trains = options.purpose == LoadOptions::Purpose::kTraining;
  const bool pack = options.purpose == LoadOptions::Purpose::kInference;
  if (options.lora || !options.adapter.empty()) {
    std::optional<AdapterFile> file;
    if (!options.lora) file.emplace(options.adapter);
    AdaptedWeights adapted(weights, content.modules, file ? &*file : nullptr,
                           file ? file->options() : *options.lora,
                           {.dtype = options.dtype, .device = options.device},
                           trains ? AdaptedWeights::Form::kPairs : AdaptedWeights::Form::kMerged);
    content.transformer = std::make_unique<Transformer>(spec, adapted, pack);
    Adapter adapter = adapted.take();
    check_not_shared(adapter, spec);
    if (trains) content.adapter = std::move(adapter);
  } else if (trains) {
    TrainableWeights trainable(weights);
    content.transformer = std::make_unique<Transformer>(spec, trainable);
  } else {
    content.transformer = std::make_unique<Transformer>(spec, weights, pack);
  }
}

Model Model::load(const std::string& config_text, const std::string& where, Recipe recipe,
                  const StoredTensors& stored, const LoadOptions& options) {
  NameMap modules = module_names(recipe);
  if (!has_prefix(stored, recipe.names.prefix())) recipe.names.drop_prefix();
  std::optional<DType> dtype = options.dtype;
  if (!dtype && options.purpose != LoadOptions::Purpose::kReading) dtype = stored_dtype(stored);
  const Json json = parse_json(config_text, where);
  LoadedWeights weights(
      stored, recipe.names,
      {.dtype = dtype,
       .device = options.device,
       .quantization = quantization_of(JsonFields(json, where)),
       .int8_activations = options.activations == LoadOptions::Activations::kInt8,
       .matrices_as_stored = options.purpose == LoadOptions::Purpose::kInference});
  if (!options.new_head) drop_missing_head(weights, recipe.spec);
  std::optional<WithNewHead> with_head;
  if (options.new_head)
    with_head.emplace(weights, *options.new_head,
                      TensorOptions{dtype.value_or(DType::kFloat32), options.device});
  WeightSource& source = with_head ? static_cast<WeightSource&>(*with_head) : weights;
  auto content = std::make_shared<Content>();
  content->config = config_of(JsonFields(json, where), config_text, recipe.spec);
  content->names = recipe.names;
  content->folder_names = recipe.folder_names;
  content->modules = std::move(modules);
  content->where = std::filesystem::path(where).parent_path().string();
  LoadOptions resolved = options;
  resolved.dtype = dtype;
  build(*content, recipe.spec, source, resolved);
  return Model(content);
}

Model Model::open(const std::filesystem::path& path, const LoadOptions& options) {
  check_adapter_options(options);
  if (path.extension() == ".gguf") {
    require<UnsupportedError>(
        !options.lora && options.adapter.empty(),
        "{}: expected a Hugging Face folder for low-rank adapters, which name "
        "its modules, found a .gguf file",
        path.string());
    const GgufFile file(path);
    const Json json = gguf_config(file);
    const Recipe recipe = gguf_recipe(file, JsonFields(json, path.string()));
    return load(json.dump(2), path.string(), recipe, file, options);
  }
  require<FileError>(std::filesystem::is_directory(path),
                     "{}: expected a model folder or a .gguf file, found neither", path.string());
  const std::filesystem::path config_path = path / "config.json";
  const std::string text =
      changed_config(read_text(config_path), config_path.string(), options.config_changes);
  const Json json = parse_json(text, config_path.string());
  const Recipe recipe = make_recipe(JsonFields(json, config_path.string()));
  return load(text, config_path.string(), recipe, *open_weights(path), options);
}

Model Model::create(const std::string& config_json, uint64_t seed, TensorOptions options) {
  const Json json = parse_json(config_json, "configuration");
  const JsonFields fields(json, "configuration");
  const Recipe recipe = make_recipe(fields);
  RandomWeights weights(seed, options);
  auto content = std::make_shared<Content>();
  content->config = config_of(fields, config_json, recipe.spec);
  content->names = content->modules = module_names(recipe);
  content->transformer = std::make_unique<Transformer>(recipe.spec, weights);
  return Model(content);
}

Model Model::copy(std::optional<DType> dtype, bool trainable) const {
  CopiedWeights weights(transformer().parameters(), content_->adapter, dtype, trainable);
  auto content = std::make_shared<Content>();
  content->config = config();
  content->names = content_->names;
  content->modules = content_->modules;
  content->where = content_->where;
  content->transformer = std::make_unique<Transformer>(transformer().spec(), weights);
  content->adapter = weights.take_adapter();
  return Model(content);
}

void Model::save(const std::filesystem::path& folder, const SaveOptions& options) const {
  std::vector<Parameter> parameters = transformer().parameters();
  const NoGrad no_grad;
  if (content_->adapter) parameters = merged(parameters, *content_->adapter);
  for (Parameter& parameter : parameters) {
    check_codes(parameter, options, folder.string());
    if (parameter.value.defined())
      parameter.value = cast(parameter.value, options.dtype.value_or(parameter.dtype));
  }
  if (content_->folder_names) {
    const StackSpec& stack = *transformer().spec().decoder;
    require<UnsupportedError>(stack.positions.rotary.factors.empty(),
                              "{}: rotary factors of a GGUF file have no place in a folder",
                              folder.string());
    if (stack.positions.rotary_layout == RotaryOptions::Layout::kInterleaved)
      undo_interleaving(parameters, stack);
  }
  std::optional<QuantizationConfig> quantization;
  if (options.scheme) quantization = {*options.scheme, options.group};
  save_weights(folder,
               stored_parameters(parameters, content_->folder_names.value_or(content_->names),
                                 quantization, options.progress));
  AtomicFile file(folder / "config.json");
  file.write(saved_config(config().json, quantization, options.dtype));
  file.commit();
}

void Model::save_adapter(const std::filesystem::path& folder) const {
  require<ValueError>(content_->adapter.has_value(),
                      "{}: expected a model that was opened to train an adapter, found one without",
                      folder.string());
  glassformer::save_adapter(folder, *content_->adapter, content_->modules, content_->where,
                            transformer().parameters());
}

std::string Model::stored_name(const std::string& name) const {
  return content_->names.find(name).front().name;
}

bool Model::has_adapter() const { return content_->adapter.has_value(); }

const Transformer& Model::transformer() const { return *content_->transformer; }

const ModelConfig& Model::config() const { return content_->config; }

}  // namespace glassformer
