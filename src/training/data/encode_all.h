#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/parallel.h"
#include "glassformer/text/tokenizer.h"
#include "glassformer/training/rows.h"

namespace glassformer {

// take(i, encoding) for every text in its order; they are encoded on all threads, a group at a
// time. `pairs` is empty or as long as `texts`.
void encode_all(const Tokenizer& tokenizer, std::span<const std::string> texts,
                std::span<const std::string> pairs, const EncodeOptions& options,
                FunctionRef<void(size_t, const Encoding&)> take);

// Special tokens as the tokenizer adds them, nothing that its file asks for; what is over
// max_length tokens is cut, unless that is 0. Throws ValueError for a negative one.
EncodeOptions encode_options(int64_t max_length);

// The same, where a row must have tokens: throws ValueError for one without, naming the first file.
void encode_rows(const Tokenizer& tokenizer, std::span<const std::string> texts,
                 std::span<const std::string> pairs, int64_t max_length, const RowSource& rows,
                 FunctionRef<void(size_t, const Encoding&)> take);

}  // namespace glassformer
