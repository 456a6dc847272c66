#include "text/pre_tokenizer.h"

#include <functional>
#include <map>

#include "base/check.h"
#include "text/byte_alphabet.h"
#include "text/scripts.h"
#include "text/split.h"
#include "text/unicode.h"
#include "text/utf8.h"

namespace glassformer {
namespace {

// Every character for which matches(c) is a section of its own.
template <class Matches>
void split_characters(Pieces& pieces, SplitBehavior behavior, Matches&& matches) {
  std::vector<Section> sections;
  pieces.split([&](std::string_view text, auto&& emit) {
    sections.clear();
    size_t open = 0;
    for (size_t at = 0; at < text.size();) {
      const size_t begin = at;
      if (!matches(next_character(text, at))) continue;
      if (open < begin) sections.push_back({open, begin, false});
      sections.push_back({begin, at, true});
      open = at;
    }
    if (open < text.size()) sections.push_back({open, text.size(), false});
    apply_behavior(sections, behavior);
    for (const Section& s : sections) emit(s.begin, s.end);
  });
}

class CharacterSplit : public PreTokenizer {
 public:
  CharacterSplit(SplitBehavior behavior, std::function<bool(char32_t)> matches)
      : behavior_(behavior), matches_(std::move(matches)) {}
  void apply(Pieces& pieces) const override { split_characters(pieces, behavior_, matches_); }

 private:
  SplitBehavior behavior_;
  std::function<bool(char32_t)> matches_;
};

// Words at spaces, which are removed; every punctuation character on its own.
class BertSplit : public PreTokenizer {
 public:
  void apply(Pieces& pieces) const override {
    const CharacterTable& table = CharacterTable::get();
    pieces.split([&](std::string_view text, auto&& emit) {
      size_t open = 0;
      for (size_t at = 0; at < text.size();) {
        const size_t begin = at;
        const uint16_t flags = table[next_character(text, at)];
        if ((flags & (kSpace | kPunctuation)) == 0) continue;
        emit(open, begin);
        if ((flags & kSpace) == 0) emit(begin, at);
        open = at;
      }
      emit(open, text.size());
    });
  }
};

// \w+|[^\w\s]+ : runs of word characters, and runs of what is neither word nor space.
class WordSplit : public PreTokenizer {
 public:
  void apply(Pieces& pieces) const override {
    const CharacterTable& table = CharacterTable::get();
    pieces.split([&](std::string_view text, auto&& emit) {
      size_t open = 0;
      uint16_t previous = kSpace;
      for (size_t at = 0; at < text.size();) {
        const size_t begin = at;
        const uint16_t kind = table[next_character(text, at)] & (kSpace | kWord);
        if (kind == previous) continue;
        if (previous != kSpace) emit(open, begin);
        open = begin;
        previous = kind;
      }
      if (previous != kSpace) emit(open, text.size());
    });
  }
};

class PatternSplit : public PreTokenizer {
 public:
  explicit PatternSplit(const JsonFields& fields)
      : finder_(fields, "pattern"),
        behavior_(split_behavior(fields, "behavior")),
        invert_(fields.boolean("invert", false)) {}

  void apply(Pieces& pieces) const override {
    std::vector<Span> matches;
    std::vector<Section> sections;
    pieces.split([&](std::string_view text, auto&& emit) {
      matches.clear();
      sections.clear();
      finder_.find(text, matches);
      size_t open = 0;
      for (const Span& match : matches) {
        if (open != match.begin) sections.push_back({open, match.begin, invert_});
        sections.push_back({match.begin, match.end, !invert_});
        open = match.end;
      }
      if (open != text.size()) sections.push_back({open, text.size(), invert_});
      apply_behavior(sections, behavior_);
      for (const Section& s : sections) emit(s.begin, s.end);
    });
  }

 private:
  PatternFinder finder_;
  SplitBehavior behavior_;
  bool invert_;
};

class ByteLevel : public PreTokenizer {
 public:
  ByteLevel(const JsonFields& fields, bool keep_bytes)
      : prefix_(fields.boolean("add_prefix_space")),
        split_(fields.boolean("use_regex", true)),
        keep_bytes_(keep_bytes) {}

  void apply(Pieces& pieces) const override {
    if (prefix_)
      pieces.edit([](NormalizedText& text, bool) {
        if (!text.view().starts_with(' ')) text.prepend(" ");
      });
    if (split_) {
      std::vector<Span> matches;
      pieces.split([&](std::string_view text, auto&& emit) {
        matches.clear();
        finder_.find(text, matches);
        for (const Span& match : matches) emit(match.begin, match.end);
      });
    }
    if (!keep_bytes_) pieces.edit([](NormalizedText& text, bool) { text.spell_bytes(); });
  }

 private:
  bool prefix_;
  bool split_;
  bool keep_bytes_;
  PatternFinder finder_;
};

// Spaces become a visible mark, which also goes before the text; words are cut before each mark.
class Metaspace : public PreTokenizer {
 public:
  explicit Metaspace(const JsonFields& fields)
      : mark_(fields.text("replacement")), split_(fields.boolean("split", true)) {
    if (count_characters(mark_) != 1) fields.fail("replacement", "one character");
    const std::string scheme = fields.text("prepend_scheme", "always");
    if (scheme != "always" && scheme != "first" && scheme != "never")
      fields.fail("prepend_scheme", "always, first or never");
    const bool never = scheme == "never" || !fields.boolean("add_prefix_space", true);
    prepend_ = never ? Prepend::kNever : scheme == "first" ? Prepend::kFirst : Prepend::kAlways;
  }

