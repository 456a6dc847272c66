#include "text/decoder.h"

#include <algorithm>
#include <functional>

#include "base/check.h"
#include "text/byte_alphabet.h"
#include "text/split.h"
#include "text/utf8.h"

namespace glassformer {
namespace {

using Tokens = std::vector<std::string>;

class Simple : public Decoder {
 public:
  explicit Simple(std::function<void(Tokens&)> apply) : apply_(std::move(apply)) {}
  void apply(Tokens& tokens) const override { apply_(tokens); }

 private:
  std::function<void(Tokens&)> apply_;
};

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  size_t at = from.empty() ? text.npos : text.find(from);
  if (at == text.npos) return;
  std::string result;
  size_t open = 0;
  for (; at != text.npos; at = text.find(from, open)) {
    result.append(text, open, at - open).append(to);
    open = at + from.size();
  }
  text = result.append(text, open);
}

std::string join(const Tokens& tokens) {
  std::string text;
  for (const std::string& token : tokens) text += token;
  return text;
}

// Spaces that the tokenizer put between words and English punctuation.
void clean_up(std::string& text) {
  for (const auto& [from, to] :
       std::initializer_list<std::pair<const char*, const char*>>{{" .", "."},
                                                                  {" ?", "?"},
                                                                  {" !", "!"},
                                                                  {" ,", ","},
                                                                  {" ' ", "'"},
                                                                  {" n't", "n't"},
                                                                  {" 'm", "'m"},
                                                                  {" do not", " don't"},
                                                                  {" 's", "'s"},
                                                                  {" 've", "'ve"},
                                                                  {" 're", "'re"}})
    replace_all(text, from, to);
}

void decode_byte_fallback(Tokens& tokens) {
  Tokens result;
  std::string bytes;
  const auto flush = [&] {
    if (bytes.empty()) return;
    if (valid_utf8(bytes) == bytes.size()) {
      result.push_back(bytes);
    } else {
      result.insert(result.end(), bytes.size(), "\xEF\xBF\xBD");
    }
    bytes.clear();
  };
  for (std::string& token : tokens) {
    const int byte = fallback_byte(token);
    if (byte >= 0) {
      bytes += static_cast<char>(byte);
    } else {
      flush();
      result.push_back(std::move(token));
    }
  }
  flush();
  tokens = std::move(result);
}

class ByteLevel : public Decoder {
 public:
  void apply(Tokens& tokens) const override {
    std::string bytes;
    for (const std::string& token : tokens) bytes += to_bytes(token).value_or(token);
    tokens = {replace_invalid_utf8(bytes)};
  }
  bool spells_bytes() const override { return true; }
};

std::function<void(Tokens&)> word_piece(const JsonFields& fields) {
  return [prefix = fields.text("prefix"), cleanup = fields.boolean("cleanup")](Tokens& tokens) {
    for (size_t i = 0; i < tokens.size(); ++i) {
      if (i > 0) {
        if (tokens[i].starts_with(prefix)) {
          tokens[i].erase(0, prefix.size());
        } else {
          tokens[i].insert(0, 1, ' ');
        }
      }
      if (cleanup) clean_up(tokens[i]);
    }
  };
}

std::function<void(Tokens&)> metaspace(const JsonFields& fields) {
  const std::string mark = fields.text("replacement");
  const bool never = fields.text("prepend_scheme", "always") == "never" ||
                     !fields.boolean("add_prefix_space", true);
  return [mark, never](Tokens& tokens) {
    for (size_t i = 0; i < tokens.size(); ++i)
      replace_all(tokens[i], mark, i == 0 && !never ? "" : " ");
  };
}

std::function<void(Tokens&)> end_of_word(const JsonFields& fields) {
  return [suffix = fields.text("suffix")](Tokens& tokens) {
    for (size_t i = 0; i < tokens.size(); ++i)
      replace_all(tokens[i], suffix, i + 1 == tokens.size() ? "" : " ");
  };
}

// Repeated tokens count once, unless a pad stands between them.
std::function<void(Tokens&)> ctc(const JsonFields& fields) {
  return [pad = fields.text("pad_token"), delimiter = fields.text("word_delimiter_token"),
          cleanup = fields.boolean("cleanup")](Tokens& tokens) {
    tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
    for (std::string& token : tokens) {
      replace_all(token, pad, "");
      if (!cleanup) continue;
      clean_up(token);
      replace_all(token, delimiter, " ");
    }
    std::erase(tokens, "");
  };
}

std::function<void(Tokens&)> strip(const JsonFields& fields) {
  const std::string content = fields.text("content");
  if (count_characters(content) != 1) fields.fail("content", "one character");
  return [content, start = fields.integer("start"), stop = fields.integer("stop")](Tokens& tokens) {
    for (std::string& token : tokens) {
      for (int64_t i = 0; i < start && token.starts_with(content); ++i)
        token.erase(0, content.size());
      for (int64_t i = 0; i < stop && token.ends_with(content); ++i)
        token.erase(token.size() - content.size());
    }
  };
}

class Replace : public Decoder {
 public:
  explicit Replace(const JsonFields& fields)
      : finder_(fields, "pattern"), content_(fields.text("content")) {}

