#include "text/text_lines.h"

#include <filesystem>

#include "base/json.h"
#include "text/utf8.h"

namespace glassformer::testing {
namespace {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t below(uint64_t count) {
    state_ += 0x9E3779B97F4A7C15;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return (z ^ (z >> 31)) % count;
  }
  const Json& choice(const Json& list) { return list[below(list.size())]; }

 private:
  uint64_t state_;
};

class Writer {
 public:
  explicit Writer(uint64_t seed)
      : data_(read_json(std::filesystem::path(GLASSFORMER_FIXTURES_DIR) / "text/lines.json")),
        random_(seed) {}

  const Json& data() const { return data_; }

  std::string line() {
    const uint64_t kind = random_.below(100);
    std::vector<Json> bounds(1 + random_.below(3));
    for (Json& one : bounds) one = random_.choice(data_["scripts"]);
    std::string text;
    for (uint64_t parts = 1 + random_.below(14); parts > 0; --parts) {
      text += part(kind, bounds);
      if (random_.below(10) == 0) text += choice("marks");
      if (random_.below(5) == 0) {
        const std::string mark = choice("punctuation");
        for (uint64_t i = 1 + random_.below(3); i > 0; --i) text += mark;
      }
      if (random_.below(7) != 0) text += choice("spaces");
    }
    return text;
  }

 private:
  std::string choice(const char* list) { return random_.choice(data_[list]).get<std::string>(); }

  std::string part(uint64_t kind, const std::vector<Json>& bounds) {
    const uint64_t source = kind < 35 ? 0 : kind < 80 ? 1 : random_.below(4);
    if (source == 0) return choice("english");
    if (source == 1) return word(bounds[random_.below(bounds.size())]);
    return source == 2 ? choice("edges") : character();
  }
  std::string word(const Json& bounds) {
    const auto first = bounds[0].get<uint32_t>();
    const auto last = bounds[1].get<uint32_t>();
    std::string text;
    for (uint64_t i = 1 + random_.below(8); i > 0; --i)
      append_utf8(text, first + static_cast<uint32_t>(random_.below(last - first + 1)));
    return text;
  }
  std::string character() {
    for (;;) {
      const auto plane = random_.choice(data_["planes"]).get<uint32_t>();
      const uint32_t code = plane * 0x10000 + static_cast<uint32_t>(random_.below(0x10000));
      if (code < 0xD800 || code > 0xDFFF) return to_utf8(code);
    }
  }

  Json data_;
  Random random_;
};

}  // namespace

std::vector<std::string> text_lines(size_t count, uint64_t seed) {
  Writer writer(seed);
  auto lines = writer.data()["edges"].get<std::vector<std::string>>();
  for (const Json& one : writer.data()["long"]) lines.push_back(one.get<std::string>());
  while (lines.size() < count) lines.push_back(writer.line());
  lines.resize(count);
  return lines;
}

}  // namespace glassformer::testing
