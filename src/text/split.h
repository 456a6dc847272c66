#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "text/pieces.h"
#include "text/regex.h"

namespace glassformer {

// The patterns of GPT-2, of Llama 3 and of Qwen 2, for which there are scanners.
extern const std::string_view kGpt2Pattern;
extern const std::string_view kLlama3Pattern;
extern const std::string_view kQwen2Pattern;

// What becomes of the parts of a text that a pattern matched. For "a-b--c" and "-":
enum class SplitBehavior {
  kRemoved,             // a b c
  kIsolated,            // a - b - - c
  kMergedWithPrevious,  // a- b- - c
  kMergedWithNext,      // a -b - -c
  kContiguous,          // a - b -- c
};
// Throws FileError for another name.
SplitBehavior split_behavior(const JsonFields& fields, std::string_view name);

// A part of a text, and whether the pattern matched it.
struct Section {
  size_t begin, end;
  bool match;
};

// Joins and drops sections as `behavior` says; what remains is in `sections`.
void apply_behavior(std::vector<Section>& sections, SplitBehavior behavior);

// Finds the matches of a pattern: PCRE2, or a hand-written scanner for the patterns that most
// models use, which match at every position and so leave nothing between their matches.
class PatternFinder {
 public:
  // `pattern` as a tokenizer file has it: {"Regex": ...} or {"String": ...}.
  PatternFinder(const JsonFields& fields, std::string_view name);
  // The pattern of GPT-2.
  PatternFinder();

  // Appends the matches.
  void find(std::string_view text, std::vector<Span>& matches) const;

 private:
  using Scan = void (*)(std::string_view, std::vector<Span>&);
  static Scan known(std::string_view pattern);

  Scan scan_ = nullptr;
  std::vector<Regex> regex_;  // one, where there is no scanner
};

}  // namespace glassformer
