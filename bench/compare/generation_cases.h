#pragma once

#include <functional>
#include <vector>

#include <nlohmann/json.hpp>

#include "glassformer/tensor/tensor.h"

namespace glassformer::bench {

// A decoder of {"folder", "dtype"} after the prompt inputs[0], int64 [tokens]: with inputs[1] the
// steps of those tokens, one after the other, from the end of the prompt each time it is run;
// without, the prompt itself. The result is the logits after the last token, float32 [vocabulary].
std::function<Tensor()> decode_case(const std::vector<Tensor>& inputs, const nlohmann::json& args);

// An encoder–decoder of {"folder", "dtype", "beams", "length"} that translates the sentences of
// inputs[0], int64, end to end, of lengths inputs[1]; each comes out `length` tokens long, without
// the end of the sequence. The result is the ids, int64 [sentences, length].
std::function<Tensor()> translate_case(const std::vector<Tensor>& inputs,
                                       const nlohmann::json& args);

}  // namespace glassformer::bench
