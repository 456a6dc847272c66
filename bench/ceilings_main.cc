// Prints what this machine can do at most, as one JSON object.

#include <cstdio>

#include <nlohmann/json.hpp>

#include "ceilings.h"

int main() {
  using nlohmann::ordered_json;
  const glassformer::bench::Ceilings found = glassformer::bench::measure_ceilings();
  const auto rate = [](const glassformer::bench::Rate& r, const char* unit) {
    return ordered_json{{"one_thread", r.one}, {"all_threads", r.all}, {"unit", unit}};
  };
  const auto peak = [&](const glassformer::bench::Rate& r, const std::string& instructions) {
    ordered_json one = rate(r, "GFLOP/s");
    one["instructions"] = instructions;
    return one;
  };
  const ordered_json report = {
      {"threads", found.threads},
      {"float32", peak(found.float32, found.float32_unit)},
      {"bfloat16", peak(found.bfloat16, found.bfloat16_unit)},
      {"int8", peak(found.int8, found.int8_unit)},
      {"read", rate(found.read, "GB/s")},
      {"write", rate(found.write, "GB/s")},
      {"copy", rate(found.copy, "GB/s")},
  };
  std::puts(report.dump(2).c_str());
}
