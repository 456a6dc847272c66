#include "text/gguf_vocabulary.h"

#include <cstring>
#include <fstream>
#include <stdexcept>

namespace glassformer::testing {
namespace {

class Reader {
 public:
  explicit Reader(const std::filesystem::path& path) : file_(path, std::ios::binary) {}

  template <class T>
  T get() {
    T value{};
    if (!file_.read(reinterpret_cast<char*>(&value), sizeof(value)))
      throw std::runtime_error("GGUF: ends early");
    return value;
  }
  std::string text() {
    std::string text(get<uint64_t>(), '\0');
    file_.read(text.data(), static_cast<std::streamsize>(text.size()));
    return text;
  }

 private:
  std::ifstream file_;
};

enum Type : uint32_t {
  kU8,
  kI8,
  kU16,
  kI16,
  kU32,
  kI32,
  kF32,
  kBool,
  kText,
  kList,
  kU64,
  kI64,
  kF64
};

// A value as text and as a number; of a list, all elements.
struct Values {
  std::vector<std::string> texts;
  std::vector<double> numbers;
};

void read_value(Reader& reader, uint32_t type, Values& values) {
  switch (type) {
    case kU8:
    case kBool: values.numbers.push_back(reader.get<uint8_t>()); break;
    case kI8: values.numbers.push_back(reader.get<int8_t>()); break;
    case kU16: values.numbers.push_back(reader.get<uint16_t>()); break;
    case kI16: values.numbers.push_back(reader.get<int16_t>()); break;
    case kU32: values.numbers.push_back(reader.get<uint32_t>()); break;
    case kI32: values.numbers.push_back(reader.get<int32_t>()); break;
    case kF32: values.numbers.push_back(reader.get<float>()); break;
    case kU64: values.numbers.push_back(static_cast<double>(reader.get<uint64_t>())); break;
    case kI64: values.numbers.push_back(static_cast<double>(reader.get<int64_t>())); break;
    case kF64: values.numbers.push_back(reader.get<double>()); break;
    case kText: values.texts.push_back(reader.text()); break;
    case kList: {
      const auto element = reader.get<uint32_t>();
      for (auto count = reader.get<uint64_t>(); count > 0; --count)
        read_value(reader, element, values);
      break;
    }
    default: throw std::runtime_error("GGUF: unknown type");
  }
}

}  // namespace

VocabularyData read_gguf_vocabulary(const std::filesystem::path& path) {
  Reader reader(path);
  if (reader.get<uint32_t>() != 0x46554747) throw std::runtime_error("not GGUF: " + path.string());
  reader.get<uint32_t>();
  reader.get<uint64_t>();
  VocabularyData data;
  for (auto count = reader.get<uint64_t>(); count > 0; --count) {
    const std::string key = reader.text();
    Values v;
    read_value(reader, reader.get<uint32_t>(), v);
    constexpr std::string_view kPrefix = "tokenizer.ggml.";
    if (!key.starts_with(kPrefix)) continue;
    const std::string name = key.substr(kPrefix.size());
    const auto id = [&] { return static_cast<int64_t>(v.numbers.at(0)); };
    if (name == "model") data.model = v.texts.at(0);
    if (name == "pre") data.pre = v.texts.at(0);
    if (name == "tokens") data.tokens = v.texts;
    if (name == "merges") data.merges = v.texts;
    if (name == "scores") data.scores.assign(v.numbers.begin(), v.numbers.end());
    if (name == "token_type") data.types.assign(v.numbers.begin(), v.numbers.end());
    if (name == "bos_token_id") data.bos = id();
    if (name == "eos_token_id") data.eos = id();
    if (name == "unknown_token_id") data.unk = id();
    if (name == "add_bos_token") data.add_bos = id() != 0;
    if (name == "add_eos_token") data.add_eos = id() != 0;
    if (name == "add_space_prefix") data.add_space_prefix = id() != 0;
  }
  return data;
}

}  // namespace glassformer::testing
