#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/json.h"

namespace glassformer {

// Turns the spellings of tokens into text, a step at a time. `type` in a tokenizer file names the
// kind.
class Decoder {
 public:
  virtual ~Decoder() = default;
  virtual void apply(std::vector<std::string>& tokens) const = 0;
  // Whether tokens spell bytes in GPT-2's alphabet.
  virtual bool spells_bytes() const { return false; }
};

// The byte that a token like <0x41> names, or -1.
int fallback_byte(std::string_view token);

// Throws FileError for a kind or an option that does not exist.
std::unique_ptr<Decoder> make_decoder(const JsonFields& fields);

}  // namespace glassformer