  void apply(Tokens& tokens) const override {
    std::vector<Span> matches;
    for (std::string& token : tokens) {
      matches.clear();
      if (!token.empty()) finder_.find(token, matches);
      if (matches.empty()) continue;
      std::string result;
      size_t open = 0;
      for (const Span& match : matches) {
        result.append(token, open, match.begin - open);
        result += content_;
        open = match.end;
      }
      result.append(token, open);
      token = std::move(result);
    }
  }

 private:
  PatternFinder finder_;
  std::string content_;
};

class Sequence : public Decoder {
 public:
  explicit Sequence(const JsonFields& fields) {
    const Json& list = fields.at("decoders");
    if (!list.is_array()) fields.fail("decoders", "a list");
    for (const Json& one : list) steps_.push_back(make_decoder(JsonFields(one, fields.where())));
  }
  void apply(Tokens& tokens) const override {
    for (const auto& step : steps_) step->apply(tokens);
  }
  bool spells_bytes() const override {
    return std::any_of(steps_.begin(), steps_.end(),
                       [](const auto& step) { return step->spells_bytes(); });
  }

 private:
  std::vector<std::unique_ptr<Decoder>> steps_;
};

}  // namespace

int fallback_byte(std::string_view token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return -1;
  int value = 0;
  for (const char c : token.substr(3, 2)) {
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                             : -1;
    if (digit < 0) return -1;
    value = value * 16 + digit;
  }
  return value;
}

std::unique_ptr<Decoder> make_decoder(const JsonFields& fields) {
  const std::string type = fields.text("type");
  const JsonFields at(fields.json(), fields.where() + ": " + type);
  const auto simple = [](std::function<void(Tokens&)> apply) {
    return std::make_unique<Simple>(std::move(apply));
  };
  if (type == "Sequence") return std::make_unique<Sequence>(at);
  if (type == "Replace") return std::make_unique<Replace>(at);
  if (type == "ByteLevel") return std::make_unique<ByteLevel>();
  if (type == "ByteFallback") return simple(decode_byte_fallback);
  if (type == "Fuse") return simple([](Tokens& tokens) { tokens = {join(tokens)}; });
  if (type == "WordPiece") return simple(word_piece(at));
  if (type == "Metaspace") return simple(metaspace(at));
  if (type == "BPEDecoder") return simple(end_of_word(at));
  if (type == "CTC") return simple(ctc(at));
  if (type == "Strip") return simple(strip(at));
  throw FileError(fmt::format("{}: unknown decoder '{}'", fields.where(), type));
}

}  // namespace glassformer
