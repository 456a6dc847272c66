#include "base/check.h"
#include "models/families/common.h"

namespace glassformer {
namespace {

using Scaling = RotarySpec::Scaling;

Scaling scaling_of(const JsonFields& fields, const std::string& name) {
  if (name == "default") return Scaling::kNone;
  if (name == "linear") return Scaling::kLinear;
  if (name == "dynamic") return Scaling::kDynamic;
  if (name == "yarn") return Scaling::kYarn;
  if (name == "llama3") return Scaling::kLlama3;
  throw ValueError(
      fmt::format("{}: rope type '{}' is not there; there are: default, linear, dynamic, yarn, "
                  "llama3",
                  fields.where(), name));
}

std::optional<double> optional_number(const JsonFields& fields, std::string_view name) {
  return fields.has(name) ? std::optional(fields.number(name)) : std::nullopt;
}

void read_scaling(const JsonFields& fields, int64_t max_positions, RotarySpec& spec) {
  // "type" is the old spelling.
  spec.scaling = scaling_of(fields, fields.text("rope_type", fields.text("type", "default")));
  if (spec.scaling == Scaling::kNone) return;
  spec.factor = fields.number("factor");
  spec.original_max_positions =
      spec.scaling == Scaling::kDynamic
          ? max_positions
          : positive(fields, "original_max_position_embeddings", max_positions);
  spec.low_freq_factor = fields.number("low_freq_factor", spec.low_freq_factor);
  spec.high_freq_factor = fields.number("high_freq_factor", spec.high_freq_factor);
  spec.beta_fast = fields.number("beta_fast", spec.beta_fast);
  spec.beta_slow = fields.number("beta_slow", spec.beta_slow);
  spec.mscale = optional_number(fields, "mscale");
  spec.mscale_all_dim = optional_number(fields, "mscale_all_dim");
  spec.attention_factor = optional_number(fields, "attention_factor");
  spec.truncate = fields.boolean("truncate", spec.truncate);
}

}  // namespace

PositionSpec rotary_positions(const JsonFields& config, int64_t head_size) {
  PositionSpec positions;
  positions.kind = PositionSpec::Kind::kRotary;
  positions.max_positions = positive(config, "max_position_embeddings", 2048);
  RotarySpec& spec = positions.rotary;
  spec.theta = config.number("rope_theta", spec.theta);
  double turned = config.number("partial_rotary_factor", 1);
  for (const char* name : {"rope_scaling", "rope_parameters"}) {
    if (!config.has(name)) continue;
    const JsonFields fields = config.object(name);
    spec.theta = fields.number("rope_theta", spec.theta);
    turned = fields.number("partial_rotary_factor", turned);
    read_scaling(fields, positions.max_positions, spec);
  }
  require<ValueError>(turned > 0 && turned <= 1,
                      "{}: partial_rotary_factor must be above 0 and at most 1, found {}",
                      config.where(), turned);
  spec.dim = static_cast<int64_t>(static_cast<double>(head_size) * turned);
  require<ValueError>(spec.dim >= 2 && spec.dim <= head_size && spec.dim % 2 == 0,
                      "{}: rotary positions turn an even number of a head's {} elements, found {}",
                      config.where(), head_size, spec.dim);
  return positions;
}

}  // namespace glassformer
