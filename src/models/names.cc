#include "models/names.h"

#include <cctype>
#include <optional>

namespace glassformer {
namespace {

struct Match {
  std::string number, rest;
};

// `name` starts with `pattern`, at whole words: what stood for `*`, and what follows.
std::optional<Match> match(const std::string& pattern, const std::string& name) {
  Match found;
  size_t at = 0;
  for (const char c : pattern) {
    if (c != '*') {
      if (at >= name.size() || name[at] != c) return std::nullopt;
      ++at;
      continue;
    }
    const size_t begin = at;
    while (at < name.size() && std::isdigit(static_cast<unsigned char>(name[at])) != 0) ++at;
    if (at == begin) return std::nullopt;
    found.number = name.substr(begin, at - begin);
  }
  const bool whole = at == name.size() || name[at] == '.' || pattern.ends_with('.');
  if (!whole) return std::nullopt;
  found.rest = name.substr(at);
  return found;
}

std::string filled(const std::string& pattern, const Match& found) {
  std::string name = pattern;
  if (const size_t star = name.find('*'); star != std::string::npos)
    name.replace(star, 1, found.number);
  return name + found.rest;
}

// The names that old checkpoints give the weights of a norm.
std::string old_spelling(const std::string& name) {
  const auto ends = [&](const char* end) { return name.ends_with(end); };
  if (ends("LayerNorm.weight")) return name.substr(0, name.size() - 6) + "gamma";
  if (ends("LayerNorm.bias")) return name.substr(0, name.size() - 4) + "beta";
  return {};
}

}  // namespace

NameMap& NameMap::add(std::string ours, std::string theirs, StoredForm form) {
  rules_.push_back({std::move(ours), std::move(theirs), form});
  return *this;
}

NameMap& NameMap::below(const std::string& ours, const std::string& theirs,
                        const std::vector<std::pair<std::string, std::string>>& pairs) {
  for (const auto& [our_end, their_end] : pairs) add(ours + our_end, theirs + their_end);
  return *this;
}

NameMap& NameMap::append_base(const NameMap& other) {
  for (const Rule& rule : other.rules_)
    if (rule.theirs.starts_with('~') && !rule.ours.starts_with("head.")) rules_.push_back(rule);
  return *this;
}

std::vector<NameMap::Stored> NameMap::find(const std::string& ours) const {
  std::vector<Stored> found;
  for (const Rule& rule : rules_) {
    const std::optional<Match> matched = match(rule.ours, ours);
    if (!matched) continue;
    const bool based = rule.theirs.starts_with('~');
    const std::string name = filled(based ? rule.theirs.substr(1) : rule.theirs, *matched);
    found.push_back({based ? prefix_ + name : name, rule.form});
    if (based && !prefix_.empty()) found.push_back({name, rule.form});
  }
  const size_t spellings = found.size();
  for (size_t i = 0; i < spellings; ++i)
    if (std::string old = old_spelling(found[i].name); !old.empty())
      found.push_back({std::move(old), found[i].form});
  return found;
}

}  // namespace glassformer
