#pragma once

#include <memory>

#include "base/json.h"
#include "text/pieces.h"

namespace glassformer {

// Cuts a normalised text into the pieces that a model works on. `type` in a tokenizer file names
// the kind: ByteLevel, Metaspace, Split, ...
class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  virtual void apply(Pieces& pieces) const = 0;
};

// `keep_bytes`: the last ByteLevel step leaves bytes as they are, for a model that reads bytes.
// Throws FileError for a kind or an option that does not exist.
std::unique_ptr<PreTokenizer> make_pre_tokenizer(const JsonFields& fields, bool keep_bytes);

// Whether the last step is ByteLevel.
bool ends_byte_level(const JsonFields& fields);

}  // namespace glassformer
