#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace glassformer::bench {

// A rate with one thread and with num_threads() of them.
struct Rate {
  double one = 0;
  double all = 0;
};

// What this machine can do at most, measured, so that a benchmark can say how near it came.
struct Ceilings {
  int threads = 1;
  Rate float32, bfloat16, int8;  // 10^9 operations a second; a multiply-add counts as two
  std::string float32_unit;      // the instruction set that gave the figure
  std::string bfloat16_unit;     // "amx", "avx512_bf16", or float32's where there is neither
  std::string int8_unit;         // "amx", "avx512_vnni", or float32's
  Rate read, write, copy;        // 10^9 bytes a second; a copy counts what it reads and writes
};

// Medians of short runs; takes a few seconds in all.
Ceilings measure_ceilings();

// What a piece of work takes at least: operations of one kind, and bytes read and written.
struct Floor {
  std::string dtype = "float32";  // "float32", "bfloat16" or "int8"
  double operations = 0;
  int64_t reads = 0, writes = 0;  // bytes; as many as can be are copied, the rest moves one way
};

// Memory that is read and written, round and round where it is less than the bytes; both together
// as large as what the work itself has, so that a cache keeps as much of both.
struct FloorMemory {
  std::vector<std::span<std::byte>> reads, writes;
};

// Memory that no cache holds: what measure_ceilings reads. Made once, and kept.
std::span<std::byte> memory_beyond_caches();

// The seconds of the best loops on exactly so much, with all threads, measured once, now: taken in
// turns with a benchmark it shares whatever else the machine does.
double floor_seconds(const Floor& floor, const FloorMemory& memory);

// The copy alone, with all threads, for benchmarks of memory-bound ops.
double measure_copy_bandwidth();

}  // namespace glassformer::bench
