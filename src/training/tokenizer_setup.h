#pragma once

#include <functional>
#include <optional>
#include <string>

#include "glassformer/text/tokenizer.h"
#include "training/config.h"

namespace glassformer {

// The tokenizer of a run, in its output folder when this returns: {"from": "folder"} is copied,
// {"train": {…}} is learned from the training data or the `files` it names (once: a resumed run
// finds it there), and without either it is that of the model to fine-tune. None where the task
// reads no text.
std::optional<Tokenizer> set_up_tokenizer(const TrainConfig& config, GradientExchange& exchange,
                                          bool resumed,
                                          const std::function<void(const std::string&)>& say);

}  // namespace glassformer
