#pragma once

// The whole public API.

#include "glassformer/autograd/no_grad.h"    // IWYU pragma: export
#include "glassformer/base/error.h"          // IWYU pragma: export
#include "glassformer/base/random.h"         // IWYU pragma: export
#include "glassformer/base/threads.h"        // IWYU pragma: export
#include "glassformer/base/version.h"        // IWYU pragma: export
#include "glassformer/ops/ops.h"             // IWYU pragma: export
#include "glassformer/tensor/memory.h"       // IWYU pragma: export
#include "glassformer/tensor/tensor.h"       // IWYU pragma: export
#include "glassformer/text/chat_template.h"  // IWYU pragma: export
#include "glassformer/text/decode_stream.h"  // IWYU pragma: export
#include "glassformer/text/tokenizer.h"      // IWYU pragma: export
