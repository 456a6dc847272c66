#include "cli/look_input.h"

#include <fmt/format.h>

#include "base/check.h"
#include "base/json.h"
#include "cli/generation_flags.h"
#include "cli/numbers.h"
#include "cli/text_input.h"
#include "glassformer/decoding/engine.h"
#include "glassformer/decoding/model_tokenizer.h"
#include "glassformer/image/processor.h"
#include "glassformer/ops/copy.h"
#include "text/utf8.h"

namespace glassformer {
namespace {

std::vector<int64_t> ids_from(const std::string& text, const char* flag) {
  const Json list = parse_json(text, flag);
  const auto fail = [&] {
    throw ValueError(fmt::format("{}: expected a list of ids, found {}", flag, describe(list)));
  };
  if (!list.is_array() || list.empty()) fail();
  std::vector<int64_t> ids;
  for (const Json& id : list) {
    if (!id.is_number_integer()) fail();
    ids.push_back(id.get<int64_t>());
  }
  return ids;
}

// A token as people read it: what it adds to a text, or its name where that is nothing or not whole
// characters.
std::string text_of(const Tokenizer& tokenizer, int64_t id) {
  std::string bytes = tokenizer.token_bytes(id);
  if (!bytes.empty() && valid_utf8(bytes) == bytes.size()) return bytes;
  return tokenizer.id_to_token(id).value_or(std::to_string(id));
}

Report::Side side_of(const Encoding& encoding, const std::string& text,
                     const Tokenizer& tokenizer) {
  Report::Side side{{}, text};
  for (size_t i = 0; i < encoding.ids.size(); ++i) {
    const TextRange range = encoding.offsets[i];
    const std::string part = text.substr(range.begin, range.end - range.begin);
    const bool whole = !part.empty() && encoding.special_tokens_mask[i] == 0;
    side.tokens.push_back({encoding.ids[i], whole ? part : text_of(tokenizer, encoding.ids[i]),
                           range.begin, range.end});
  }
  return side;
}

// Of ids that no text came with: their own texts, one after the other.
Report::Side side_of(const std::vector<int64_t>& ids, const std::optional<Tokenizer>& tokenizer) {
  Report::Side side;
  for (const int64_t id : ids) {
    const bool says = tokenizer && !tokenizer->is_special(id);
    const std::string text = tokenizer ? text_of(*tokenizer, id) : std::to_string(id);
    const auto start = static_cast<int64_t>(side.text.size());
    if (says) side.text += text;
    side.tokens.push_back({id, text, start, static_cast<int64_t>(side.text.size())});
  }
  return side;
}

Tensor row_of(const Model& model, const std::vector<int64_t>& ids) {
  return from_vector(ids, {1, static_cast<int64_t>(ids.size())},
                     model.transformer().options().device);
}

LookInput picture_input(const Model& model, const std::filesystem::path& path,
                        const LookArguments& arguments) {
  require<ValueError>(!arguments.input.empty(), "look: expected a picture file, found none");
  const ImageProcessor process = ImageProcessor::load(path);
  const Image image = read_image(arguments.input);
  const ImageEmbeddingSpec& spec = *model.transformer().spec().image;
  LookInput look;
  const TensorOptions options = model.transformer().options();
  look.input.pixel_values = to(cast(process(std::span(&image, 1)), options.dtype), options.device);
  look.picture = Report::Picture{process.fit(image), spec.height / spec.patch_height,
                                 spec.width / spec.patch_width, spec.tokens() - spec.patches()};
  Report::Side& side = look.sides["encoder"];
  side.text = std::filesystem::path(arguments.input).filename();
  side.tokens.push_back({0, "[CLS]"});
  if (spec.distillation_token) side.tokens.push_back({1, "[DIST]"});
  for (int64_t i = 0; i < spec.patches(); ++i)
    side.tokens.push_back(
        {static_cast<int64_t>(side.tokens.size()),
         fmt::format("{},{}", i / look.picture->columns, i % look.picture->columns)});
  return look;
}

// What a text model is shown, and the tokenizers that it is read with; none where only ids came.
class TextSubject {
 public:
  TextSubject(const Model& model, const std::string& path, const LookArguments& arguments)
      : model_(model), path_(path), arguments_(arguments), spec_(model.transformer().spec()) {
    const bool wants_text = arguments.ids.empty() || !arguments.target.empty();
    try {
      source_ = open_tokenizer(path);
      target_ = spec_.encoder && spec_.decoder ? open_tokenizer(path, /*target=*/true) : *source_;
    } catch (const FileError&) {
      if (wants_text) throw;
    }
  }

  LookSubject subject() {
    LookSubject subject;
    LookInput& look = subject.input;
    read_source(look);
    const bool both = spec_.encoder && spec_.decoder;
    require<ValueError>(both || (arguments_.target.empty() && arguments_.target_ids.empty()),
                        "--target: expected a model with encoder and decoder, found {}",
                        model_.config().architecture);
    require<ValueError>(arguments_.generate == 0 || spec_.decoder,
                        "--generate: expected a model with a decoder, found {}",
                        model_.config().architecture);
    const bool given = !arguments_.target.empty() || !arguments_.target_ids.empty();
    if (both && given) show_target(look);
    if (arguments_.generate > 0 || (both && !given)) subject.tree = generate_for(look);
    if (source_) look.mask_id = source_->special_ids().mask;
    if (target_) look.token_text = [tokens = *target_](int64_t id) { return text_of(tokens, id); };
    return subject;
  }

