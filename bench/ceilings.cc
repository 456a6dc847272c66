#include "ceilings.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <unistd.h>
#include <vector>

#include "base/parallel.h"
#include "glassformer/base/threads.h"
#include "glassformer/tensor/storage.h"
#include "tile_peak.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ceilings.cc"
#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace glassformer::bench {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Ten independent chains: two ports times a latency of four or five. Each starts from a number of
// its own that the compiler cannot know: of equal chains it would keep one.
int64_t MultiplyAdds(int64_t rounds) {
  constexpr size_t kChains = 10;
  const hn::ScalableTag<float> d;
  const auto factor = hn::Set(d, 0.999F), term = hn::Set(d, 1e-3F);
  volatile float start = 0.5F;
  hn::Vec<decltype(d)> chain[kChains];
  HWY_UNROLL(10)
  for (size_t c = 0; c < kChains; ++c) chain[c] = hn::Iota(d, start);
  for (int64_t i = 0; i < rounds; ++i) {
    HWY_UNROLL(10)
    for (size_t c = 0; c < kChains; ++c) chain[c] = hn::MulAdd(chain[c], factor, term);
  }
  auto sum = chain[0];
  HWY_UNROLL(10)
  for (size_t c = 1; c < kChains; ++c) sum = hn::Add(sum, chain[c]);
  volatile float keep = hn::GetLane(hn::SumOfLanes(d, sum));
  static_cast<void>(keep);
  return rounds * static_cast<int64_t>(kChains * 2 * hn::Lanes(d));
}

// The three take memory aligned to a cache line and a count that is a multiple of four vectors.
void ReadMemory(const float* HWY_RESTRICT x, int64_t count) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  auto s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
  for (int64_t i = 0; i < count; i += 4 * lanes) {
    s0 = hn::Add(s0, hn::Load(d, x + i));
    s1 = hn::Add(s1, hn::Load(d, x + i + lanes));
    s2 = hn::Add(s2, hn::Load(d, x + i + 2 * lanes));
    s3 = hn::Add(s3, hn::Load(d, x + i + 3 * lanes));
  }
  volatile float keep = hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(s0, s1), hn::Add(s2, s3))));
  static_cast<void>(keep);
}

void WriteMemory(float* HWY_RESTRICT y, int64_t count) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t i = 0; i < count; i += lanes) hn::Stream(hn::Zero(d), d, y + i);
  hwy::FlushStream();
}

void CopyMemory(const float* HWY_RESTRICT x, float* HWY_RESTRICT y, int64_t count) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t i = 0; i < count; i += lanes) hn::Stream(hn::Load(d, x + i), d, y + i);
  hwy::FlushStream();
}

