#pragma once

#include <algorithm>
#include <utility>

#include "base/cpu_info.h"
#include "base/parallel.h"
#include "base/work_shares.h"
#include "glassformer/base/threads.h"
#include "kernels/cpu/quantised.h"
#include "kernels/cpu/reading_order.h"

// How threads share the panels of a quantised product.

namespace glassformer::cpu {

inline const size_t kPrefetchOfBytes = prefetch_of_streams();
inline const size_t kPrefetchOfCodes = prefetch_of_unpacked_streams();

// Asks for what lies `ahead` bytes after a group of codes, if at all: panels follow each other, and
// what comes after one is wanted next. Always inlined: the compiler drops calls of functions that
// do nothing but prefetch.
[[gnu::always_inline]] inline void prefetch_after(const uint8_t* group, size_t bytes,
                                                  size_t ahead) {
  constexpr size_t kLine = 64;
  if (ahead == 0) return;
  for (size_t line = 0; line < bytes; line += kLine) __builtin_prefetch(group + ahead + line);
}

// Each thread has a share of the panels, which follow each other in memory, and then helps the
// others.
class PanelShares {
 public:
  using Parts = std::span<const CodePanels* const>;

  PanelShares(int64_t m, Parts parts)
      : parts_(parts), waits_for_weights_(m <= kRowsThatWaitForWeights) {
    size_t panels = 0, bytes = 0;
    for (const CodePanels* part : parts) {
      panels += part->panels();
      bytes += part->panels() * part->panel_bytes;
    }
    // All threads, or this one alone for less than some 20 µs of its work.
    const bool worthwhile = bytes > 200'000 || bytes * static_cast<size_t>(m) > 1'000'000;
    workers_ = team_size(worthwhile ? num_threads() : 1);
    // Smaller pieces would be streams too short for the processor to foresee.
    constexpr size_t kLeastBytes = size_t{1} << 16;
    least_ = static_cast<int64_t>(kLeastBytes / (bytes / std::max<size_t>(panels, 1) + 1) + 1);
    panels_ = static_cast<int64_t>(panels);
    for (int w = 0; w < workers_; ++w) shares_.set(w, share_begin(w), share_begin(w + 1));
  }

  int workers() const { return workers_; }

  // f(part, first panel, end, column of the part's first panel in C) for what falls to `worker`.
  template <class F>
  void for_panels(int worker, F&& f) {
    if (workers_ > 1 && waits_for_weights_) begin_share(worker);
    for (int turn = 0; turn < workers_; ++turn) {
      const int share = (worker + turn) % workers_;
      for (auto piece = shares_.take(share, least_); !piece.empty();
           piece = shares_.take(share, least_))
        for_piece(static_cast<size_t>(piece.begin), static_cast<size_t>(piece.end), f);
    }
  }

 private:
  int64_t share_begin(int worker) const { return worker * panels_ / workers_; }

  // What of the share lies in the part that it begins in.
  void begin_share(int worker) const {
    bool begun = false;
    for_piece(static_cast<size_t>(share_begin(worker)),
              static_cast<size_t>(share_begin(worker + 1)),
              [&](const CodePanels* part, size_t from, size_t to, int64_t) {
                if (!std::exchange(begun, true))
                  begin_to_read(worker, part->storage, part->panel(from),
                                (to - from) * part->panel_bytes);
              });
  }

  template <class F>
  void for_piece(size_t begin, size_t end, F&& f) const {
    size_t first = 0;  // panel of the part
    int64_t column = 0;
    for (const CodePanels* part : parts_) {
      const size_t count = part->panels();
      const size_t from = std::clamp(begin, first, first + count) - first;
      const size_t to = std::clamp(end, first, first + count) - first;
      if (from < to) f(part, from, to, column);
      first += count;
      column += static_cast<int64_t>(part->n);
    }
  }

  Parts parts_;
  int64_t panels_ = 0;
  int workers_;
  int64_t least_;  // panels of a piece
  bool waits_for_weights_;
  WorkShares shares_;
};

}  // namespace glassformer::cpu
