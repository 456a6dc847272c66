#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "base/json.h"
#include "cli/commands.h"
#include "cli/model_options.h"
#include "glassformer/inspect/anatomy.h"

namespace glassformer {
namespace {

struct Options {
  std::string path;
  bool json = false;
};

// 1234567 → "1,234,567".
std::string grouped(int64_t number) {
  std::string text = std::to_string(number);
  for (auto at = static_cast<int64_t>(text.size()) - 3; at > 0; at -= 3)
    text.insert(static_cast<size_t>(at), 1, ',');
  return text;
}

// 1234567 → "1.18 MiB".
std::string in_bytes(int64_t bytes) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB"};
  auto value = static_cast<double>(bytes);
  int unit = 0;
  for (; value >= 1024 && unit < 3; ++unit) value /= 1024;
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.2f} {}", value, kUnits[unit]);
}

double bits_per_weight(const Anatomy& anatomy) {
  return 8 * static_cast<double>(anatomy.bytes) /
         static_cast<double>(std::max<int64_t>(anatomy.parameters, 1));
}

// The schemes of quantised tensors: {"int4": {"tensors": 37, "parameters": …, "bytes": …}}.
Json quantization_of(const Anatomy& anatomy) {
  Json schemes = Json::object();
  for (const Anatomy::Weight& weight : anatomy.weights) {
    if (!quant_scheme_from_name(weight.type)) continue;
    Json& scheme =
        schemes.emplace(weight.type, Json{{"tensors", 0}, {"parameters", 0}, {"bytes", 0}})
            .first.value();
    scheme["tensors"] = scheme["tensors"].get<int64_t>() + 1;
    scheme["parameters"] = scheme["parameters"].get<int64_t>() + count_of(weight.shape);
    scheme["bytes"] = scheme["bytes"].get<int64_t>() + weight.bytes;
  }
  return schemes;
}

Json to_json(const Model& model, const Anatomy& anatomy) {
  Json json{{"model_type", model.config().model_type},
            {"architecture", model.config().architecture},
            {"parameters", anatomy.parameters},
            {"bytes", anatomy.bytes},
            {"bits_per_weight", bits_per_weight(anatomy)},
            {"quantization", quantization_of(anatomy)},
            {"description", description_of(model.transformer().spec())},
            {"flops", Json::array()},
            {"parts", Json::array()},
            {"tensors", Json::array()}};
  for (const Anatomy::Cost& cost : anatomy.costs)
    json["flops"].push_back({{"stack", cost.stack},
                             {"per_token", cost.per_token},
                             {"per_token_and_key", cost.per_token_and_key}});
  for (const Anatomy::Part& part : anatomy.parts)
    json["parts"].push_back(
        {{"name", part.name}, {"parameters", part.parameters}, {"bytes", part.bytes}});
  for (const Anatomy::Weight& weight : anatomy.weights)
    json["tensors"].push_back({{"name", weight.name},
                               {"stored_name", weight.stored_name},
                               {"shape", std::vector(weight.shape.begin(), weight.shape.end())},
                               {"dtype", weight.type},
                               {"bytes", weight.bytes}});
  return json;
}

void print_tensors(const Anatomy& anatomy) {
  size_t name = 0, shape = 0;
  for (const Anatomy::Weight& weight : anatomy.weights) {
    name = std::max(name, weight.name.size());
    shape = std::max(shape, weight.shape.str().size());
  }
  fmt::print("\n{:{}}  {:{}}  {:8}  {}\n", "tensor", name, "shape", shape, "dtype", "in the file");
  for (const Anatomy::Weight& weight : anatomy.weights)
    fmt::print("{:{}}  {:{}}  {:8}  {}\n", weight.name, name, weight.shape.str(), shape,
               weight.type, weight.stored_name);
}

void print(const Model& model, const Anatomy& anatomy) {
  const ModelConfig& config = model.config();
  fmt::print("{} ({})\n", config.architecture.empty() ? config.model_type : config.architecture,
             config.model_type);
  for (const std::string& line : description_of(model.transformer().spec()))
    fmt::print("  {}\n", line);
  for (const Anatomy::Cost& cost : anatomy.costs)
    fmt::print("  {}: {} FLOPs a token, and {} for every key it attends to\n", cost.stack,
               grouped(cost.per_token), grouped(cost.per_token_and_key));

  size_t width = 5;
  for (const Anatomy::Part& part : anatomy.parts) width = std::max(width, part.name.size());
  fmt::print("\n{:{}}  {:>15}  {:>10}\n", "part", width, "parameters", "memory");
  for (const Anatomy::Part& part : anatomy.parts)
    fmt::print("{:{}}  {:>15}  {:>10}\n", part.name, width, grouped(part.parameters),
               in_bytes(part.bytes));
  fmt::print("{:{}}  {:>15}  {:>10}\n", "total", width, grouped(anatomy.parameters),
             in_bytes(anatomy.bytes));
  fmt::print("{:.2f} bits a weight\n", bits_per_weight(anatomy));
  print_tensors(anatomy);
}

}  // namespace

void add_info(CLI::App& app) {
  CLI::App* command = app.add_subcommand("info", "the anatomy of a model: parts, tensors, costs");
  auto options = std::make_shared<Options>();
  add_model_argument(*command, options->path);
  command->add_flag("--json", options->json, "for programs");
  command->callback([options] {
    const Model model = Model::open(
        options->path, {.purpose = LoadOptions::Purpose::kReading, .dtype = std::nullopt});
    const Anatomy anatomy = anatomy_of(model);
    if (options->json)
      fmt::print("{}\n", to_json(model, anatomy).dump(2));
    else
      print(model, anatomy);
  });
}

}  // namespace glassformer
