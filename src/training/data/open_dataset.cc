#include "training/data/open_dataset.h"

#include <algorithm>
#include <initializer_list>

#include "base/check.h"
#include "glassformer/training/language_data.h"

namespace glassformer {
namespace {

namespace fs = std::filesystem;
using Names = std::initializer_list<std::string_view>;

// An object that describes a data set, and the context it is opened in.
struct Description {
  const JsonFields& fields;
  const DataContext& context;

  std::string format() const { return fields.text("format"); }
  bool is_rows() const { return format() == "jsonl" || format() == "tsv" || format() == "csv"; }

  // Of all that a description may have, these, and what its format has.
  void allow(Names names) const {
    std::vector<std::string_view> known{"format"};
    known.insert(known.end(), names.begin(), names.end());
    if (is_rows()) known.emplace_back("files");
    if (format() == "tsv" || format() == "csv") known.emplace_back("header");
    if (context.task == Task::kMaskedLm) known.emplace_back("mask_probability");
    fields.reject_unknown(known);
  }

  fs::path path(std::string_view name) const { return context.folder / fields.text(name); }
  std::vector<fs::path> paths(std::string_view name) const {
    if (!fields.at(name).is_array()) return {path(name)};
    std::vector<fs::path> paths;
    for (const std::string& text : fields.texts(name)) paths.push_back(context.folder / text);
    if (paths.empty()) fields.fail(name, "a path or a list of them");
    return paths;
  }

  std::string column(std::string_view name, std::string_view otherwise) const {
    const Json* value = fields.find(name);
    if (value != nullptr && value->is_number_unsigned())
      return std::to_string(value->get<uint64_t>());
    return fields.text(name, otherwise);
  }
  RowSource rows() const {
    RowSource source{.files = paths("files"), .format = RowFormat::kJsonl};
    if (format() == "tsv") source.format = RowFormat::kTsv;
    if (format() == "csv") source.format = RowFormat::kCsv;
    if (fields.has("header")) source.header = fields.boolean("header");
    return source;
  }

  int64_t positive(std::string_view name, int64_t otherwise) const {
    const int64_t value = fields.integer(name, otherwise);
    if (fields.has(name) && value <= 0) fields.fail(name, "positive");
    return value;
  }
  int64_t max_length() const { return positive("max_length", context.max_length); }

  const Tokenizer& tokenizer() const {
    require<ValueError>(context.tokenizer != nullptr, "{}: the task needs a tokenizer",
                        fields.where());
    return *context.tokenizer;
  }
  std::optional<int64_t> end_id() const {
    if (!fields.boolean("end_of_text", false)) return {};
    require<ValueError>(context.end_id.has_value(),
                        "{}: end_of_text needs a tokenizer with an end token", fields.where());
    return context.end_id;
  }
  std::optional<Masking> masking() const {
    if (context.task != Task::kMaskedLm) return {};
    require<ValueError>(context.mask_id.has_value(),
                        "{}: a masked language model needs a tokenizer with a mask token",
                        fields.where());
    Masking masking{.mask_id = *context.mask_id};
    masking.chosen = fields.number("mask_probability", masking.chosen);
    return masking;
  }

  std::vector<double> numbers(std::string_view name, const std::vector<double>& otherwise) const {
    const Json* list = fields.find(name);
    if (list == nullptr) return otherwise;
    std::vector<double> values;
    for (const Json& value : list->is_array() ? *list : Json::array({*list})) {
      if (!value.is_number()) fields.fail(name, "a number or a list of them");
      values.push_back(value.get<double>());
    }
    return values;
  }

