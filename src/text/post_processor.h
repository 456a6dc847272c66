#pragma once

#include <memory>
#include <vector>

#include "base/json.h"
#include "glassformer/text/encoding.h"

namespace glassformer {

// Puts special tokens around the texts. `type` in a tokenizer file names the kind.
class PostProcessor {
 public:
  virtual ~PostProcessor() = default;
  // Special tokens that process() adds.
  virtual size_t added(bool pair) const = 0;
  // `parts`: one or two texts, changed in place. `with_tokens`: they have their spellings.
  virtual void process(std::vector<Encoding>& parts, bool special, bool with_tokens) const = 0;
  // Appends, for each time that offsets are trimmed, whether a space was put before the first word.
  virtual void trims(std::vector<bool>&) const {}
};

// Throws FileError for a kind or an option that does not exist.
std::unique_ptr<PostProcessor> make_post_processor(const JsonFields& fields);

// One encoding of one or two texts. `processor` may be null.
Encoding post_process(std::vector<Encoding> parts, const PostProcessor* processor, bool special,
                      bool with_tokens);

}  // namespace glassformer
