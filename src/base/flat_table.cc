#include "base/flat_table.h"

#include <optional>

#include "base/json_builder.h"

namespace glassformer {

// The bytes of a table, row by row. Every function says whether the value fits what came before.
class FlatTableWriter {
 public:
  explicit FlatTableWriter(bool object) : object_(object) {
    bytes_.resize(FlatTable::kHeader);
    if (object) set_kind(FlatTable::Kind::kNumbers);
  }

  bool key(const std::string& text) { return add_text(text); }
  bool whole(uint64_t value) {
    if (object_) return add(value), end_row();
    return number(static_cast<double>(value));
  }
  bool number(double value) {
    if (texts_ != 1 || !set_kind(FlatTable::Kind::kTextNumbers)) return false;
    texts_ = 2;
    return add(value), true;
  }
  bool text(const std::string& value) {
    if (object_) return false;
    if (!inside_) return set_kind(FlatTable::Kind::kTexts) && add_text(value) && end_row();
    if (texts_ == 1 && !set_kind(FlatTable::Kind::kTextPairs)) return false;
    return texts_++ < 2 && add_text(value);
  }
  bool start_array() {
    if (object_ || inside_) return false;
    inside_ = true;
    texts_ = 0;
    return true;
  }
  bool inside() const { return inside_; }
  bool end_array() {
    inside_ = false;
    return texts_ == 2 && end_row();
  }

  // Nothing where there was no row to tell the kind by.
  std::optional<Json> take() {
    if (!kind_) return std::nullopt;
    bytes_.front() = static_cast<uint8_t>(*kind_);
    std::memcpy(bytes_.data() + 1, &rows_, sizeof(rows_));
    return Json::binary(std::move(bytes_));
  }

 private:
  bool set_kind(FlatTable::Kind kind) {
    if (!kind_) kind_ = kind;
    return kind_ == kind;
  }
  bool end_row() {
    ++rows_;
    return true;
  }
  template <class T>
  void add(T value) {
    const auto* begin = reinterpret_cast<const uint8_t*>(&value);
    bytes_.insert(bytes_.end(), begin, begin + sizeof(T));
  }
  bool add_text(const std::string& text) {
    if (text.size() > UINT32_MAX) return false;
    add(static_cast<uint32_t>(text.size()));
    bytes_.insert(bytes_.end(), text.begin(), text.end());
    return true;
  }

  bool object_, inside_ = false;
  int texts_ = 0;  // values in the pair so far
  std::optional<FlatTable::Kind> kind_;
  std::vector<uint8_t> bytes_;
  uint64_t rows_ = 0;
};

namespace {

// Gives up, by returning false, where a table is of no kind that it knows.
class TableBuilder final : public JsonBuilder {
 public:
  TableBuilder(std::string_view where, std::span<const std::string_view> places)
      : JsonBuilder(where), places_(places) {}

  bool null() override { return !table_ && JsonBuilder::null(); }
  bool boolean(bool value) override { return !table_ && JsonBuilder::boolean(value); }
  bool number_integer(int64_t value) override {
    if (table_) return table_->number(static_cast<double>(value));
    return JsonBuilder::number_integer(value);
  }
  bool number_unsigned(uint64_t value) override {
    return table_ ? table_->whole(value) : JsonBuilder::number_unsigned(value);
  }
  bool number_float(double value, const std::string& text) override {
    return table_ ? table_->number(value) : JsonBuilder::number_float(value, text);
  }
  bool string(std::string& value) override {
    return table_ ? table_->text(value) : JsonBuilder::string(value);
  }
  bool key(std::string& key) override { return table_ ? table_->key(key) : JsonBuilder::key(key); }
  bool start_object(size_t size) override {
    if (table_) return false;
    if (!wanted()) return JsonBuilder::start_object(size);
    table_.emplace(true);
    return true;
  }
  bool end_object() override { return table_ ? finish() : JsonBuilder::end_object(); }
  bool start_array(size_t size) override {
    if (table_) return table_->start_array();
    if (!wanted()) return JsonBuilder::start_array(size);
    table_.emplace(false);
    return true;
  }
  bool end_array() override {
    if (!table_) return JsonBuilder::end_array();
    return table_->inside() ? table_->end_array() : finish();
  }

 private:
  bool wanted() const {
    if (open_.size() != 2 || open_[0].fields.empty() || open_[1].fields.empty()) return false;
    const std::string place = open_[0].fields.back().first + "/" + open_[1].fields.back().first;
    return std::find(places_.begin(), places_.end(), place) != places_.end();
  }
  bool finish() {
    std::optional<Json> table = table_->take();
    table_.reset();
    return table && put(std::move(*table));
  }

  std::span<const std::string_view> places_;
  std::optional<FlatTableWriter> table_;
};

}  // namespace

Json parse_json_with_tables(std::string_view text, std::string_view where,
                            std::span<const std::string_view> places) {
  TableBuilder builder(where, places);
  if (Json::sax_parse(text.begin(), text.end(), &builder)) return builder.take();
  return parse_json(text, where);
}

}  // namespace glassformer