  [[noreturn]] void fail_format(std::string_view formats) const {
    fields.fail("format", fmt::format("{}, for this task", formats));
  }
};

std::unique_ptr<Dataset> open_language(const Description& given) {
  const bool text = given.format() == "text";
  if (!text && !given.is_rows()) given.fail_format("'text', 'jsonl', 'tsv' or 'csv'");
  if (text && !given.fields.boolean("lines", false)) {
    given.allow({"files", "lines", "block", "stride", "end_of_text"});
    return std::make_unique<TextBlocks>(
        TextBlocksOptions{.files = given.paths("files"),
                          .block = given.positive("block", given.context.max_length),
                          .stride = given.positive("stride", 0),
                          .end_id = given.end_id(),
                          .masking = given.masking()},
        given.tokenizer());
  }
  PackedLinesOptions options;
  if (text) {
    given.allow({"files", "lines", "max_length", "end_of_text"});
    options.text.rows.files = given.paths("files");
  } else {
    given.allow({"text", "max_length", "end_of_text"});
    options.text = {given.rows(), given.column("text", "text")};
  }
  options.max_length = given.max_length();
  options.end_id = given.end_id();
  options.masking = given.masking();
  return std::make_unique<PackedLines>(options, given.tokenizer());
}

std::unique_ptr<Dataset> open_translation(const Description& given) {
  const bool parallel = given.format() == "parallel";
  if (!parallel && !given.is_rows()) given.fail_format("'parallel', 'jsonl', 'tsv' or 'csv'");
  given.allow({"source", "target", "max_length", "skip_long"});
  ParallelTextOptions options{.pad_id = given.context.pad_id,
                              .decoder_start_id = given.context.decoder_start_id,
                              .max_length = given.max_length(),
                              .skip_long = given.fields.boolean("skip_long", false)};
  if (parallel) {
    options.source.rows.files = given.paths("source");
    options.target.rows.files = given.paths("target");
  } else {
    options.source = {given.rows(), given.column("source", "source")};
    options.target = {given.rows(), given.column("target", "target")};
  }
  const Tokenizer* target = given.context.target_tokenizer;
  return std::make_unique<ParallelText>(options, given.tokenizer(),
                                        target != nullptr ? *target : given.tokenizer());
}

std::unique_ptr<Dataset> open_labelled_text(const Description& given) {
  if (!given.is_rows()) given.fail_format("'jsonl', 'tsv' or 'csv'");
  given.allow({"text", "pair", "label", "max_length"});
  return std::make_unique<LabelledText>(LabelledTextOptions{.rows = given.rows(),
                                                            .text = given.column("text", "text"),
                                                            .pair = given.column("pair", ""),
                                                            .label = given.column("label", "label"),
                                                            .labels = given.context.labels,
                                                            .max_length = given.max_length()},
                                        given.tokenizer());
}

std::unique_ptr<Dataset> open_labelled_words(const Description& given) {
  if (given.format() != "jsonl") given.fail_format("'jsonl'");
  given.allow({"words", "labels", "max_length"});
  return std::make_unique<LabelledWords>(
      LabelledWordsOptions{.rows = given.rows(),
                           .words = given.column("words", "words"),
                           .labels_column = given.column("labels", "labels"),
                           .labels = given.context.labels,
                           .max_length = given.max_length()},
      given.tokenizer());
}

std::unique_ptr<Dataset> open_pairs(const Description& given) {
  if (!given.is_rows()) given.fail_format("'jsonl', 'tsv' or 'csv'");
  given.allow({"anchor", "positive", "max_length"});
  return std::make_unique<TextPairs>(
      TextPairsOptions{.rows = given.rows(),
                       .anchor = given.column("anchor", "anchor"),
                       .positive = given.column("positive", "positive"),
                       .max_length = given.max_length()},
      given.tokenizer());
}

// MNIST's names: train-images-idx3-ubyte and train-labels-idx1-ubyte.
fs::path labels_beside(const fs::path& images) {
  std::string name = images.filename().string();
  for (const auto& [from, to] : {std::pair("images", "labels"), std::pair("idx3", "idx1")}) {
    const size_t at = name.find(from);
    if (at != std::string::npos) name.replace(at, std::string_view(from).size(), to);
  }
  return images.parent_path() / name;
}

std::unique_ptr<Dataset> open_images(const Description& given) {
  const bool idx = given.format() == "idx";
  if (!idx && given.format() != "image_folder") given.fail_format("'image_folder' or 'idx'");
  given.allow(idx ? Names{"images", "labels", "mean", "std", "flip", "crop", "erase"}
                  : Names{"folder", "mean", "std", "flip", "crop", "erase"});
  LabelledImagesOptions options = given.context.images;
  options.mean = given.numbers("mean", options.mean);
  options.deviation = given.numbers("std", options.deviation);
  options.augmentation = {.flip = given.fields.boolean("flip", false),
                          .crop = given.fields.integer("crop", 0),
                          .erase = given.fields.number("erase", 0)};
  const LabelOptions& labels = given.context.labels;
  if (!idx)
    return std::make_unique<LabelledImages>(
        LabelledImages::from_folder(options, given.path("folder"), labels.names));
  const fs::path images = given.path("images");
  const int64_t classes =
      labels.names.empty() ? labels.count : static_cast<int64_t>(labels.names.size());
  return std::make_unique<LabelledImages>(LabelledImages::from_idx(
      options, images, given.fields.has("labels") ? given.path("labels") : labels_beside(images),
      classes));
}

std::unique_ptr<Dataset> open_table(const Description& given) {
  if (given.format() != "tsv" && given.format() != "csv") given.fail_format("'tsv' or 'csv'");
  given.allow({"target", "standardise"});
  return std::make_unique<Table>(
      TableOptions{.rows = given.rows(),
                   .target = given.column("target", ""),
                   .labels = given.context.labels,
                   .standardise = given.fields.boolean("standardise", false),
                   .scale = given.context.scale});
}

}  // namespace

std::unique_ptr<Dataset> open_dataset(const JsonFields& fields, const DataContext& context) {
  const Description given{fields, context};
  switch (context.task) {
    case Task::kCausalLm:
    case Task::kMaskedLm: return open_language(given);
    case Task::kSequenceToSequence: return open_translation(given);
    case Task::kSequenceClassification: return open_labelled_text(given);
    case Task::kTokenClassification: return open_labelled_words(given);
    case Task::kEmbedding: return open_pairs(given);
    case Task::kImageClassification: return open_images(given);
    case Task::kTable: return open_table(given);
  }
  throw InternalError("open_dataset: no such task");
}

}  // namespace glassformer
