#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/normalized_text.h"

namespace glassformer {

// A regular expression as tokenizer files have them: Oniguruma's Ruby dialect, run by PCRE2. The
// pattern is translated (see regex.cc); what does not carry over is refused by name. Classes follow
// the tables in unicode.h. Matching is bounded: a pattern that takes too long throws ValueError.
class Regex {
 public:
  // Throws FileError, naming `where`.
  Regex(std::string_view pattern, const std::string& where);
  // One that matches `text` itself.
  static Regex literal(std::string_view text, const std::string& where);
  ~Regex();
  Regex(Regex&&) noexcept;

  // The matches in valid UTF-8, from left to right, apart from each other; some may be empty.
  // Appends to `matches`. Throws ValueError where a limit is hit.
  void find(std::string_view text, std::vector<Span>& matches) const;

 private:
  struct Code;
  explicit Regex(std::unique_ptr<Code> code);
  static std::unique_ptr<Code> compile(const std::string& translated, std::string_view pattern,
                                       const std::string& where);
  std::unique_ptr<Code> code_;
};

}  // namespace glassformer
