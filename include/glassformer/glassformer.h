#pragma once

// The whole public API.

#include "glassformer/autograd/no_grad.h"           // IWYU pragma: export
#include "glassformer/base/error.h"                 // IWYU pragma: export
#include "glassformer/base/random.h"                // IWYU pragma: export
#include "glassformer/base/threads.h"               // IWYU pragma: export
#include "glassformer/base/version.h"               // IWYU pragma: export
#include "glassformer/checkpoint/gguf.h"            // IWYU pragma: export
#include "glassformer/checkpoint/safetensors.h"     // IWYU pragma: export
#include "glassformer/checkpoint/weights.h"         // IWYU pragma: export
#include "glassformer/decoding/beam_tree.h"         // IWYU pragma: export
#include "glassformer/decoding/model_tokenizer.h"   // IWYU pragma: export
#include "glassformer/decoding/options.h"           // IWYU pragma: export
#include "glassformer/decoding/search.h"            // IWYU pragma: export
#include "glassformer/decoding/stop_text.h"         // IWYU pragma: export
#include "glassformer/decoding/token_vocabulary.h"  // IWYU pragma: export
#include "glassformer/image/image.h"                // IWYU pragma: export
#include "glassformer/image/processor.h"            // IWYU pragma: export
#include "glassformer/image/resize.h"               // IWYU pragma: export
#include "glassformer/inspect/anatomy.h"            // IWYU pragma: export
#include "glassformer/inspect/capture.h"            // IWYU pragma: export
#include "glassformer/inspect/named_pass.h"         // IWYU pragma: export
#include "glassformer/models/model.h"               // IWYU pragma: export
#include "glassformer/models/sentence.h"            // IWYU pragma: export
#include "glassformer/models/transformer.h"         // IWYU pragma: export
#include "glassformer/nn/random_weights.h"          // IWYU pragma: export
#include "glassformer/ops/ops.h"                    // IWYU pragma: export
#include "glassformer/tensor/memory.h"              // IWYU pragma: export
#include "glassformer/tensor/tensor.h"              // IWYU pragma: export
#include "glassformer/text/chat_template.h"         // IWYU pragma: export
#include "glassformer/text/decode_stream.h"         // IWYU pragma: export
#include "glassformer/text/tokenizer.h"             // IWYU pragma: export
