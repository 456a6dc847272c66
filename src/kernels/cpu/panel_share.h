#pragma once

#include <algorithm>

#include "base/cpu_info.h"
#include "glassformer/base/threads.h"
#include "kernels/cpu/quantised.h"

// How threads share the panels of a quantised product.

namespace glassformer::cpu {

// Asks for what lies some rounds of memory's latency after a group of codes: panels follow each
// other, and what comes after one is wanted next. Always inlined: the compiler drops calls of
// functions that do nothing but prefetch.
inline const bool streams_want_prefetch = prefetch_helps_streams();
[[gnu::always_inline]] inline void prefetch_after(const uint8_t* group, size_t bytes) {
  constexpr size_t kAhead = 4096, kLine = 64;
  if (!streams_want_prefetch) return;
  for (size_t line = 0; line < bytes; line += kLine) __builtin_prefetch(group + kAhead + line);
}

// All threads, or this one alone for less than some 20 µs of its work.
inline int wanted_threads(int64_t m, std::span<const CodePanels* const> parts) {
  size_t bytes = 0;
  for (const CodePanels* part : parts) bytes += part->panels() * part->panel_bytes;
  const bool worthwhile = bytes > 200'000 || bytes * static_cast<size_t>(m) > 1'000'000;
  return worthwhile ? num_threads() : 1;
}

// f(part, first panel, end, column of the part's first panel in C) for what `worker` computes.
template <class F>
void for_own_panels(std::span<const CodePanels* const> parts, int worker, int workers, F&& f) {
  size_t panels = 0;
  for (const CodePanels* part : parts) panels += part->panels();
  const size_t begin = static_cast<size_t>(worker) * panels / static_cast<size_t>(workers);
  const size_t end = static_cast<size_t>(worker + 1) * panels / static_cast<size_t>(workers);
  size_t first = 0;  // panel of the part
  int64_t column = 0;
  for (const CodePanels* part : parts) {
    const size_t count = part->panels();
    const size_t from = std::clamp(begin, first, first + count) - first;
    const size_t to = std::clamp(end, first, first + count) - first;
    if (from < to) f(part, from, to, column);
    first += count;
    column += static_cast<int64_t>(part->n);
  }
}

}  // namespace glassformer::cpu
