#pragma once

#include <cstdint>

namespace glassformer::bench {

// Multiply-adds by instructions that Highway does not reach. Each runs `rounds` of them on the
// calling thread, with enough in flight to hide their latency, and returns the operations done.
// An absent instruction has a null function.
using OperationLoop = int64_t (*)(int64_t rounds);

struct DotInstructions {
  OperationLoop loop = nullptr;
  const char* name = "";
};

DotInstructions bfloat16_instructions();
DotInstructions int8_instructions();

}  // namespace glassformer::bench
