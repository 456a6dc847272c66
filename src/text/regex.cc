#include "text/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/check.h"
#include "text/regex_syntax.h"

namespace glassformer {
namespace {

// Steps of one match. Real patterns need a handful a character; a hostile one stops here.
constexpr uint32_t kMatchLimit = 10'000'000;
constexpr uint32_t kDepthLimit = 10'000;
constexpr uint32_t kHeapLimitKiB = 64 << 10;

std::string error_text(int code) {
  PCRE2_UCHAR buffer[160] = {};
  pcre2_get_error_message(code, buffer, sizeof(buffer));
  return reinterpret_cast<const char*>(buffer);
}

struct MatchDataFree {
  void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
};
struct ContextFree {
  void operator()(pcre2_match_context* context) const { pcre2_match_context_free(context); }
};

}  // namespace

struct Regex::Code {
  pcre2_code* compiled = nullptr;
  std::string pattern;  // as the file has it, for messages

  ~Code() { pcre2_code_free(compiled); }
};

Regex::~Regex() = default;
Regex::Regex(Regex&&) noexcept = default;
Regex::Regex(std::unique_ptr<Code> code) : code_(std::move(code)) {}

Regex::Regex(std::string_view pattern, const std::string& where)
    : code_(compile(translate_regex(pattern, where), pattern, where)) {}

Regex Regex::literal(std::string_view text, const std::string& where) {
  std::string escaped;
  for (const char byte : text) {
    if (static_cast<unsigned char>(byte) < 0x80 && !std::isalnum(static_cast<unsigned char>(byte)))
      escaped += '\\';
    escaped += byte;
  }
  return Regex(compile(escaped, text, where));
}

std::unique_ptr<Regex::Code> Regex::compile(const std::string& translated, std::string_view pattern,
                                            const std::string& where) {
  int error = 0;
  PCRE2_SIZE offset = 0;
  auto code = std::make_unique<Code>();
  code->pattern = pattern;
  code->compiled = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated.data()), translated.size(),
                                 PCRE2_UTF | PCRE2_MULTILINE, &error, &offset, nullptr);
  require<FileError>(code->compiled != nullptr, "{}: regular expression '{}': {}", where, pattern,
                     error_text(error));
  // Where the just-in-time compiler is missing, matching interprets.
  pcre2_jit_compile(code->compiled, PCRE2_JIT_COMPLETE);
  return code;
}

void Regex::find(std::string_view text, std::vector<Span>& matches) const {
  const std::unique_ptr<pcre2_match_data, MatchDataFree> data(
      pcre2_match_data_create_from_pattern(code_->compiled, nullptr));
  const std::unique_ptr<pcre2_match_context, ContextFree> context(
      pcre2_match_context_create(nullptr));
  require<MemoryError>(data && context, "regular expression: out of memory");
  pcre2_set_match_limit(context.get(), kMatchLimit);
  pcre2_set_depth_limit(context.get(), kDepthLimit);
  pcre2_set_heap_limit(context.get(), kHeapLimitKiB);
  const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
  PCRE2_SIZE at = 0;
  PCRE2_SIZE last_end = PCRE2_UNSET;
  while (at <= text.size()) {
    const int found = pcre2_match(code_->compiled, subject, text.size(), at, PCRE2_NO_UTF_CHECK,
                                  data.get(), context.get());
    if (found == PCRE2_ERROR_NOMATCH) return;
    require<ValueError>(found > 0, "regular expression '{}': {}", code_->pattern,
                        error_text(found));
    const PCRE2_SIZE* range = pcre2_get_ovector_pointer(data.get());
    const PCRE2_SIZE begin = range[0];
    const PCRE2_SIZE end = range[1];
    // An empty match right after a match does not count; look on from the next character.
    const bool repeated = begin == end && begin == last_end;
    if (!repeated) matches.push_back({static_cast<uint32_t>(begin), static_cast<uint32_t>(end)});
    last_end = end;
    at = end;
    if (begin == end) {
      ++at;
      while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) ++at;
    }
  }
}

}  // namespace glassformer
