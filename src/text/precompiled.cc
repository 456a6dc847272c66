#include "text/precompiled.h"

#include <utf8proc.h>

#include "base/check.h"
#include "text/change_list.h"
#include "text/chars_map.h"
#include "text/utf8.h"

namespace glassformer {
namespace {

// The end of the grapheme cluster that begins at `begin`.
size_t cluster_end(std::string_view text, size_t begin) {
  size_t at = begin;
  char32_t previous = next_character(text, at);
  utf8proc_int32_t state = 0;
  while (at < text.size()) {
    size_t next = at;
    const char32_t c = next_character(text, next);
    const bool plain = previous < 0x80 && c < 0x80 && c != '\n';
    if (plain || utf8proc_grapheme_break_stateful(static_cast<utf8proc_int32_t>(previous),
                                                  static_cast<utf8proc_int32_t>(c), &state))
      break;
    previous = c;
    at = next;
  }
  return at;
}

// Clusters of up to 5 bytes are looked up whole, longer ones character by character; and the rule
// that applies is the one with the shortest left side. Odd, but so does the package, and ids depend
// on it.
class Precompiled : public Normalizer {
 public:
  explicit Precompiled(CharsMap map) : map_(std::move(map)) {}

  void apply(NormalizedText& text) const override {
    const std::string_view view = text.view();
    ChangeList changes;
    bool modified = false;
    for (size_t begin = 0; begin < view.size();) {
      const size_t end = cluster_end(view, begin);
      if (end - begin < 6 && substitute(view.substr(begin, end - begin), changes)) {
        modified = true;
        begin = end;
        continue;
      }
      while (begin < end) {
        size_t next = begin;
        const char32_t c = next_character(view, next);
        if (substitute(view.substr(begin, next - begin), changes)) {
          modified = true;
        } else {
          changes.keep(c);
        }
        begin = next;
      }
    }
    if (modified) changes.apply(text);
  }

 private:
  bool substitute(std::string_view part, ChangeList& changes) const {
    const auto rule = map_.shortest(part);
    if (rule) changes.replace(count_characters(part), to_utf32(rule->replacement));
    return rule.has_value();
  }

  CharsMap map_;
};

}  // namespace

std::unique_ptr<Normalizer> make_precompiled(const JsonFields& fields) {
  const std::string blob = decode_base64(fields.text("precompiled_charsmap", ""), fields.where());
  CharsMap map(blob, fields.where());
  return std::make_unique<Precompiled>(std::move(map));
}

}  // namespace glassformer
