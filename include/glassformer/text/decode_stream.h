#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "glassformer/text/tokenizer.h"

namespace glassformer {

// Decodes ids one at a time, for text that is shown while it is made. What it returns, put
// together, is what Tokenizer::decode() makes of all ids; a character whose bytes are spread over
// tokens comes out whole or not at all.
class DecodeStream {
 public:
  explicit DecodeStream(Tokenizer tokenizer, bool skip_special = true);

  // The text that this id completes; often empty.
  std::string add(int64_t id);
  // What is still held back: the replacement character for bytes that never became one.
  std::string finish();

 private:
  // What `text` adds to what was shown.
  std::string fresh(const std::string& text) const;

  Tokenizer tokenizer_;
  bool skip_special_;
  std::vector<int64_t> ids_;  // the last ones shown, for context, and those not shown yet
  size_t shown_ = 0;          // how many of them are shown
  std::string prefix_;        // the text of those
};

}  // namespace glassformer
