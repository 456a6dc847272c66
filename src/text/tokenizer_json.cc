#include "base/check.h"
#include "base/flat_table.h"
#include "text/tokenizer_parts.h"

namespace glassformer {
namespace {

Side read_side(const JsonFields& fields, std::string_view name) {
  const std::string side = fields.text(name, "Right");
  if (side != "Right" && side != "Left") fields.fail(name, "Left or Right");
  return side == "Left" ? Side::kLeft : Side::kRight;
}

size_t read_size(const JsonFields& fields, std::string_view name, int64_t otherwise) {
  const int64_t size = fields.integer(name, otherwise);
  if (size < 0) fields.fail(name, "at least 0");
  return static_cast<size_t>(size);
}

Truncation read_truncation(const JsonFields& fields) {
  Truncation truncation;
  truncation.side = read_side(fields, "direction");
  truncation.max_length = read_size(fields, "max_length", 512);
  truncation.stride = read_size(fields, "stride", 0);
  const std::string strategy = fields.text("strategy", "LongestFirst");
  if (strategy == "OnlyFirst") {
    truncation.strategy = Truncation::Strategy::kOnlyFirst;
  } else if (strategy == "OnlySecond") {
    truncation.strategy = Truncation::Strategy::kOnlySecond;
  } else if (strategy != "LongestFirst") {
    fields.fail("strategy", "LongestFirst, OnlyFirst or OnlySecond");
  }
  return truncation;
}

Padding read_padding(const JsonFields& fields) {
  Padding padding;
  const Json& strategy = fields.at("strategy");
  if (strategy.is_object()) {
    padding.length = read_size(fields.object("strategy"), "Fixed", -1);
  } else if (strategy != "BatchLongest") {
    fields.fail("strategy", "BatchLongest or {\"Fixed\": length}");
  }
  padding.side = read_side(fields, "direction");
  padding.multiple_of = read_size(fields, "pad_to_multiple_of", 0);
  padding.id = fields.integer("pad_id", 0);
  padding.type_id = fields.integer("pad_type_id", 0);
  padding.token = fields.text("pad_token", "[PAD]");
  return padding;
}

}  // namespace

Json parse_tokenizer_json(std::string_view text, std::string_view where) {
  constexpr std::string_view kTables[] = {"model/vocab", "model/merges"};
  return parse_json_with_tables(text, where, kTables);
}

std::unique_ptr<Tokenizer::Parts> read_tokenizer_json(const Json& json, const std::string& where) {
  const JsonFields fields(json, where);
  require<FileError>(fields.text("version", "1.0") == "1.0", "{}: version must be 1.0, found '{}'",
                     where, fields.text("version", "1.0"));
  auto parts = std::make_unique<Tokenizer::Parts>();
  if (fields.has("normalizer")) parts->normalizer = make_normalizer(fields.object("normalizer"));
  // A BPE after ByteLevel need not see the alphabet of bytes: it reads the bytes themselves.
  const JsonFields model = fields.object("model");
  const bool bytes = fields.has("pre_tokenizer") &&
                     ends_byte_level(fields.object("pre_tokenizer")) && can_read_bytes(model);
  if (fields.has("pre_tokenizer"))
    parts->pre_tokenizer = make_pre_tokenizer(fields.object("pre_tokenizer"), bytes);
  parts->model = make_model(model, bytes);
  if (fields.has("post_processor"))
    parts->post_processor = make_post_processor(fields.object("post_processor"));
  if (fields.has("decoder")) parts->decoder = make_decoder(fields.object("decoder"));
  if (fields.has("added_tokens"))
    parts->added.add(read_added_tokens(fields.at("added_tokens"), where + ": added_tokens"),
                     parts->model->vocabulary(), parts->normalizer.get());
  if (fields.has("truncation")) parts->truncation = read_truncation(fields.object("truncation"));
  if (fields.has("padding")) parts->padding = read_padding(fields.object("padding"));
  return parts;
}

}  // namespace glassformer
