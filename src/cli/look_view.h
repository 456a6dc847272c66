#pragma once

#include <string>

#include "cli/terminal.h"
#include "glassformer/inspect/report.h"

namespace glassformer {

struct ViewOptions {
  Terminal terminal = {};
  // "encoder", "decoder" or "cross": whose map to show; the last one unless given.
  std::string map = {};
  bool rollout = false;  // in place of an attention's map
};

// A report as text for people: what the model predicts, what its heads are like, one map, and what
// else was found.
std::string view_of(const Report& report, const ViewOptions& options);
// Only what it predicts.
std::string prediction_of(const Report& report, const ViewOptions& options);
// Only the map.
std::string map_of(const Report& report, const ViewOptions& options);

}  // namespace glassformer
