#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace glassformer::jinja {

struct Token {
  enum class Kind {
    kData,
    kBlockBegin,
    kBlockEnd,
    kPrintBegin,
    kPrintEnd,
    kName,
    kInteger,
    kReal,
    kText,
    kOperator,
    kEnd
  };
  Kind kind;
  std::string text;
  size_t line;
};

// A template as tokens; whitespace around tags is already gone as the tags and the settings of
// transformers (trim_blocks, lstrip_blocks) say. Throws FileError.
std::vector<Token> tokenize(std::string_view source);

}  // namespace glassformer::jinja