const char* TargetName() { return hwy::TargetName(HWY_TARGET); }

}  // namespace HWY_NAMESPACE
}  // namespace glassformer::bench
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace glassformer::bench {

HWY_EXPORT(MultiplyAdds);
HWY_EXPORT(ReadMemory);
HWY_EXPORT(WriteMemory);
HWY_EXPORT(CopyMemory);
HWY_EXPORT(TargetName);

namespace {

constexpr int kRuns = 7;
constexpr double kRunSeconds = 0.02;
constexpr int64_t kBlock = 4096;  // floats: pieces of memory begin at page boundaries

// Four times the last-level cache, so that what is read comes from memory: at least 256 MB, at most
// a sixteenth of the memory. A power of two.
int64_t buffer_floats() {
  static const int64_t count = [] {
    const int64_t cache = std::max<int64_t>(sysconf(_SC_LEVEL3_CACHE_SIZE), 0);
    const int64_t memory = sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
    int64_t bytes = int64_t{1} << 28;
    while (bytes < 4 * cache && 2 * bytes <= memory / 16) bytes *= 2;
    return bytes / static_cast<int64_t>(sizeof(float));
  }();
  return count;
}

double seconds_of(FunctionRef<void()> body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double median_seconds(FunctionRef<void()> body) {
  body();  // warm up: pages, clocks, threads
  std::vector<double> times;
  for (int i = 0; i < kRuns; ++i) times.push_back(seconds_of(body));
  std::nth_element(times.begin(), times.begin() + kRuns / 2, times.end());
  return times[kRuns / 2];
}

// 10^9 operations a second of `threads` copies of the loop.
double operation_rate(OperationLoop loop, int threads) {
  constexpr int64_t kTrial = 1 << 16;
  loop(kTrial);
  const double trial = seconds_of([&] { loop(kTrial); });
  const auto rounds = static_cast<int64_t>(static_cast<double>(kTrial) * kRunSeconds / trial) + 1;
  const auto operations = static_cast<double>(loop(1)) * static_cast<double>(rounds);
  const double seconds =
      median_seconds([&] { parallel_workers(threads, [&](int, int) { loop(rounds); }); });
  return operations * threads / seconds * 1e-9;
}

Rate operation_rates(OperationLoop loop) {
  return {operation_rate(loop, 1), operation_rate(loop, num_threads())};
}

using MemoryLoop = FunctionRef<void(int64_t begin, int64_t count)>;

// 10^9 bytes a second; `bytes` is what the loop moves an element.
double memory_rate(MemoryLoop loop, int bytes, int threads) {
  const double seconds = median_seconds([&] {
    parallel_workers(threads, [&](int worker, int workers) {
      const int64_t blocks = buffer_floats() / kBlock;
      const int64_t begin = blocks * worker / workers * kBlock;
      const int64_t end = blocks * (worker + 1) / workers * kBlock;
      loop(begin, end - begin);
    });
  });
  return static_cast<double>(buffer_floats()) * bytes / seconds * 1e-9;
}

Rate memory_rates(MemoryLoop loop, int bytes) {
  return {memory_rate(loop, bytes, 1), memory_rate(loop, bytes, num_threads())};
}

// From the allocator of tensors, on whose huge pages memory is faster.
struct Buffers {
  std::shared_ptr<Storage> of_x = allocate(), of_y = allocate();
  float* x = reinterpret_cast<float*>(of_x->data());
  float* y = reinterpret_cast<float*>(of_y->data());

  static std::shared_ptr<Storage> allocate() {
    return Storage::allocate(Device::kCpu, static_cast<size_t>(buffer_floats()) * sizeof(float));
  }

  // Touches every page: untouched ones would all read the one page of zeros.
  Buffers() {
    parallel_ranges(buffer_floats(), 1 << 20, [&](int64_t begin, int64_t end) {
      std::fill(x + begin, x + end, 1.0F);
      std::fill(y + begin, y + end, 1.0F);
    });
  }
  void read(int64_t begin, int64_t count) { HWY_DYNAMIC_DISPATCH(ReadMemory)(x + begin, count); }
  void write(int64_t begin, int64_t count) { HWY_DYNAMIC_DISPATCH(WriteMemory)(y + begin, count); }
  void copy(int64_t begin, int64_t count) {
    HWY_DYNAMIC_DISPATCH(CopyMemory)(x + begin, y + begin, count);
  }
};

}  // namespace

Ceilings measure_ceilings() {
  Ceilings found;
  found.threads = num_threads();
  found.float32_unit = HWY_DYNAMIC_DISPATCH(TargetName)();
  found.float32 =
      operation_rates([](int64_t rounds) { return HWY_DYNAMIC_DISPATCH(MultiplyAdds)(rounds); });
  const auto dots = [&](DotInstructions dot, Rate& rate, std::string& unit) {
    rate = dot.loop != nullptr ? operation_rates(dot.loop) : found.float32;
    unit = dot.loop != nullptr ? dot.name : found.float32_unit;
  };
  dots(bfloat16_instructions(), found.bfloat16, found.bfloat16_unit);
  dots(int8_instructions(), found.int8, found.int8_unit);

  Buffers buffers;
  found.read = memory_rates([&](int64_t b, int64_t n) { buffers.read(b, n); }, sizeof(float));
  found.write = memory_rates([&](int64_t b, int64_t n) { buffers.write(b, n); }, sizeof(float));
  found.copy = memory_rates([&](int64_t b, int64_t n) { buffers.copy(b, n); }, 2 * sizeof(float));
  return found;
}

namespace {

// One thread's way round its share of some memory.
class Walk {
 public:
  Walk(const std::vector<std::span<std::byte>>& memory, int worker, int workers) {
    for (const std::span<std::byte> whole : memory) {
      const auto blocks = static_cast<int64_t>(whole.size() / sizeof(float)) / kBlock;
      const int64_t begin = blocks * worker / workers, end = blocks * (worker + 1) / workers;
      if (begin < end)
        parts_.push_back({reinterpret_cast<float*>(whole.data()) + begin * kBlock,
                          static_cast<size_t>((end - begin) * kBlock)});
    }
  }

  // Floats until the end of a part; 0 where there is no memory.
  int64_t available() {
    if (rest_.empty() && !parts_.empty()) rest_ = parts_[at_++ % parts_.size()];
    return static_cast<int64_t>(rest_.size());
  }
  float* take(int64_t count) {
    float* piece = rest_.data();
    rest_ = rest_.subspan(static_cast<size_t>(count));
    return piece;
  }

 private:
  std::vector<std::span<float>> parts_;
  std::span<float> rest_;
  size_t at_ = 0;
};

void move_memory(const Floor& floor, const FloorMemory& memory, int worker, int workers) {
  Walk from(memory.reads, worker, workers), to(memory.writes, worker, workers);
  const auto share = [&](int64_t bytes) { return bytes / 4 / workers / kBlock * kBlock; };
  const int64_t both = std::min(floor.reads, floor.writes);
  for (int64_t left = share(both), count; left > 0; left -= count) {
    count = std::min({left, from.available(), to.available()});
    if (count == 0) return;
    HWY_DYNAMIC_DISPATCH(CopyMemory)(from.take(count), to.take(count), count);
  }
  const auto one_way = [&](int64_t bytes, Walk& walk, auto&& pass) {
    for (int64_t left = share(bytes), count; left > 0; left -= count) {
      count = std::min(left, walk.available());
      if (count == 0) return;
      pass(walk.take(count), count);
    }
  };
  one_way(floor.reads - both, from, [](float* x, int64_t n) {
    HWY_DYNAMIC_DISPATCH(ReadMemory)(x, n);
  });
  one_way(floor.writes - both, to, [](float* y, int64_t n) {
    HWY_DYNAMIC_DISPATCH(WriteMemory)(y, n);
  });
}

}  // namespace

double floor_seconds(const Floor& floor, const FloorMemory& memory) {
  OperationLoop loop = [](int64_t rounds) { return HWY_DYNAMIC_DISPATCH(MultiplyAdds)(rounds); };
  const DotInstructions dot = floor.dtype == "bfloat16" ? bfloat16_instructions()
                              : floor.dtype == "int8"   ? int8_instructions()
                                                        : DotInstructions{};
  if (dot.loop != nullptr) loop = dot.loop;
  return seconds_of([&] {
    parallel_workers(num_threads(), [&](int worker, int workers) {
      if (floor.operations > 0)
        loop(static_cast<int64_t>(floor.operations / static_cast<double>(loop(1)) / workers) + 1);
      move_memory(floor, memory, worker, workers);
    });
  });
}

std::span<std::byte> memory_beyond_caches() {
  static const Buffers& buffers = *new Buffers;
  return {buffers.of_x->data(), buffers.of_x->bytes()};
}

double measure_copy_bandwidth() {
  Buffers buffers;
  return memory_rate([&](int64_t b, int64_t n) { buffers.copy(b, n); }, 2 * sizeof(float),
                     num_threads());
}

}  // namespace glassformer::bench

#endif  // HWY_ONCE
