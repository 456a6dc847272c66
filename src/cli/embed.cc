#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/check.h"
#include "base/json.h"
#include "cli/commands.h"
#include "cli/model_options.h"
#include "cli/picture_input.h"
#include "cli/text_input.h"
#include "glassformer/checkpoint/safetensors.h"
#include "glassformer/decoding/model_tokenizer.h"
#include "glassformer/models/sentence.h"

namespace glassformer {
namespace {

struct Options {
  ModelOptions model;
  std::vector<std::string> inputs;
  std::string output, pooling;
  bool normalize = false, json = false;
};

using Vectors = std::vector<std::vector<float>>;

SentencePooling pooling_for(const Options& options) {
  SentencePooling pooling = SentencePooling::load(options.model.path);
  if (options.pooling == "mean") pooling.modes = {SentencePooling::Mode::kMean};
  if (options.pooling == "cls") pooling.modes = {SentencePooling::Mode::kFirst};
  if (options.pooling == "max") pooling.modes = {SentencePooling::Mode::kMax};
  if (options.pooling == "last") pooling.modes = {SentencePooling::Mode::kLast};
  pooling.normalize = pooling.normalize || options.normalize;
  return pooling;
}

void add_rows(const Tensor& rows, const std::vector<size_t>& numbers, Vectors& vectors) {
  const std::vector<float> values = rows.to_vector<float>();
  const size_t width = values.size() / numbers.size();
  for (size_t i = 0; i < numbers.size(); ++i)
    vectors[numbers[i]].assign(values.begin() + static_cast<int64_t>(i * width),
                               values.begin() + static_cast<int64_t>((i + 1) * width));
}

Vectors embed_texts(const Model& model, const Options& options) {
  const std::vector<std::string> texts = texts_from(options.inputs);
  const SentencePooling pooling = pooling_for(options);
  const std::vector<Encoding> encodings = encode_for(model, open_tokenizer(options.model.path),
                                                     texts, {.max_length = pooling.max_length});
  Vectors vectors(texts.size());
  run_over_texts(model, encodings, [&](const TextBatch& batch, const TransformerOutput& output) {
    add_rows(pool_sentences(output.last_hidden_state, batch.starts, pooling), batch.texts, vectors);
  });
  return vectors;
}

// Of a picture: the pooler's vector where there is one, otherwise that of [CLS].
Vectors embed_pictures(const Model& model, const Options& options) {
  Vectors vectors(options.inputs.size());
  run_over_pictures(model, options.model.path, options.inputs,
                    [&](const std::vector<size_t>& numbers, const TransformerOutput& output) {
                      add_rows(picture_vectors(output, options.normalize), numbers, vectors);
                    });
  return vectors;
}

void write_vectors(const std::string& path, const Vectors& vectors) {
  const auto width = static_cast<int64_t>(vectors.empty() ? 0 : vectors.front().size());
  std::vector<float> values;
  for (const auto& vector : vectors) values.insert(values.end(), vector.begin(), vector.end());
  const std::vector<std::pair<std::string, Tensor>> tensors{
      {"embeddings", from_vector(values, {static_cast<int64_t>(vectors.size()), width})}};
  write_safetensors(path, tensors);
}

void run(const Options& options) {
  const Model model = options.model.open();
  const Vectors vectors = model.transformer().spec().image ? embed_pictures(model, options)
                                                           : embed_texts(model, options);
  if (!options.output.empty()) return write_vectors(options.output, vectors);
  if (options.json) {
    fmt::print("{}\n", Json{{"embeddings", vectors}}.dump());
    return;
  }
  for (const auto& vector : vectors) fmt::print("{:.7g}\n", fmt::join(vector, " "));
}

}  // namespace

void add_embed(CLI::App& app) {
  CLI::App* command = app.add_subcommand("embed", "texts or pictures in, one vector each out");
  auto options = std::make_shared<Options>();
  options->model.add_to(*command);
  command->add_option("INPUT", options->inputs,
                      "texts, or picture files for a vision model; lines of stdin unless given");
  command->add_option("--output", options->output,
                      "write a safetensors file with `embeddings` [inputs, width] instead");
  command
      ->add_option("--pooling", options->pooling,
                   "how tokens become one vector; the folder's own unless given")
      ->check(CLI::IsMember({"mean", "cls", "max", "last"}));
  command->add_flag("--normalize", options->normalize,
                    "vectors of length 1, whatever the folder says");
  command->add_flag("--json", options->json, "for programs");
  command->callback([options] { run(*options); });
}

}  // namespace glassformer
