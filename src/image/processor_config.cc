#include "image/processor_config.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/json.h"

namespace glassformer {
namespace {

constexpr std::array<double, 3> kClipMean{0.48145466, 0.4578275, 0.40821073};
constexpr std::array<double, 3> kClipStd{0.26862954, 0.26130258, 0.27577711};

// A processor of Hugging Face's: what it does where its file is silent.
struct Family {
  std::string_view type;
  std::string_view model_type;  // of config.json
  bool square;                  // a size that is one number means both sides
  ImageProcessorOptions defaults;
};

constexpr ImageProcessorOptions kClip{.height = 0,
                                      .width = 0,
                                      .shortest_edge = 224,
                                      .resample = Resample::kBicubic,
                                      .do_center_crop = true,
                                      .crop_height = 224,
                                      .crop_width = 224,
                                      .image_mean = kClipMean,
                                      .image_std = kClipStd};
constexpr ImageProcessorOptions kDeit{.height = 256,
                                      .width = 256,
                                      .resample = Resample::kBicubic,
                                      .do_center_crop = true,
                                      .crop_height = 224,
                                      .crop_width = 224};
constexpr Family kFamilies[] = {
    {"ViTImageProcessor", "vit", true, {}},
    {"DeiTImageProcessor", "deit", true, kDeit},
    {"CLIPImageProcessor", "clip", false, kClip},
    {"BitImageProcessor", "dinov2", false, kClip},
    {"SiglipImageProcessor", "siglip", false, {.resample = Resample::kBicubic}},
};

// Before 2022 a processor was called a feature extractor; later ones may be marked "Fast".
std::string modern_name(std::string type) {
  constexpr std::string_view kOld = "FeatureExtractor", kFast = "Fast";
  if (type.ends_with(kFast)) type.resize(type.size() - kFast.size());
  if (type.ends_with(kOld)) type.replace(type.size() - kOld.size(), kOld.size(), "ImageProcessor");
  return type;
}

const Family& family_of(const JsonFields& fields, const std::filesystem::path& folder) {
  for (const char* field : {"image_processor_type", "feature_extractor_type"}) {
    if (!fields.has(field)) continue;
    const std::string type = modern_name(fields.text(field));
    for (const Family& family : kFamilies)
      if (family.type == type) return family;
    fields.fail(field, "the image processor of ViT, DeiT, CLIP, BiT or SigLIP");
  }
  const std::filesystem::path config = folder / "config.json";
  require<FileError>(std::filesystem::exists(config),
                     "{}: field 'image_processor_type' is missing, and there is no {} to tell",
                     fields.where(), config.string());
  const Json json = read_json(config);
  const JsonFields model(json, config.string());
  for (const Family& family : kFamilies)
    if (family.model_type == model.text("model_type")) return family;
  model.fail("model_type",
             "vit, deit, clip, dinov2 or siglip, as there is no image_processor_type");
}

constexpr int64_t kMaxSide = 65535;

struct Size {
  int64_t height = 0, width = 0, shortest_edge = 0;
};

int64_t side(const JsonFields& fields, std::string_view name, const Json& value) {
  if (!value.is_number_integer() || value < 1 || value > kMaxSide)
    fields.fail(name, "sides of 1 to 65535 pixels");
  return value.get<int64_t>();
}

// {"height", "width"}, {"shortest_edge"}, [height, width], or one number: a square or the edge.
Size read_size(const JsonFields& fields, std::string_view name, bool square) {
  const Json& value = fields.at(name);
  if (value.is_array() && value.size() == 2)
    return {side(fields, name, value[0]), side(fields, name, value[1])};
  if (!value.is_object()) {
    const int64_t edge = side(fields, name, value);
    return square ? Size{edge, edge} : Size{.shortest_edge = edge};
  }
  const JsonFields size = fields.object(name);
  if (size.has("height") && size.has("width") && !size.has("shortest_edge"))
    return {side(size, "height", size.at("height")), side(size, "width", size.at("width"))};
  if (size.has("shortest_edge") && !size.has("longest_edge"))
    return {.shortest_edge = side(size, "shortest_edge", size.at("shortest_edge"))};
  fields.fail(name, "an object of height and width, or of shortest_edge alone");
}

bool is_float(const Json& value) {
  return value.is_number() && std::abs(value.get<double>()) <= std::numeric_limits<float>::max();
}

// Three numbers, or one for all channels.
std::array<double, 3> channels(const JsonFields& fields, std::string_view name) {
  const Json& value = fields.at(name);
  std::array<double, 3> numbers{};
  if (is_float(value)) {
    numbers.fill(value.get<double>());
  } else if (value.is_array() && value.size() == numbers.size() &&
             std::all_of(value.begin(), value.end(), is_float)) {
    std::transform(value.begin(), value.end(), numbers.begin(),
                   [](const Json& number) { return number.get<double>(); });
  } else {
    fields.fail(name, "a number or three of them");
  }
  return numbers;
}

}  // namespace

ImageProcessorOptions read_processor_options(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / "preprocessor_config.json";
  const Json json = read_json(path);
  const JsonFields fields(json, path.string());
  const Family& family = family_of(fields, folder);
  ImageProcessorOptions options = family.defaults;

  options.do_resize = fields.boolean("do_resize", options.do_resize);
  if (fields.has("size")) {
    const Size size = read_size(fields, "size", family.square);
    options.height = size.height;
    options.width = size.width;
    options.shortest_edge = size.shortest_edge;
  }
  const int64_t resample = fields.integer("resample", static_cast<int64_t>(options.resample));
  if (resample < 0 || resample > 5) fields.fail("resample", "a filter from 0 to 5");
  options.resample = static_cast<Resample>(resample);

  options.do_center_crop = fields.boolean("do_center_crop", options.do_center_crop);
  if (fields.has("crop_size")) {
    const Size crop = read_size(fields, "crop_size", true);
    if (crop.shortest_edge != 0) fields.fail("crop_size", "a height and a width");
    options.crop_height = crop.height;
    options.crop_width = crop.width;
  }
  if (options.do_center_crop && options.crop_height == 0)
    fields.fail("crop_size", "given, as do_center_crop is true");
  if (fields.boolean("do_pad", false)) fields.fail("do_pad", "false");

  options.do_rescale = fields.boolean("do_rescale", options.do_rescale);
  options.rescale_factor = fields.number("rescale_factor", options.rescale_factor);
  options.do_normalize = fields.boolean("do_normalize", options.do_normalize);
  if (fields.has("image_mean")) options.image_mean = channels(fields, "image_mean");
  if (fields.has("image_std")) options.image_std = channels(fields, "image_std");
  if (std::any_of(options.image_std.begin(), options.image_std.end(),
                  [](double deviation) { return static_cast<float>(deviation) <= 0; }))
    fields.fail("image_std", "positive");
  return options;
}

}  // namespace glassformer
