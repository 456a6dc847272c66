#include "cli/look_input.h"

#include <fmt/format.h>

#include "base/check.h"
#include "base/json.h"
#include "cli/text_input.h"
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
  const std::string bytes = tokenizer.token_bytes(id);
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

Tensor row_of(const std::vector<int64_t>& ids) {
  return from_vector(ids, {1, static_cast<int64_t>(ids.size())});
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

}  // namespace

void LookArguments::add_to(CLI::App& command) {
  command.add_option("INPUT", input, "a text, or a PNG or JPEG file for a vision model");
  command.add_option("--target", target, "what an encoder-decoder is shown to have said");
  command.add_option("--ids", ids, "token ids in place of the text: '[1,2,3]'");
  command.add_option("--target-ids", target_ids, "ids in place of the target");
}

std::string name_of_model(const std::filesystem::path& path) {
  const std::filesystem::path whole = std::filesystem::absolute(path).lexically_normal();
  return whole.has_filename() ? whole.filename() : whole.parent_path().filename();
}

LookInput look_input(const Model& model, const std::filesystem::path& path,
                     const LookArguments& arguments) {
  const TransformerSpec& spec = model.transformer().spec();
  if (spec.image) return picture_input(model, path, arguments);
  const char* first = spec.encoder ? "encoder" : "decoder";
  LookInput look;
  std::optional<Tokenizer> tokenizer;
  if (arguments.ids.empty()) {
    require<ValueError>(!arguments.input.empty(), "look: expected a text or --ids, found neither");
    tokenizer = open_tokenizer(path);
    const std::string text = texts_from({arguments.input}).front();
    const Encoding encoding = encode_for(model, *tokenizer, {text}, {}).front();
    look.input.input_ids = row_of(encoding.ids);
    if (spec.tokens && spec.tokens->types > 0)
      look.input.token_type_ids = row_of(encoding.type_ids);
    look.sides[first] = side_of(encoding, text, *tokenizer);
  } else {
    const std::vector<int64_t> ids = ids_from(arguments.ids, "--ids");
    look.input.input_ids = row_of(ids);
    look.sides[first] = side_of(ids, tokenizer);
  }
  if (spec.encoder && spec.decoder) {
    const std::vector<int64_t> ids = ids_from(arguments.target_ids, "--target-ids");
    look.input.decoder_input_ids = row_of(ids);
    look.sides["decoder"] = side_of(ids, tokenizer);
  }
  if (tokenizer) {
    look.mask_id = tokenizer->special_ids().mask;
    look.token_text = [tokens = *tokenizer](int64_t id) { return text_of(tokens, id); };
  }
  return look;
}

}  // namespace glassformer
