#include "training/companions.h"

#include "base/atomic_file.h"

namespace glassformer {
namespace {

namespace fs = std::filesystem;

void write_json(const fs::path& path, const Json& json) {
  make_folders(path.parent_path());
  AtomicFile file(path);
  file.write(json.dump(2) + "\n");
  file.commit();
}

// Without a length of its own generation would end after 20 tokens, as it does in transformers.
Json generation_config(const TrainConfig& config, const ModelConfig& model) {
  constexpr int64_t kLongest = 256;  // where the model has no limit
  Json json = Json::object();
  if (model.padding) json["pad_token_id"] = *model.padding;
  if (model.begin) json["bos_token_id"] = *model.begin;
  if (!model.end.empty()) json["eos_token_id"] = model.end.front();
  if (model.decoder_start) json["decoder_start_token_id"] = *model.decoder_start;
  const int64_t given = config.data.value("max_length", int64_t{0});
  json["max_length"] = model.max_positions > 0 ? model.max_positions : given > 0 ? given : kLongest;
  return json;
}

// As the training data were normalised.
Json preprocessor_config(const TrainConfig& config, const ImageEmbeddingSpec& image) {
  const Json& train = config.data["train"];
  const auto three = [&](const char* field) {
    const Json value = train.contains(field) ? train[field] : Json(0.5);
    return value.is_array() ? value : Json::array({value, value, value});
  };
  return {{"image_processor_type", "ViTImageProcessor"},
          {"do_resize", true},
          {"size", {{"height", image.height}, {"width", image.width}}},
          {"resample", 2},
          {"do_rescale", true},
          {"rescale_factor", 1.0 / 255},
          {"do_normalize", true},
          {"image_mean", three("mean")},
          {"image_std", three("std")}};
}

// As sentence-transformers lays them out: the model, and the mean of its tokens' vectors.
void write_sentence_modules(const fs::path& output, int64_t width) {
  write_json(output / "modules.json",
             Json::array({{{"idx", 0},
                           {"name", "0"},
                           {"path", ""},
                           {"type", "sentence_transformers.models.Transformer"}},
                          {{"idx", 1},
                           {"name", "1"},
                           {"path", "1_Pooling"},
                           {"type", "sentence_transformers.models.Pooling"}}}));
  write_json(output / "1_Pooling" / "config.json",
             {{"word_embedding_dimension", width}, {"pooling_mode_mean_tokens", true}});
}

void copy_sentence_modules(const fs::path& from, const fs::path& output) {
  for (const char* name : {"modules.json", "sentence_bert_config.json",
                           "config_sentence_transformers.json", "1_Pooling", "2_Normalize"})
    if (fs::exists(from / name)) copy_files(from / name, output / name);
}

}  // namespace

void write_companions(const TrainConfig& config, const ModelSetup& setup) {
  if (!setup.model) return;
  const fs::path& output = config.trainer.output;
  const TransformerSpec& spec = setup.model->transformer().spec();
  if (spec.decoder && spec.head.kind == HeadSpec::Kind::kLanguageModel)
    write_json(output / "generation_config.json", generation_config(config, setup.model->config()));
  if (spec.image)
    write_json(output / "preprocessor_config.json", preprocessor_config(config, *spec.image));
  if (config.task != Task::kEmbedding) return;
  const fs::path from = config.model.contains("from")
                            ? config.folder / config.model["from"].get<std::string>()
                            : fs::path();
  if (fs::exists(from / "modules.json"))
    copy_sentence_modules(from, output);
  else
    write_sentence_modules(output, spec.last_stack().width());
}

}  // namespace glassformer
