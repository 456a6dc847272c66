#pragma once

namespace glassformer {

// How many threads the kernels use. Starts as OMP_NUM_THREADS or the cores this process may run on.
// Results do not depend on it: every reduction has an order of its own.
int num_threads();

// Throws ValueError unless 1 <= count <= 1024.
void set_num_threads(int count);

}  // namespace glassformer