 private:
  void read_source(LookInput& look) const {
    Report::Side& side = look.sides[spec_.encoder ? "encoder" : "decoder"];
    if (!arguments_.ids.empty()) {
      const std::vector<int64_t> ids = ids_from(arguments_.ids, "--ids");
      look.input.input_ids = row_of(model_, ids);
      side = side_of(ids, source_);
      return;
    }
    require<ValueError>(!arguments_.input.empty(), "look: expected a text or --ids, found neither");
    const std::string text = texts_from({arguments_.input}).front();
    const Encoding encoding = encode_for(model_, *source_, {text}, {}).front();
    look.input.input_ids = row_of(model_, encoding.ids);
    if (spec_.tokens && spec_.tokens->types > 0)
      look.input.token_type_ids = row_of(model_, encoding.type_ids);
    side = side_of(encoding, text, *source_);
  }

  // What the decoder begins with, before anything was said.
  TokenIds start() const {
    const GenerationOptions options = GenerationFlags().read(model_, path_, nullptr);
    const std::optional<int64_t> id = options.decoder_start_token_id
                                          ? options.decoder_start_token_id
                                          : model_.config().decoder_start;
    require<ValueError>(id.has_value(), "{}: does not say what its decoder starts with", path_);
    return {*id};
  }

  void show_target(LookInput& look) const {
    if (!arguments_.target_ids.empty()) {
      const std::vector<int64_t> ids = ids_from(arguments_.target_ids, "--target-ids");
      return show_said(look, {}, ids, 1);
    }
    EncodeOptions encode;
    encode.file_settings = false;
    const std::string text = texts_from({arguments_.target}).front();
    TokenIds ids = target_->encode(text, encode).ids;
    // What ends the text is the answer to its last token, not one that is read.
    while (!ids.empty() && target_->is_special(ids.back())) ids.pop_back();
    show_said(look, start(), ids, 1);
  }

  // The decoder reads `before` and `said`, of which all from `first` on was said.
  void show_said(LookInput& look, TokenIds before, const TokenIds& said, int64_t first) const {
    before.insert(before.end(), said.begin(), said.end());
    (spec_.encoder ? look.input.decoder_input_ids : look.input.input_ids) = row_of(model_, before);
    look.sides["decoder"] = side_of(before, target_);
    look.said_from = first;
  }

  std::string generate_for(LookInput& look) const {
    GenerationRequest request{.ids = look.input.input_ids.to_vector<int64_t>()};
    request.options = GenerationFlags().read(model_, path_, nullptr);
    if (arguments_.generate > 0) request.options.max_new_tokens = arguments_.generate;
    // A folder that does not say how to translate still has a tree worth looking at.
    if (spec_.encoder && request.options.num_beams == 1) request.options.num_beams = 4;
    if (arguments_.beams > 0) request.options.num_beams = arguments_.beams;
    request.options.return_tree = true;
    const TokenIds before = spec_.encoder ? start() : request.ids;
    const GenerationResult result = generate(model_, {request}).front();
    TokenIds said = result.hypotheses.front().ids;
    if (result.hypotheses.front().reason == FinishReason::kEos) said.pop_back();
    show_said(look, before, said, static_cast<int64_t>(before.size()));
    return with_texts(result.tree);
  }

  std::string with_texts(const BeamTree& tree) const {
    Json json = parse_json(to_json(tree), "the tree of a search");
    for (Json& node : json["nodes"]) {
      const auto id = node["token"].get<int64_t>();
      node["text"] = target_ ? text_of(*target_, id) : std::to_string(id);
    }
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
  }

  const Model& model_;
  const std::string& path_;
  const LookArguments& arguments_;
  const TransformerSpec& spec_;
  std::optional<Tokenizer> source_, target_;
};

}  // namespace

void LookArguments::add_to(CLI::App& command) {
  CLI::Option* text =
      command.add_option("INPUT", input, "a text, or a PNG or JPEG file for a vision model");
  CLI::Option* said = command.add_option(
      "--target", target,
      "what an encoder-decoder is shown to have said; its own translation unless given");
  command.add_option("--ids", ids, "token ids in place of the text: '[1,2,3]'")->excludes(text);
  command.add_option("--target-ids", target_ids, "what the decoder reads, as ids")->excludes(said);
  command
      .add_option("--generate", generate,
                  "let the model say so many tokens more, and look at these too")
      ->check(at_least_one());
  command.add_option("--num-beams", beams, "with a search this wide")->check(at_least_one());
}

std::string name_of_model(const std::filesystem::path& path) {
  const std::filesystem::path whole = std::filesystem::absolute(path).lexically_normal();
  return whole.has_filename() ? whole.filename() : whole.parent_path().filename();
}

LookSubject look_subject(const Model& model, const std::string& path,
                         const LookArguments& arguments) {
  if (model.transformer().spec().image) return {picture_input(model, path, arguments), {}};
  return TextSubject(model, path, arguments).subject();
}

}  // namespace glassformer
