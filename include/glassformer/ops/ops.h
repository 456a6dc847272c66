#pragma once

// Every op.

#include "glassformer/ops/activation.h"          // IWYU pragma: export
#include "glassformer/ops/arithmetic.h"          // IWYU pragma: export
#include "glassformer/ops/attention.h"           // IWYU pragma: export
#include "glassformer/ops/backward.h"            // IWYU pragma: export
#include "glassformer/ops/batch_norm.h"          // IWYU pragma: export
#include "glassformer/ops/cached_attention.h"    // IWYU pragma: export
#include "glassformer/ops/copy.h"                // IWYU pragma: export
#include "glassformer/ops/create.h"              // IWYU pragma: export
#include "glassformer/ops/dropout.h"             // IWYU pragma: export
#include "glassformer/ops/embedding.h"           // IWYU pragma: export
#include "glassformer/ops/gather.h"              // IWYU pragma: export
#include "glassformer/ops/linear.h"              // IWYU pragma: export
#include "glassformer/ops/loss.h"                // IWYU pragma: export
#include "glassformer/ops/norm.h"                // IWYU pragma: export
#include "glassformer/ops/patches.h"             // IWYU pragma: export
#include "glassformer/ops/pointwise.h"           // IWYU pragma: export
#include "glassformer/ops/positions.h"           // IWYU pragma: export
#include "glassformer/ops/quantise.h"            // IWYU pragma: export
#include "glassformer/ops/reduce.h"              // IWYU pragma: export
#include "glassformer/ops/relative_positions.h"  // IWYU pragma: export
#include "glassformer/ops/rotary.h"              // IWYU pragma: export
#include "glassformer/ops/softmax.h"             // IWYU pragma: export
#include "glassformer/ops/update.h"              // IWYU pragma: export
#include "glassformer/ops/view.h"                // IWYU pragma: export
