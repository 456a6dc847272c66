#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace glassformer::cpu {

// The steps of a decoder multiply with one weight after the other, in the same order every time,
// and between two of them lie microseconds in which one thread works alone (norms, dispatch) and
// memory would be idle. Each worker remembers what it began to read after what.

// To be called by a worker of a team that begins to read `bytes` of a weight from `begin` on. What
// it read after that the last time, and then, half a second-level cache of it, is fetched as far as
// it is still there once the worker waits for its next work. Worker 0 waits for the others alone,
// which is not for long.
void begin_to_read(int worker, const std::shared_ptr<const void>& weight, const void* begin,
                   size_t bytes);

// Products of more rows take longer to multiply than weights to come.
constexpr int64_t kRowsThatWaitForWeights = 4;

}  // namespace glassformer::cpu
