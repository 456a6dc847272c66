#include "text/post_processor.h"

#include <map>

#include "base/check.h"
#include "text/encoding_ops.h"

namespace glassformer {
namespace {

struct SpecialToken {
  std::string text;
  int64_t id;
};

int64_t checked_id(const Json& value, const std::string& where) {
  require<FileError>(value.is_number_unsigned() && value.get<uint64_t>() < UINT32_MAX,
                     "{}: a token's number must be a whole number, found {}", where,
                     describe(value));
  return value.get<int64_t>();
}

// ["[SEP]", 102]
SpecialToken read_pair(const JsonFields& fields, std::string_view name) {
  const Json& pair = fields.at(name);
  if (!pair.is_array() || pair.size() != 2 || !pair[0].is_string())
    fields.fail(name, "a token and its number");
  return {pair[0].get<std::string>(), checked_id(pair[1], fields.where())};
}

void set_type(Encoding& encoding, int64_t type) {
  encoding.type_ids.assign(encoding.size(), type);
  for (Encoding& part : encoding.overflowing) set_type(part, type);
}

// [CLS] A [SEP] and, for a pair, B [SEP]; RoBERTa has one more </s> before B and no types.
class ClsSep : public PostProcessor {
 public:
  ClsSep(const JsonFields& fields, bool roberta)
      : cls_(read_pair(fields, "cls")),
        sep_(read_pair(fields, "sep")),
        roberta_(roberta),
        trim_(roberta && fields.boolean("trim_offsets")),
        prefix_space_(roberta && fields.boolean("add_prefix_space")) {}

  size_t added(bool pair) const override { return pair ? (roberta_ ? 4 : 3) : 2; }

  void process(std::vector<Encoding>& parts, bool special, bool with_tokens) const override {
    for (size_t i = 0; i < parts.size(); ++i) {
      if (roberta_) set_type(parts[i], 0);
      if (special) surround(parts[i], i > 0, with_tokens);
    }
  }

  void trims(std::vector<bool>& list) const override {
    if (trim_) list.push_back(prefix_space_);
  }

 private:
  void surround(Encoding& encoding, bool second, bool with_tokens) const {
    for (Encoding& part : encoding.overflowing) surround(part, second, with_tokens);
    const int64_t type = second && !roberta_ ? 1 : 0;
    Encoding result;
    if (!second) add_special(result, cls_.id, cls_.text, type, with_tokens);
    if (second && roberta_) add_special(result, sep_.id, sep_.text, type, with_tokens);
    std::vector<Encoding> overflowing = std::move(encoding.overflowing);
    encoding.overflowing.clear();
    append(result, encoding);
    add_special(result, sep_.id, sep_.text, type, with_tokens);
    result.overflowing = std::move(overflowing);
    encoding = std::move(result);
  }

  SpecialToken cls_;
  SpecialToken sep_;
  bool roberta_;
  bool trim_;
  bool prefix_space_;
};

class Template : public PostProcessor {
 public:
  explicit Template(const JsonFields& fields) {
    const JsonFields tokens = fields.object("special_tokens");
    for (const auto& [name, _] : tokens.json().items()) read_special(tokens.object(name), name);
    single_ = read_pieces(fields, "single", 1);
    pair_ = read_pieces(fields, "pair", 2);
  }

  size_t added(bool pair) const override {
    size_t count = 0;
    for (const Piece& piece : pair ? pair_ : single_)
      if (piece.special != nullptr) count += piece.special->size();
    return count;
  }

  void process(std::vector<Encoding>& parts, bool special, bool with_tokens) const override {
    require<ValueError>(parts.size() <= 2,
                        "encode: a template takes one text or two, and a processor before it has "
                        "made {}",
                        parts.size());
    std::vector<Encoding> result;
    for (const Piece& piece : parts.size() == 2 ? pair_ : single_) {
      if (piece.special == nullptr) {
        result.push_back(parts[piece.sequence]);
        set_type(result.back(), piece.type);
      } else if (special) {
        Encoding& tokens = result.emplace_back();
        for (const SpecialToken& one : *piece.special)
          add_special(tokens, one.id, one.text, piece.type, with_tokens);
      }
    }
    parts = std::move(result);
  }

 private:
  struct Piece {
    const std::vector<SpecialToken>* special = nullptr;  // or the text number `sequence`
    size_t sequence = 0;
    int64_t type = 0;
  };

