#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "glassformer/training/metrics.h"

namespace glassformer {

// The words of a line, as sacreBLEU's tokenizers cut it.
std::vector<std::u32string> bleu_words(std::u32string_view line, BleuOptions::Tokenizer tokenizer);

}  // namespace glassformer
