#pragma once

#include <string>

#include <fmt/format.h>

#include "glassformer/text/tokenizer.h"

namespace glassformer::testing {

// [PAD] [UNK] [CLS] [SEP] [MASK] are 0 to 4, and the letters a to z, words for themselves, 5 to 30.
// `around`: a text stands between [CLS] and [SEP], its pair before another [SEP].
inline Tokenizer small_tokenizer(bool around = true) {
  std::string vocabulary, added;
  const char* const special[] = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
  for (int id = 0; id < 5; ++id) {
    vocabulary += fmt::format("\"{}\":{},", special[id], id);
    added += fmt::format(
        "{}{{\"id\":{},\"content\":\"{}\",\"single_word\":false,\"lstrip\":false,"
        "\"rstrip\":false,\"normalized\":false,\"special\":true}}",
        id == 0 ? "" : ",", id, special[id]);
  }
  for (int letter = 0; letter < 26; ++letter)
    vocabulary += fmt::format("{}\"{}\":{}", letter == 0 ? "" : ",",
                              static_cast<char>('a' + letter), 5 + letter);
  const std::string post =
      R"({"type":"TemplateProcessing",
          "single":[{"SpecialToken":{"id":"[CLS]","type_id":0}},{"Sequence":{"id":"A","type_id":0}},
                    {"SpecialToken":{"id":"[SEP]","type_id":0}}],
          "pair":[{"SpecialToken":{"id":"[CLS]","type_id":0}},{"Sequence":{"id":"A","type_id":0}},
                  {"SpecialToken":{"id":"[SEP]","type_id":0}},{"Sequence":{"id":"B","type_id":1}},
                  {"SpecialToken":{"id":"[SEP]","type_id":1}}],
          "special_tokens":{"[CLS]":{"id":"[CLS]","ids":[2],"tokens":["[CLS]"]},
                            "[SEP]":{"id":"[SEP]","ids":[3],"tokens":["[SEP]"]}}})";
  return Tokenizer::from_json(
      fmt::format(R"({{"version":"1.0","added_tokens":[{}],"normalizer":null,
                      "pre_tokenizer":{{"type":"WhitespaceSplit"}},"post_processor":{},
                      "decoder":null,"model":{{"type":"WordLevel","vocab":{{{}}},
                      "unk_token":"[UNK]"}}}})",
                  added, around ? post : "null", vocabulary),
      "small");
}

inline constexpr int64_t kCls = 2, kSep = 3, kMask = 4;
inline int64_t id_of(char letter) { return 5 + letter - 'a'; }

}  // namespace glassformer::testing
