#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>

#include "base/work_shares.h"

// How threads share a product's C.

namespace glassformer::cpu {

inline size_t div_up(size_t a, size_t b) { return (a + b - 1) / b; }
inline size_t round_up(size_t a, size_t b) { return div_up(a, b) * b; }

struct Range {
  size_t begin, end;
  size_t size() const { return end - begin; }
  bool operator==(const Range&) const = default;
};

// Part `index` of `count` even ones of [0, total), each but the last a multiple of `unit`.
inline Range part(size_t index, size_t count, size_t total, size_t unit = 1) {
  const size_t units = div_up(total, unit);
  return {std::min(total, index * units / count * unit),
          std::min(total, (index + 1) * units / count * unit)};
}

// How many threads share the rows and the columns of C.
struct Grid {
  size_t rows, columns;
};

// Rows are cut at multiples of unit_rows into blocks of at most block_rows, columns into panels.
struct GemmSteps {
  size_t unit_rows, block_rows, columns;
};

// Worker w has one cell of the grid, row by row: its panels, in every block of its rows, one block
// after the other. It takes them in pieces, each a rectangle of C, and may go on with another's.
class GemmPlan {
 public:
  GemmPlan(size_t m, size_t n, Grid grid, GemmSteps steps)
      : m_(m), n_(n), grid_(grid), steps_(steps) {
    for (size_t w = 0; w < workers(); ++w) {
      const auto panels = static_cast<int64_t>(panels_of(w).size());
      const auto blocks = static_cast<int64_t>(row_blocks(w));
      shares_.set(static_cast<int>(w), 0, panels * blocks, std::max<int64_t>(panels, 1));
    }
  }

  size_t workers() const { return grid_.rows * grid_.columns; }
  size_t columns() const { return grid_.columns; }
  size_t block_rows() const { return steps_.block_rows; }
  bool same_rows(size_t a, size_t b) const { return a / grid_.columns == b / grid_.columns; }

  struct Piece {
    Range rows, columns;  // rows: one block
  };
  // The next piece of share w, of at least so many panels unless those of a block end before;
  // nothing where the share has come to its end.
  std::optional<Piece> take(size_t w, size_t least_panels) {
    const auto piece = shares_.take(static_cast<int>(w), static_cast<int64_t>(least_panels));
    if (piece.empty()) return std::nullopt;
    const Range panels = panels_of(w), all = rows_of(w);
    const auto at = static_cast<size_t>(piece.begin), end = static_cast<size_t>(piece.end);
    const Range rows = part(at / panels.size(), row_blocks(w), all.size(), steps_.unit_rows);
    const size_t first = panels.begin + at % panels.size(), last = first + (end - at);
    return Piece{{all.begin + rows.begin, all.begin + rows.end},
                 {first * steps_.columns, std::min(n_, last * steps_.columns)}};
  }

 private:
  Range rows_of(size_t w) const {
    return part(w / grid_.columns, grid_.rows, m_, steps_.unit_rows);
  }
  Range panels_of(size_t w) const {
    return part(w % grid_.columns, grid_.columns, div_up(n_, steps_.columns));
  }
  size_t row_blocks(size_t w) const { return div_up(rows_of(w).size(), steps_.block_rows); }

  const size_t m_, n_;
  const Grid grid_;
  const GemmSteps steps_;
  WorkShares shares_;
};

}  // namespace glassformer::cpu
