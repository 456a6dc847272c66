#include "training/yaml.h"

#include <algorithm>
#include <array>
#include <charconv>

#include <yaml.h>

#include "base/check.h"
#include "base/json_builder.h"

namespace glassformer {
namespace {

std::string_view text_of(const unsigned char* text) { return reinterpret_cast<const char*>(text); }

// The parser's events, one at a time.
class Events {
 public:
  Events(std::string_view text, std::string_view where) : where_(where) {
    if (yaml_parser_initialize(&parser_) == 0) throw MemoryError("no memory to read YAML");
    // libyaml asserts that there is an address, even of nothing.
    const char* data = text.empty() ? "" : text.data();
    yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(data),
                                 text.size());
  }
  ~Events() {
    yaml_event_delete(&event_);
    yaml_parser_delete(&parser_);
  }
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;

  const yaml_event_t& next() {
    yaml_event_delete(&event_);
    if (yaml_parser_parse(&parser_, &event_) != 0) return event_;
    // Of what the scanner finds, the mark is where it is; the reader has none.
    const size_t line = parser_.problem_mark.line;
    throw FileError(fmt::format("{}:{}: not YAML: {}", where_, line + 1,
                                parser_.problem != nullptr ? parser_.problem : "unreadable"));
  }

  template <class... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> message, Args&&... args) const {
    throw FileError(fmt::format("{}:{}: {}", where_, event_.start_mark.line + 1,
                                fmt::format(message, std::forward<Args>(args)...)));
  }

 private:
  std::string_view where_;
  yaml_parser_t parser_{};
  yaml_event_t event_{};
};

bool is_one_of(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

// All of `text` as a T.
template <class T, class... Form>
bool reads_as(std::string_view text, T& value, Form... form) {
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value, form...);
  return fault == std::errc() && end == text.data() + text.size();
}

// A number of the core schema, or a discarded value.
Json number_of(std::string_view text) {
  int64_t whole = 0;
  if (text.starts_with("0x") && reads_as(text.substr(2), whole, 16) && text[2] != '-') return whole;
  if (text.starts_with("0o") && reads_as(text.substr(2), whole, 8) && text[2] != '-') return whole;
  std::string_view digits = text;
  if (digits.starts_with('+') || digits.starts_with('-')) digits.remove_prefix(1);
  // "inf" and "nan", which from_chars would read, are words.
  const bool starts_well =
      !digits.empty() &&
      ((digits[0] >= '0' && digits[0] <= '9') ||
       (digits.size() > 1 && digits[0] == '.' && digits[1] >= '0' && digits[1] <= '9'));
  if (!starts_well) return Json(Json::value_t::discarded);
  if (text[0] == '+') text.remove_prefix(1);
  if (reads_as(text, whole)) return whole;
  double value = 0;
  if (reads_as(text, value)) return value;
  return Json(Json::value_t::discarded);
}

void put_scalar(const Events& events, const yaml_event_t& event, JsonBuilder& builder) {
  const std::string_view text(reinterpret_cast<const char*>(event.data.scalar.value),
                              event.data.scalar.length);
  std::string copy(text);
  if (event.data.scalar.style != YAML_PLAIN_SCALAR_STYLE) {
    builder.string(copy);
  } else if (is_one_of(text, {"", "~", "null", "Null", "NULL"})) {
    builder.null();
  } else if (is_one_of(text, {"true", "True", "TRUE", "false", "False", "FALSE"})) {
    builder.boolean(text[0] == 't' || text[0] == 'T');
  } else if (const Json number = number_of(text); number.is_number_integer()) {
    builder.number_integer(number.get<int64_t>());
  } else if (number.is_number()) {
    builder.number_float(number.get<double>(), copy);
  } else {
    const size_t sign = text[0] == '-' || text[0] == '+' ? 1 : 0;
    if (is_one_of(text.substr(sign), {".inf", ".Inf", ".INF", ".nan", ".NaN", ".NAN"}))
      events.fail("'{}' has no place in a configuration", text);
    builder.string(copy);
  }
}

struct Marks {
  const unsigned char *anchor, *tag;
};

Marks marks_of(const yaml_event_t& event) {
  switch (event.type) {
    case YAML_ALIAS_EVENT: return {event.data.alias.anchor, nullptr};
    case YAML_SCALAR_EVENT: return {event.data.scalar.anchor, event.data.scalar.tag};
    case YAML_SEQUENCE_START_EVENT:
      return {event.data.sequence_start.anchor, event.data.sequence_start.tag};
    case YAML_MAPPING_START_EVENT:
      return {event.data.mapping_start.anchor, event.data.mapping_start.tag};
    default: return {nullptr, nullptr};
  }
}

void refuse_marks(const Events& events, const yaml_event_t& event) {
  const Marks marks = marks_of(event);
  if (marks.anchor != nullptr)
    events.fail("anchors and aliases are not read, found '{}'; write the value out",
                text_of(marks.anchor));
  if (marks.tag != nullptr) events.fail("tags are not read, found '{}'", text_of(marks.tag));
}

// The value that begins with the event; all the rest of it is taken from `events`.
void build(Events& events, const yaml_event_t* event, JsonBuilder& builder) {
  std::vector<bool> open;  // a mapping? for each collection
  for (bool at_key = false;;) {
    refuse_marks(events, *event);
    const bool ends =
        event->type == YAML_MAPPING_END_EVENT || event->type == YAML_SEQUENCE_END_EVENT;
    if (at_key && !ends) {
      if (event->type != YAML_SCALAR_EVENT) events.fail("expected a key, found a list or mapping");
      std::string key(reinterpret_cast<const char*>(event->data.scalar.value),
                      event->data.scalar.length);
      builder.key(key);
      at_key = false;
      event = &events.next();
      continue;
    }
    switch (event->type) {
      case YAML_SCALAR_EVENT: put_scalar(events, *event, builder); break;
      case YAML_MAPPING_START_EVENT:
        builder.start_object(0);
        open.push_back(true);
        break;
      case YAML_SEQUENCE_START_EVENT:
        builder.start_array(0);
        open.push_back(false);
        break;
      case YAML_MAPPING_END_EVENT:
        builder.end_object();
        open.pop_back();
        break;
      case YAML_SEQUENCE_END_EVENT:
        builder.end_array();
        open.pop_back();
        break;
      default: events.fail("expected a value");
    }
    if (open.empty()) return;
    at_key = open.back();
    event = &events.next();
  }
}

}  // namespace

Json parse_yaml(std::string_view text, std::string_view where) {
  Events events(text, where);
  JsonBuilder builder(where);
  events.next();  // the stream's start
  if (events.next().type == YAML_STREAM_END_EVENT) return nullptr;
  build(events, &events.next(), builder);
  events.next();  // the document's end
  if (events.next().type != YAML_STREAM_END_EVENT)
    events.fail("expected one document, found another");
  return builder.take();
}

}  // namespace glassformer
