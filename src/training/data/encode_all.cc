#include "training/data/encode_all.h"

#include <algorithm>

#include "base/check.h"

namespace glassformer {

void encode_all(const Tokenizer& tokenizer, std::span<const std::string> texts,
                std::span<const std::string> pairs, const EncodeOptions& options,
                FunctionRef<void(size_t, const Encoding&)> take) {
  constexpr size_t kGroup = 4096;
  for (size_t at = 0; at < texts.size(); at += kGroup) {
    const size_t count = std::min(kGroup, texts.size() - at);
    const auto encodings = tokenizer.encode_batch(
        texts.subspan(at, count), pairs.empty() ? pairs : pairs.subspan(at, count), options);
    for (size_t i = 0; i < count; ++i) take(at + i, encodings[i]);
  }
}

EncodeOptions encode_options(int64_t max_length) {
  require<ValueError>(max_length >= 0,
                      "training data: expected a max_length of 0 or more, found {}", max_length);
  EncodeOptions options;
  options.file_settings = false;
  if (max_length > 0)
    options.truncation = Truncation{.max_length = static_cast<size_t>(max_length)};
  return options;
}

void encode_rows(const Tokenizer& tokenizer, std::span<const std::string> texts,
                 std::span<const std::string> pairs, int64_t max_length, const RowSource& rows,
                 FunctionRef<void(size_t, const Encoding&)> take) {
  encode_all(tokenizer, texts, pairs, encode_options(max_length),
             [&](size_t i, const Encoding& encoding) {
               require<ValueError>(encoding.size() > 0, "{}: row {} has no tokens: '{}'",
                                   rows.files[0].string(), i + 1, texts[i]);
               take(i, encoding);
             });
}

}  // namespace glassformer
