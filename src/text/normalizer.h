#pragma once

#include <memory>

#include "base/json.h"
#include "text/normalized_text.h"

namespace glassformer {

// Rewrites a text before it is cut. `type` in a tokenizer file names the kind: NFC, Lowercase, ...
class Normalizer {
 public:
  virtual ~Normalizer() = default;
  virtual void apply(NormalizedText& text) const = 0;
};

// Throws FileError for a kind or an option that does not exist.
std::unique_ptr<Normalizer> make_normalizer(const JsonFields& fields);

}  // namespace glassformer
