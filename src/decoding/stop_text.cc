#include "glassformer/decoding/stop_text.h"

#include <algorithm>
#include <utility>

namespace glassformer {

std::string StopText::add(std::string_view text) {
  if (stopped_) return {};
  held_ += text;
  size_t end = std::string::npos;
  for (const std::string& stop : stops_) end = std::min(end, held_.find(stop));
  if (end != std::string::npos) {
    stopped_ = true;
    return std::exchange(held_, {}).substr(0, end);
  }
  // The longest end of the text that a stop string begins with.
  size_t hold = 0;
  for (const std::string& stop : stops_)
    for (size_t size = std::min(stop.size() - 1, held_.size()); size > hold; --size)
      if (std::string_view(held_).ends_with(std::string_view(stop).substr(0, size))) hold = size;
  std::string shown = held_.substr(0, held_.size() - hold);
  held_.erase(0, shown.size());
  return shown;
}

std::string StopText::finish() { return std::exchange(held_, {}); }

}  // namespace glassformer
