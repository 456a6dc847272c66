#include "glassformer/inspect/capture.h"

#include <algorithm>

namespace glassformer {

bool matches(std::string_view pattern, std::string_view name) {
  if (pattern.empty()) return name.empty();
  if (pattern.front() != '*')
    return !name.empty() && name.front() == pattern.front() &&
           matches(pattern.substr(1), name.substr(1));
  const bool any = pattern.starts_with("**");
  const std::string_view rest = pattern.substr(any ? 2 : 1);
  for (size_t taken = 0; taken <= name.size(); ++taken) {
    if (matches(rest, name.substr(taken))) return true;
    if (taken < name.size() && name[taken] == '.' && !any) return false;
  }
  return false;
}

Capture::Capture(std::vector<std::string> patterns, std::vector<int64_t> heads,
                 std::vector<int64_t> rows)
    : patterns_(std::move(patterns)), heads_(std::move(heads)), rows_(std::move(rows)) {}

ProbeWish Capture::wish(const std::string& name) {
  // Asked several times for the steps inside an attention.
  if (std::find(seen_.rbegin(), seen_.rend(), name) == seen_.rend()) seen_.push_back(name);
  for (const std::string& pattern : patterns_)
    if (matches(pattern, name)) return {ProbeWish::Kind::kRead, heads_, rows_};
  return {};
}

void Capture::read(const std::string& name, const Tensor& value) { values_[name] = value; }

Tensor Capture::replace(const std::string&, const Tensor& value) { return value; }

Tensor Capture::value(const std::string& name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? Tensor() : found->second;
}

}  // namespace glassformer
