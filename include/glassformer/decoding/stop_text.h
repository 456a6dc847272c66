#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace glassformer {

// Cuts text at the first stop string, while the text is still being made: what could be the
// beginning of one is held back until it is clear.
class StopText {
 public:
  explicit StopText(std::vector<std::string> stop_strings) : stops_(std::move(stop_strings)) {}

  // What may be shown now; nothing once stopped().
  std::string add(std::string_view text);
  // What was held back, at the end of a text that did not stop.
  std::string finish();
  bool stopped() const { return stopped_; }

 private:
  std::vector<std::string> stops_;
  std::string held_;
  bool stopped_ = false;
};

}  // namespace glassformer
