#include "glassformer/inspect/report.h"

#include <cmath>

#include <fmt/format.h>

#include "base/base64.h"
#include "base/json.h"
#include "glassformer/checkpoint/safetensors.h"

namespace glassformer {
namespace {

// JSON has no NaN and no infinity.
Json number(double value) { return std::isfinite(value) ? Json(value) : Json(); }

Json json_of(const Report::Guess& guess, const char* what = "text") {
  return {{what, guess.text}, {"id", guess.id}, {"probability", number(guess.probability)}};
}

Json json_of(const Report::Guesses& guesses, const char* what) {
  Json list = Json::array();
  for (const Report::Guess& guess : guesses) list.push_back(json_of(guess, what));
  return list;
}

Json json_of(const Anatomy& anatomy) {
  Json json{{"parts", Json::array()}, {"weights", Json::array()}, {"costs", Json::array()}};
  for (const Anatomy::Part& part : anatomy.parts)
    json["parts"].push_back(
        {{"name", part.name}, {"parameters", part.parameters}, {"bytes", part.bytes}});
  for (const Anatomy::Weight& weight : anatomy.weights)
    json["weights"].push_back({{"name", weight.name},
                               {"stored_name", weight.stored_name},
                               {"shape", std::vector(weight.shape.begin(), weight.shape.end())},
                               {"type", weight.type},
                               {"bytes", weight.bytes}});
  for (const Anatomy::Cost& cost : anatomy.costs)
    json["costs"].push_back({{"stack", cost.stack},
                             {"per_token", cost.per_token},
                             {"per_token_and_key", cost.per_token_and_key}});
  return json;
}

Json json_of(const Report::Side& side) {
  Json tokens = Json::array();
  for (const Report::Token& token : side.tokens)
    tokens.push_back(
        {{"id", token.id}, {"text", token.text}, {"start", token.start}, {"end", token.end}});
  return {{"tokens", std::move(tokens)}, {"text", side.text}};
}

Json json_of(const Report::Picture& picture) {
  return {{"width", picture.frame.width}, {"height", picture.frame.height},
          {"rows", picture.rows},         {"columns", picture.columns},
          {"prefix", picture.prefix},     {"png", encode_base64(encode_png(picture.frame))}};
}

Json json_of(const Report::Attention& attention) {
  Json measures = Json::object();
  for (const auto& [name, values] : attention.measures)
    for (const double value : values) measures[name].push_back(number(value));
  Json json{{"name", attention.name},
            {"layer", attention.layer},
            {"kind", attention.cross ? "cross" : "self"},
            {"queries", attention.queries},
            {"keys", attention.keys},
            {"heads", attention.heads},
            {"head_size", attention.head_size},
            {"causal", attention.causal},
            {"measures", std::move(measures)}};
  if (!attention.kept_heads.empty()) json["kept_heads"] = attention.kept_heads;
  return json;
}

Json json_of(const Report::Prediction& prediction) {
  const bool labels = prediction.kind == "classification" || prediction.kind == "tokens";
  Json rows = Json::array();
  for (const Report::Prediction::Row& row : prediction.rows)
    rows.push_back(
        {{"position", row.position}, {"top", json_of(row.top, labels ? "label" : "token")}});
  Json json{{"kind", prediction.kind}, {"rows", rows}};
  if (!rows.empty()) json["top"] = rows.front()["top"];
  return json;
}

Json json_of(const Report::Words& words) {
  Json pairs = Json::array();
  for (const Report::Words::Pair& pair : words.pairs)
    pairs.push_back({pair.source, pair.target, number(pair.weight)});
  return {
      {"pairs", std::move(pairs)}, {"source_words", words.source}, {"target_words", words.target}};
}

Json json_of(const Report::LensLayer& layer) {
  Json positions = Json::array();
  for (const Report::Guesses& guesses : layer.positions)
    positions.push_back(json_of(guesses, "token"));
  return {{"name", layer.name}, {"top", std::move(positions)}};
}

Json json_of(const Report::Generation& generation) {
  Json tokens = Json::array();
  for (const Report::Generation::Chosen& chosen : generation.tokens) {
    Json token = json_of(chosen.token);
    token["alternatives"] = json_of(chosen.alternatives, "text");
    tokens.push_back(std::move(token));
  }
  Json json{{"tokens", std::move(tokens)}};
  if (!generation.tree.empty()) json["tree"] = Json::parse(generation.tree);
  return json;
}

Json json_of(const Report::Model& model) {
  return {{"name", model.name},
          {"family", model.family},
          {"stack", model.stack},
          {"description", model.description},
          {"parameters", model.anatomy.parameters}};
}

// What is there only sometimes.
void add_findings(Json& json, const Report& report) {
  if (report.picture) json["image"] = json_of(*report.picture);
  if (!report.rollout.empty()) json["rollout"] = report.rollout;
  if (report.explained)
    json["explained"] = {{"position", report.explained->position},
                         {"id", report.explained->id},
                         {"text", report.explained->text}};
  if (report.alignment) json["alignment"] = json_of(*report.alignment);
  for (const Report::LensLayer& layer : report.lens) json["lens"].push_back(json_of(layer));
  if (report.saliency)
    json["saliency"] = {{"method", report.saliency->method},
                        {"target", report.saliency->target},
                        {"side", report.saliency->side},
                        {"tensor", "saliency"}};
  if (report.prediction) json["prediction"] = json_of(*report.prediction);
  if (report.ablation)
    json["ablation"] = {{"steps", report.ablation->steps},
                        {"before", json_of(report.ablation->before)}};
  if (report.generation) json["generation"] = json_of(*report.generation);
}

Json meta(const Report& report) {
  Json json{{"version", 1},
            {"model", json_of(report.model)},
            {"anatomy", json_of(report.model.anatomy)},
            {"sides", Json::object()},
            {"layers", Json::array()},
            {"attentions", Json::array()},
            {"steps", {{"row", report.steps.rows}, {"attentions", report.steps.attentions}}}};
  for (const auto& [name, side] : report.sides) json["sides"][name] = json_of(side);
  for (const Report::Layer& layer : report.layers)
    json["layers"].push_back({{"name", layer.name}, {"side", layer.side}});
  for (const Report::Attention& attention : report.attentions)
    json["attentions"].push_back(json_of(attention));
  add_findings(json, report);
  return json;
}

// Tokens may be parts of characters: those become U+FFFD.
std::string text_of(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string meta_json(const Report& report, int indent) { return text_of(meta(report), indent); }

std::string to_json(const Report& report) {
  // Not by way of a Json value, which takes many times the memory of a large tensor.
  std::string text = meta_json(report);
  text.back() = ',';
  text += "\"tensors\":{";
  const char* between = "";
  for (const auto& [name, tensor] : report.tensors) {
    const std::vector<int64_t> shape(tensor.shape().begin(), tensor.shape().end());
    text += fmt::format("{}{}:{{\"shape\":{},\"data\":[", between, Json(name).dump(),
                        Json(shape).dump());
    const char* comma = "";
    for (const float value : tensor.to_vector<float>()) {
      text += comma;
      if (std::isfinite(value))
        fmt::format_to(std::back_inserter(text), "{}", value);
      else
        text += "null";
      comma = ",";
    }
    text += "]}";
    between = ",";
  }
  return text + "}}";
}

void write_report(const std::filesystem::path& path, const Report& report) {
  const std::vector<std::pair<std::string, Tensor>> tensors(report.tensors.begin(),
                                                            report.tensors.end());
  write_safetensors(path, tensors, {{"format", "pt"}, {"report", meta_json(report)}});
}

}  // namespace glassformer
