#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "text/normalizer.h"

namespace glassformer {

// SentencePiece's normalisation as a table: a double-array trie from sequences of characters to
// what replaces them. `charsmap` holds it in base64. Throws FileError.
std::unique_ptr<Normalizer> make_precompiled(const JsonFields& fields);

}  // namespace glassformer