  void apply(Pieces& pieces) const override {
    std::vector<Span> spaces;
    pieces.edit([&](NormalizedText& text, bool first) {
      spaces.clear();
      const std::string_view view = text.view();
      for (size_t at = view.find(' '); at != view.npos; at = view.find(' ', at + 1))
        spaces.push_back({static_cast<uint32_t>(at), static_cast<uint32_t>(at + 1)});
      text.replace(spaces, mark_);
      if ((prepend_ == Prepend::kAlways || (prepend_ == Prepend::kFirst && first)) &&
          !text.view().starts_with(mark_))
        text.prepend(mark_);
    });
    if (!split_) return;
    pieces.split([&](std::string_view text, auto&& emit) {
      size_t open = 0;
      for (size_t at = text.find(mark_); at != text.npos;
           at = text.find(mark_, at + mark_.size())) {
        emit(open, at);
        open = at;
      }
      emit(open, text.size());
    });
  }

 private:
  enum class Prepend { kAlways, kFirst, kNever };
  std::string mark_;
  bool split_;
  Prepend prepend_;
};

class ScriptSplit : public PreTokenizer {
 public:
  void apply(Pieces& pieces) const override {
    pieces.split([](std::string_view text, auto&& emit) {
      // Characters that go with any script stay with what is before them; where nothing is, they
      // are dropped, as the package does.
      uint8_t last = kAnyScript;
      size_t open = text.size();
      for (size_t at = 0; at < text.size();) {
        const size_t begin = at;
        const uint8_t script = script_of(next_character(text, at));
        if (script == kAnyScript || script == last) continue;
        if (last != kAnyScript) emit(open, begin);
        open = begin;
        last = script;
      }
      emit(open, text.size());
    });
  }
};

class FixedLength : public PreTokenizer {
 public:
  explicit FixedLength(const JsonFields& fields) : length_(fields.integer("length", 5)) {
    if (length_ < 1) fields.fail("length", "at least 1");
  }
  void apply(Pieces& pieces) const override {
    pieces.split([&](std::string_view text, auto&& emit) {
      for (size_t at = 0; at < text.size();) {
        const size_t begin = at;
        for (int64_t i = 0; i < length_ && at < text.size(); ++i) at += character_size(text[at]);
        emit(begin, at);
      }
    });
  }

 private:
  int64_t length_;
};

class Sequence : public PreTokenizer {
 public:
  Sequence(const JsonFields& fields, bool keep_bytes) {
    const Json& list = fields.at("pretokenizers");
    if (!list.is_array()) fields.fail("pretokenizers", "a list");
    for (const Json& one : list)
      steps_.push_back(
          make_pre_tokenizer(JsonFields(one, fields.where()), keep_bytes && &one == &list.back()));
  }
  void apply(Pieces& pieces) const override {
    for (const auto& step : steps_) step->apply(pieces);
  }

 private:
  std::vector<std::unique_ptr<PreTokenizer>> steps_;
};

std::unique_ptr<PreTokenizer> characters(SplitBehavior behavior,
                                         std::function<bool(char32_t)> matches) {
  return std::make_unique<CharacterSplit>(behavior, std::move(matches));
}

std::unique_ptr<PreTokenizer> delimiter_split(const JsonFields& fields) {
  const std::u32string delimiter = to_utf32(fields.text("delimiter"));
  if (delimiter.size() != 1) fields.fail("delimiter", "one character");
  return characters(SplitBehavior::kRemoved, [c = delimiter[0]](char32_t x) { return x == c; });
}

}  // namespace

std::unique_ptr<PreTokenizer> make_pre_tokenizer(const JsonFields& fields, bool keep_bytes) {
  const std::string type = fields.text("type");
  const JsonFields at(fields.json(), fields.where() + ": " + type);
  if (type == "ByteLevel") return std::make_unique<ByteLevel>(at, keep_bytes);
  if (type == "Sequence") return std::make_unique<Sequence>(at, keep_bytes);
  if (type == "Metaspace") return std::make_unique<Metaspace>(at);
  if (type == "BertPreTokenizer") return std::make_unique<BertSplit>();
  if (type == "Whitespace") return std::make_unique<WordSplit>();
  if (type == "Split") return std::make_unique<PatternSplit>(at);
  if (type == "UnicodeScripts") return std::make_unique<ScriptSplit>();
  if (type == "FixedLength") return std::make_unique<FixedLength>(at);
  if (type == "CharDelimiterSplit") return delimiter_split(at);
  if (type == "WhitespaceSplit") return characters(SplitBehavior::kRemoved, is_space);
  if (type == "Punctuation")
    return characters(split_behavior(at, "behavior"),
                      [](char32_t c) { return has_flag(c, kPunctuation); });
  if (type == "Digits")
    return characters(at.boolean("individual_digits", false) ? SplitBehavior::kIsolated
                                                             : SplitBehavior::kContiguous,
                      [](char32_t c) { return has_flag(c, kNumeric); });
  throw FileError(fmt::format("{}: unknown pre-tokenizer '{}'", fields.where(), type));
}

bool ends_byte_level(const JsonFields& fields) {
  const std::string type = fields.text("type");
  if (type != "Sequence") return type == "ByteLevel";
  const Json& list = fields.at("pretokenizers");
  return list.is_array() && !list.empty() &&
         ends_byte_level(JsonFields(list.back(), fields.where()));
}

}  // namespace glassformer
