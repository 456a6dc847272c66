#pragma once

#include <memory>

#include "glassformer/training/exchange.h"

namespace glassformer {

// What every exchange asks of a tensor.
void check_exchanged(const Tensor& value, int root, int ranks);
void check_summable(const Tensor& gradient);

// A thread of its own makes every MPI call, from MPI_Init on, one after the other: a library that
// moves data only while it is called then does so beside the backward, and need not support
// several threads. Gradients are gathered to messages of a megabyte and more, so that a norm's
// weight does not cost a round trip; which ones go together depends on their order alone.
std::unique_ptr<GradientExchange> make_mpi_exchange();

}  // namespace glassformer
