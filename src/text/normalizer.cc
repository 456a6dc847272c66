#include "text/normalizer.h"

#include <functional>
#include <vector>

#include "base/check.h"
#include "text/precompiled.h"
#include "text/split.h"
#include "text/unicode.h"

namespace glassformer {
namespace {

// Most kinds are one call.
class Simple : public Normalizer {
 public:
  explicit Simple(std::function<void(NormalizedText&)> apply) : apply_(std::move(apply)) {}
  void apply(NormalizedText& text) const override { apply_(text); }

 private:
  std::function<void(NormalizedText&)> apply_;
};

class Bert : public Normalizer {
 public:
  explicit Bert(const JsonFields& fields)
      : clean_(fields.boolean("clean_text")),
        chinese_(fields.boolean("handle_chinese_chars")),
        lowercase_(fields.boolean("lowercase")),
        strip_accents_(fields.boolean("strip_accents", lowercase_)) {}

  void apply(NormalizedText& text) const override {
    if (clean_) {
      text.filter([](char32_t c) {
        return c < 0x80 ? (c >= ' ' && c != 0x7F) || c == '\t' || c == '\n' || c == '\r'
                        : !has_flag(c, kRemoved);
      });
      text.map([](char32_t c) { return is_space(c) ? U' ' : c; });
    }
    if (chinese_) space_chinese(text);
    if (strip_accents_) {
      text.normalize(false, false);
      text.filter([](char32_t c) { return c < 0x80 || !has_flag(c, kNonspacing); });
    }
    if (lowercase_) text.lowercase();
  }

 private:
  static void space_chinese(NormalizedText& text) {
    bool any = false;
    text.map([&](char32_t c) {
      any |= is_chinese(c);
      return c;
    });
    if (!any) return;
    Rewriter rewriter(text);
    text.map([&](char32_t c) {
      if (is_chinese(c)) {
        rewriter.put(U' ', 0);
        rewriter.put(c, 1);
        rewriter.put(U' ', 1);
      } else {
        rewriter.put(c, 0);
      }
      return c;
    });
    rewriter.finish();
  }

  bool clean_;
  bool chinese_;
  bool lowercase_;
  bool strip_accents_;
};

// Control characters go, other kinds of space become spaces: the cleaning of SentencePiece's NMT.
void clean_nmt(NormalizedText& text) {
  text.filter([](char32_t c) {
    return !((c >= 0x1 && c <= 0x8) || c == 0xB || (c >= 0xE && c <= 0x1F) || c == 0x7F ||
             c == 0x8F || c == 0x9F);
  });
  text.map([](char32_t c) {
    const bool space = c == 0x9 || c == 0xA || c == 0xC || c == 0xD || c == 0x1680 ||
                       (c >= 0x200B && c <= 0x200F) || c == 0x2028 || c == 0x2029 || c == 0x2581 ||
                       c == 0xFEFF || c == 0xFFFD;
    return space ? U' ' : c;
  });
}

class Replace : public Normalizer {
 public:
  explicit Replace(const JsonFields& fields)
      : finder_(fields, "pattern"), content_(fields.text("content")) {}

  void apply(NormalizedText& text) const override {
    if (text.empty()) return;
    std::vector<Span> matches;
    finder_.find(text.view(), matches);
    text.replace(matches, content_);
  }

 private:
  PatternFinder finder_;
  std::string content_;
};

class Sequence : public Normalizer {
 public:
  explicit Sequence(const JsonFields& fields) {
    const Json& list = fields.at("normalizers");
    if (!list.is_array()) fields.fail("normalizers", "a list");
    for (const Json& one : list) steps_.push_back(make_normalizer(JsonFields(one, fields.where())));
  }
  void apply(NormalizedText& text) const override {
    for (const auto& step : steps_) step->apply(text);
  }

 private:
  std::vector<std::unique_ptr<Normalizer>> steps_;
};

std::unique_ptr<Normalizer> simple(std::function<void(NormalizedText&)> apply) {
  return std::make_unique<Simple>(std::move(apply));
}

}  // namespace

std::unique_ptr<Normalizer> make_normalizer(const JsonFields& fields) {
  const std::string type = fields.text("type");
  const JsonFields at(fields.json(), fields.where() + ": " + type);
  if (type == "Sequence") return std::make_unique<Sequence>(at);
  if (type == "BertNormalizer") return std::make_unique<Bert>(at);
  if (type == "Replace") return std::make_unique<Replace>(at);
  if (type == "Precompiled") return make_precompiled(at);
  if (type == "NFC") return simple([](NormalizedText& t) { t.normalize(true, false); });
  if (type == "NFD") return simple([](NormalizedText& t) { t.normalize(false, false); });
  if (type == "NFKC") return simple([](NormalizedText& t) { t.normalize(true, true); });
  if (type == "NFKD") return simple([](NormalizedText& t) { t.normalize(false, true); });
  if (type == "Lowercase") return simple([](NormalizedText& t) { t.lowercase(); });
  if (type == "Nmt") return simple(clean_nmt);
  if (type == "ByteLevel") return simple([](NormalizedText& t) { t.spell_bytes(); });
  if (type == "StripAccents")
    return simple([](NormalizedText& t) {
      t.filter([](char32_t c) { return c < 0x80 || !has_flag(c, kMark); });
    });
  if (type == "Prepend")
    return simple([prefix = at.text("prepend")](NormalizedText& t) { t.prepend(prefix); });
  if (type == "Strip")
    return simple([left = at.boolean("strip_left"),
                   right = at.boolean("strip_right")](NormalizedText& t) { t.strip(left, right); });
  throw FileError(fmt::format("{}: unknown normalizer '{}'", fields.where(), type));
}

}  // namespace glassformer