  void read_special(const JsonFields& fields, const std::string& name) {
    const std::vector<int64_t> ids = fields.integers("ids");
    const std::vector<std::string> texts = fields.texts("tokens");
    if (ids.size() != texts.size()) fields.fail("tokens", "as many as there are ids");
    std::vector<SpecialToken>& list = special_[name];
    for (size_t i = 0; i < ids.size(); ++i) {
      if (ids[i] < 0 || ids[i] >= UINT32_MAX) fields.fail("ids", "numbers of tokens");
      list.push_back({texts[i], ids[i]});
    }
  }

  std::vector<Piece> read_pieces(const JsonFields& fields, std::string_view name,
                                 size_t sequences) const {
    const Json& list = fields.at(name);
    if (!list.is_array()) fields.fail(name, "a list");
    std::vector<Piece> pieces;
    for (const Json& one : list) {
      const JsonFields object(one, fmt::format("{}: {}[{}]", fields.where(), name, pieces.size()));
      const bool is_sequence = object.has("Sequence");
      const JsonFields inner = object.object(is_sequence ? "Sequence" : "SpecialToken");
      const std::string id = inner.text("id");
      Piece piece;
      piece.type = inner.integer("type_id", 0);
      if (is_sequence) {
        if (id != "A" && (id != "B" || sequences < 2))
          inner.fail("id", sequences < 2 ? "A" : "A or B");
        piece.sequence = id == "A" ? 0 : 1;
      } else {
        const auto found = special_.find(id);
        require<FileError>(found != special_.end(), "{}: '{}' is not in special_tokens",
                           inner.where(), id);
        piece.special = &found->second;
      }
      pieces.push_back(piece);
    }
    return pieces;
  }

  std::map<std::string, std::vector<SpecialToken>> special_;
  std::vector<Piece> single_;
  std::vector<Piece> pair_;
};

// Only moves offsets.
class ByteLevelTrim : public PostProcessor {
 public:
  explicit ByteLevelTrim(const JsonFields& fields)
      : trim_(fields.boolean("trim_offsets")), prefix_space_(fields.boolean("add_prefix_space")) {}
  size_t added(bool) const override { return 0; }
  void process(std::vector<Encoding>&, bool, bool) const override {}
  void trims(std::vector<bool>& list) const override {
    if (trim_) list.push_back(prefix_space_);
  }

 private:
  bool trim_;
  bool prefix_space_;
};

class Sequence : public PostProcessor {
 public:
  explicit Sequence(const JsonFields& fields) {
    const Json& list = fields.at("processors");
    if (!list.is_array()) fields.fail("processors", "a list");
    for (const Json& one : list)
      steps_.push_back(make_post_processor(JsonFields(one, fields.where())));
  }
  size_t added(bool pair) const override {
    size_t count = 0;
    for (const auto& step : steps_) count += step->added(pair);
    return count;
  }
  void process(std::vector<Encoding>& parts, bool special, bool with_tokens) const override {
    for (const auto& step : steps_) step->process(parts, special, with_tokens);
  }
  void trims(std::vector<bool>& list) const override {
    for (const auto& step : steps_) step->trims(list);
  }

 private:
  std::vector<std::unique_ptr<PostProcessor>> steps_;
};

}  // namespace

std::unique_ptr<PostProcessor> make_post_processor(const JsonFields& fields) {
  const std::string type = fields.text("type");
  const JsonFields at(fields.json(), fields.where() + ": " + type);
  if (type == "TemplateProcessing") return std::make_unique<Template>(at);
  if (type == "BertProcessing") return std::make_unique<ClsSep>(at, false);
  if (type == "RobertaProcessing") return std::make_unique<ClsSep>(at, true);
  if (type == "ByteLevel") return std::make_unique<ByteLevelTrim>(at);
  if (type == "Sequence") return std::make_unique<Sequence>(at);
  throw FileError(fmt::format("{}: unknown post-processor '{}'", fields.where(), type));
}

Encoding post_process(std::vector<Encoding> parts, const PostProcessor* processor, bool special,
                      bool with_tokens) {
  if (parts.size() == 2) set_type(parts[1], 1);
  if (processor != nullptr) processor->process(parts, special, with_tokens);
  if (parts.empty()) return {};
  Encoding result = std::move(parts[0]);
  for (size_t i = 1; i < parts.size(); ++i) append(result, parts[i]);
  return result;
}

}  // namespace glassformer
