// The blocked product. A thread has a rectangle of C and shares nothing but its inputs, so there is
// no barrier; what threads in one row or column of the grid pack twice is cheaper than waiting. One
// that is done takes columns from another of the same rows.
//
//   for blocks of rows            their A, packed, fits the L2 cache with what else is needed
//     for blocks of columns       and so does their block of sums; a piece of a share, or less
//       for blocks of k           a panel of B stays in the L2 cache
//         for panels of B         packed right before use, or beforehand for many rows
//           for strips of A       the register tile; after the last block of k, the epilogue
#include "kernels/cpu/gemm.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <utility>

#include "base/check.h"
#include "base/cpu_info.h"
#include "base/parallel.h"
#include "glassformer/base/threads.h"
#include "kernels/cpu/bf16_tile.h"
#include "kernels/cpu/gemm_plan.h"
#include "kernels/cpu/quantised.h"
#include "kernels/cpu/reading_order.h"
#include "kernels/cpu/weight_memory.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/gemm.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "kernels/cpu/codes-inl.h"
#include "kernels/cpu/epilogue-inl.h"
#include "kernels/cpu/tile-inl.h"

#ifndef GLASSFORMER_KERNELS_CPU_GEMM_ONCE
#define GLASSFORMER_KERNELS_CPU_GEMM_ONCE

namespace glassformer::cpu {
namespace {

// What one call computes. B is packed already when `panels` is not null, quantised when `codes` is
// not null, else in place.
struct Product {
  size_t m, n, k;
  MatrixRef a, b;
  const void* panels;
  const CodePanels* codes;
  GemmOutput out;
};

inline std::shared_ptr<void> allocate_aligned(size_t bytes) {
  constexpr size_t kAlignment = 64;
  const size_t rounded = (bytes + kAlignment) / kAlignment * kAlignment;
  void* memory = std::aligned_alloc(kAlignment, rounded);
  require<MemoryError>(memory != nullptr, "gemm: expected {} bytes of memory, found fewer",
                       rounded);
  return {memory, [](void* p) { std::free(p); }};
}

// Memory that a thread keeps between calls; it grows to the largest block, which is bounded.
class Workspace {
 public:
  template <class T>
  T* get(size_t count) {
    if (count * sizeof(T) > bytes_) {
      memory_ = allocate_aligned(count * sizeof(T));
      bytes_ = count * sizeof(T);
    }
    return static_cast<T*>(memory_.get());
  }

 private:
  std::shared_ptr<void> memory_;
  size_t bytes_ = 0;
};

struct ThreadScratch {
  Workspace a, b, sums, bias, panels;
};
inline ThreadScratch& scratch() {
  thread_local ThreadScratch memory;
  return memory;
}

// k in `count` blocks of `size` (the last may be shorter): as even as the unit allows, and a
// function of k alone.
struct KBlocks {
  size_t count, size;
  KBlocks(size_t k, size_t limit, size_t unit)
      : count(std::max<size_t>(div_up(k, limit), 1)), size(round_up(div_up(k, count), unit)) {}
};

constexpr size_t kLineBytes = 64;  // of a cache

inline const void* offset(const MatrixRef& x, size_t row, size_t col) {
  const int64_t at =
      static_cast<int64_t>(row) * x.row_stride + static_cast<int64_t>(col) * x.col_stride;
  return static_cast<const char*>(x.data) + at * (x.type == Type::kF32 ? 4 : 2);
}

}  // namespace
}  // namespace glassformer::cpu

#endif  // GLASSFORMER_KERNELS_CPU_GEMM_ONCE

HWY_BEFORE_NAMESPACE();
namespace glassformer::cpu {
namespace HWY_NAMESPACE {
namespace {

// ------------------------------------------------------------------------------------ engines
// What differs between the products of float32 and of bfloat16: how a block of A and a panel of B
// are brought into shape, and the kernel of one strip, whose sums are a tile of [kRows][kColumns].
// Each strip brings its share of the next panel nearer. Where an engine reads A in place, nothing
// is packed of it, and the strips are rows of A. An engine with kOverlaps does other work while it
// multiplies, which is how the tile before is finished there. To pack other rows of A only to help
// a thread with its last columns is worth the time where products take long beside it.

template <class Value>
struct PanelAhead {
  const Value* panel;  // null where there is nothing to bring
  size_t strip;
};

struct F32Engine {
  using Value = float;
  static constexpr size_t kRows = kMr, kColumns = kNr;
  static size_t BlockK() { return 768; }  // panels of 96 KB, read from L2 once a strip
  static constexpr size_t kUnitK = 1;
  static constexpr bool kOverlaps = false;
  static constexpr bool kHelpsOtherRows = true;

  static size_t Strips(size_t rows) { return StripCount(rows); }
  static size_t StripStart(size_t s, size_t rows) { return StripBegin(s, rows); }
  static size_t StripSize(size_t kc) { return kc * kMr; }
  static size_t ASize(size_t rows, size_t kc) { return PackedStripFloats(rows, kc); }
  static size_t PanelSize(size_t kc) { return kc * kNr; }

  static void PackA(const MatrixRef& a, size_t i, size_t rows, size_t p, size_t kc, float* to) {
    const void* src = offset(a, i, p);
    if (a.type == Type::kF32)
      PackStrips(static_cast<const float*>(src), a.row_stride, a.col_stride, rows, kc, to);
    else
      PackStrips(static_cast<const uint16_t*>(src), a.row_stride, a.col_stride, rows, kc, to);
  }

  static void PackPanel(const Product& q, size_t p, size_t kc, size_t j, size_t columns,
                        float* to) {
    if (q.codes != nullptr) return ExpandPanel(*q.codes, p, kc, j, to);
    const MatrixRef& b = q.b;
    const void* src = offset(b, p, j);
    if (b.type == Type::kF32)
      PackPanels(static_cast<const float*>(src), b.row_stride, b.col_stride, kc, columns, to);
    else
      PackPanels(static_cast<const uint16_t*>(src), b.row_stride, b.col_stride, kc, columns, to);
  }

  static void ExpandPanel(const CodePanels& w, size_t p, size_t kc, size_t j, float* to) {
    constexpr size_t kVectorsHere = kNr / codes::kVector;
    const uint8_t* panel = w.panel(j / kCodeColumns);
    const size_t first = j % kCodeColumns / codes::kVector, whole = kc / kCodeDepth;
    codes::VisitFormat(w.format, [&](auto format) HWY_ATTR {
      for (size_t g = 0; g < whole; ++g)
        codes::ExpandGroup<format>(panel, p / kCodeDepth + g, first, kVectorsHere,
                                   to + g * kCodeDepth * kNr, kNr);
      if (whole * kCodeDepth == kc) return;
      HWY_ALIGN float rest[kCodeDepth * kNr];
      codes::ExpandGroup<format>(panel, p / kCodeDepth + whole, first, kVectorsHere, rest, kNr);
      std::copy_n(rest, (kc - whole * kCodeDepth) * kNr, to + whole * kCodeDepth * kNr);
    });
  }

  static HWY_INLINE void Kernel(size_t rows, size_t columns, size_t kc, const MatrixRef& /*a*/,
                                const float* strip, const float* panel, float* sums,
                                bool accumulate, const PanelAhead<float>& ahead) {
    tile::KernelForRows<true>(rows, kc, strip, kMr, panel, sums, kNr, columns, accumulate,
                              Ahead(kc, ahead));
  }

  // Rows of A, or its columns, that lie one after the other are read where they are, unless they
  // are whole pages apart: those of a strip then meet in one set of the L1 cache, which must hold
  // them (one of 12 ways does: 4 % of a product; of 8 it holds some). Of columns a strip reads a
  // line in each of many rows, which half pages leave two sets (a third of the speed was lost).
  static bool ReadsInPlace(const MatrixRef& a, size_t m) {
    constexpr int64_t kPageFloats = 4096 / sizeof(float);
    if (a.type != Type::kF32) return false;
    const size_t rows_of_a_set = first_cache_ways() >= 12 ? kMr : 4;
    return (a.col_stride == 1 &&
            (std::min(m, kMr) <= rows_of_a_set || a.row_stride % kPageFloats != 0)) ||
           (a.row_stride == 1 && a.col_stride % (kPageFloats / 2) != 0);
  }
  static HWY_INLINE void KernelInPlace(size_t rows, size_t columns, size_t kc, const MatrixRef& a,
                                       size_t i, size_t p, const float* panel, float* sums,
                                       bool accumulate, const PanelAhead<float>& ahead) {
    const auto* from = static_cast<const float*>(offset(a, i, p));
    if (a.col_stride == 1)
      tile::KernelForRows<false>(rows, kc, from, static_cast<size_t>(a.row_stride), panel, sums,
                                 kNr, columns, accumulate, Ahead(kc, ahead));
    else
      tile::KernelForRows<true>(rows, kc, from, static_cast<size_t>(a.col_stride), panel, sums, kNr,
                                columns, accumulate, Ahead(kc, ahead));
  }

  static const float* Ahead(size_t kc, const PanelAhead<float>& ahead) {
    const size_t from = ahead.strip * kc * tile::kAheadOfK;
    return ahead.panel != nullptr && from < PanelSize(kc) ? ahead.panel + from : nullptr;
  }
};

struct Bf16Engine {
  using Value = uint16_t;
  static constexpr size_t kRows = kBf16Rows, kColumns = kBf16Cols;
  static size_t BlockK() { return 768; }  // panels of 48 KB, read once a strip
  static constexpr size_t kUnitK = kBf16Depth;
  static constexpr bool kOverlaps = true;
  static constexpr bool kHelpsOtherRows = false;

  static size_t Strips(size_t rows) { return div_up(rows, kBf16Rows); }
  static size_t StripStart(size_t s, size_t rows) { return std::min(s * kBf16Rows, rows); }
  static size_t StripSize(size_t kc) { return bf16_padded_k(kc) * kBf16Rows; }
  static size_t ASize(size_t rows, size_t kc) { return bf16_packed_strips_size(rows, kc); }
  static size_t PanelSize(size_t kc) { return bf16_padded_k(kc) * kBf16Cols; }

  static void PackA(const MatrixRef& a, size_t i, size_t rows, size_t p, size_t kc, uint16_t* to) {
    bf16_pack_strips(static_cast<const uint16_t*>(offset(a, i, p)), a.row_stride, a.col_stride,
                     rows, kc, to);
  }

  static void PackPanel(const Product& q, size_t p, size_t kc, size_t j, size_t columns,
                        uint16_t* to) {
    if (q.codes != nullptr) return ExpandPanel(*q.codes, p, kc, j, to);
    const MatrixRef& b = q.b;
    bf16_pack_panels(static_cast<const uint16_t*>(offset(b, p, j)), b.row_stride, b.col_stride, kc,
                     columns, to);
  }

  static void ExpandPanel(const CodePanels& w, size_t p, size_t kc, size_t j, uint16_t* to) {
    static_assert(kBf16Cols == kCodeColumns && kBf16Depth == kCodeDepth);
    const uint8_t* panel = w.panel(j / kCodeColumns);
    codes::VisitFormat(w.format, [&](auto format) HWY_ATTR {
      HWY_ALIGN float group[kCodeDepth * kCodeColumns];
      for (size_t g = 0; g < div_up(kc, kCodeDepth); ++g) {
        codes::ExpandGroup<format>(panel, p / kCodeDepth + g, 0, codes::kVectorsOfPanel, group,
                                   kCodeColumns);
        bf16_pack_panels(group, kCodeColumns, 1, kCodeDepth, kCodeColumns,
                         to + g * kCodeDepth * kCodeColumns);
      }
    });
  }

  static HWY_INLINE void Kernel(size_t rows, size_t columns, size_t kc, const MatrixRef& a,
                                const uint16_t* strip, const uint16_t* panel, float* sums,
                                bool accumulate, const Bf16Meanwhile* meanwhile) {
    bf16_strip_product(rows, columns, kc, strip, bf16_strip_form(a.row_stride), panel, sums,
                       kBf16Cols, accumulate, meanwhile);
  }

  // Lines [from, from + count) of the next panel come to the L2 cache.
  static HWY_INLINE void BringPanel(const uint16_t* panel, size_t kc, size_t from, size_t count) {
    constexpr size_t kLine = kLineBytes / sizeof(uint16_t);
    const size_t end = std::min(from + count, PanelSize(kc) / kLine);
    for (size_t line = from; line < end; ++line)
      __builtin_prefetch(panel + line * kLine, /*read*/ 0, /*to L2*/ 2);
  }

  static constexpr bool ReadsInPlace(const MatrixRef& /*a*/, size_t /*m*/) { return false; }
  static void KernelInPlace(size_t, size_t, size_t, const MatrixRef&, size_t, size_t,
                            const uint16_t*, float*, bool, const PanelAhead<uint16_t>&) {}
};

// ------------------------------------------------------------------------------------ driver

// Of a quantised B the blocks are whole groups.
template <class Engine>
KBlocks BlocksOf(const Product& q) {
  return {q.k, Engine::BlockK(), q.codes != nullptr ? kCodeDepth : Engine::kUnitK};
}

// Rectangles of C, one after the other, by one thread.
template <class Engine>
class Rectangles {
 public:
  using Value = typename Engine::Value;

  // shared: a block of rows comes in several pieces of its columns.
  Rectangles(const Product& product, bool shared)
      : q_(product),
        shared_(shared),
        blocks_(BlocksOf<Engine>(product)),
        in_place_(Engine::ReadsInPlace(product.a, product.m)) {
    WidenBias();
  }

  // At most a block of rows.
  void Run(Range rows, Range columns) {
    const size_t step = std::min(ColumnStep(rows.size()), columns.size());
    const size_t a_size = Engine::ASize(rows.size(), blocks_.size);
    const bool keep_a = (shared_ || step < columns.size()) && CanKeepA(rows.size());
    Value* a = in_place_ ? nullptr
                         : scratch().a.template get<Value>(a_size * (keep_a ? blocks_.count : 1));
    sums_ = scratch().sums.template get<float>(SumTiles(rows.size(), step) * kTile);
    if (rows != packed_rows_) packed_blocks_ = 0;
    packed_rows_ = rows;
    for (size_t j = columns.begin; j < columns.end; j += step)
      for (size_t block = 0; block < blocks_.count; ++block) {
        Value* a_block = in_place_ ? nullptr : a + (keep_a ? block * a_size : 0);
        if (!in_place_ && (!keep_a || block == packed_blocks_)) {
          Engine::PackA(q_.a, rows.begin, rows.size(), Start(block), Depth(block), a_block);
          packed_blocks_ = block + 1;
        }
        RunBlock(block, rows, {j, std::min(columns.end, j + step)}, a_block);
      }
  }

  // The panels that a piece has at least: each reads all blocks of k of its rows of A anew, and
  // packs them where they are not kept. Of few rows that is nothing beside the panels.
  size_t LeastPanels(size_t rows) const {
    constexpr size_t kSome = 256 / Engine::kColumns;
    if (!shared_) return q_.n;
    if (rows <= kRowsThatWaitForWeights) return 1;
    if (!in_place_ && !CanKeepA(rows)) return ColumnStep(rows) / Engine::kColumns;
    return blocks_.count == 1 ? 1 : kSome;
  }

 private:
  static constexpr size_t kKeptABytes = size_t{4} << 20;
  static constexpr size_t kSumBytes = size_t{512} << 10;             // half of a small L2 cache
  static constexpr size_t kTile = Engine::kRows * Engine::kColumns;  // sums of a register tile
  // With fewer the panels go by as fast as memory gives them, and asking twice costs more than it
  // helps.
  static constexpr size_t kStripsToHidePrefetch = 6;
  // What is prefetched comes in small portions, but to finish rows costs something each time.
  static constexpr size_t kPartsToFinish = 4;

  // A is wanted again for other columns; the memory a thread keeps has an end.
  bool CanKeepA(size_t rows) const {
    const size_t size = Engine::ASize(rows, blocks_.size) * blocks_.count;
    return blocks_.count == 1 || size * sizeof(Value) <= kKeptABytes;
  }

  size_t Start(size_t block) const { return block * blocks_.size; }
  size_t Depth(size_t block) const {
    return std::min(blocks_.size, q_.k - std::min(q_.k, Start(block)));
  }

  // Columns whose sums are held at a time.
  size_t ColumnStep(size_t rows) const {
    // Few rows read B once, at the speed of memory: down whole columns where these are contiguous.
    const bool contiguous = q_.codes != nullptr || q_.b.row_stride == 1;
    if (Engine::Strips(rows) <= 2 && q_.panels == nullptr && contiguous) return Engine::kColumns;
    if (blocks_.count == 1) return round_up(q_.n, Engine::kColumns);
    const size_t panels = kSumBytes / (rows * Engine::kColumns * sizeof(float));
    return std::max<size_t>(panels, 1) * Engine::kColumns;
  }

  // Tiles of sums at a time. They lie together in scratch: spread over the rows of C they would be
  // slow to reach in every block of k. With one block of k a tile is finished at once, or while the
  // next one is multiplied.
  size_t SumTiles(size_t rows, size_t columns) const {
    const size_t all = Engine::Strips(rows) * div_up(columns, Engine::kColumns);
    return blocks_.count == 1 ? std::min<size_t>(all, Engine::kOverlaps ? 2 : 1) : all;
  }

  void WidenBias() {
    if (q_.out.bias == nullptr) return;
    if (q_.out.bias_type == Type::kF32) {
      bias_ = static_cast<const float*>(q_.out.bias);
      return;
    }
    float* wide = scratch().bias.template get<float>(q_.n);
    const uint16_t* narrow = static_cast<const uint16_t*>(q_.out.bias);
    for (size_t j = 0; j < q_.n; ++j) wide[j] = tile::Widen(narrow[j]);
    bias_ = wide;
  }

  const Value* Panel(size_t block, size_t j, size_t columns) {
    const size_t kc = Depth(block);
    if (q_.panels != nullptr) {
      const size_t panels = div_up(q_.n, Engine::kColumns);
      return static_cast<const Value*>(q_.panels) +
             block * panels * Engine::PanelSize(blocks_.size) +
             j / Engine::kColumns * Engine::PanelSize(kc);
    }
    Value* to = scratch().b.template get<Value>(Engine::PanelSize(blocks_.size));
    Engine::PackPanel(q_, Start(block), kc, j, columns, to);
    return to;
  }

  // A tile of C and its sums.
  struct Tile {
    size_t i, rows, j, columns;
    float* sums;
  };

  void RunBlock(size_t block, Range rows, Range columns, const Value* a) {
    const size_t kc = Depth(block);
    const size_t strips = Engine::Strips(rows.size());
    const bool last = block + 1 == blocks_.count;
    const size_t tiles = SumTiles(rows.size(), columns.size());
    // Of the next panel, in each part of what is done beside a product.
    const size_t lines =
        div_up(Engine::PanelSize(kc) * sizeof(Value) / kLineBytes, strips * kBf16Parts);
    size_t next = 0;  // tile of sums
    Tile before{};    // without rows where it is finished
    for (size_t j = columns.begin; j < columns.end; j += Engine::kColumns) {
      const size_t width = std::min(Engine::kColumns, columns.end - j);
      const Value* panel = Panel(block, j, width);
      const bool more = q_.panels != nullptr && j + width < q_.n && strips >= kStripsToHidePrefetch;
      PanelAhead<Value> ahead{more ? panel + Engine::PanelSize(kc) : nullptr, 0};
      for (size_t s = 0; s < strips; ++s) {
        ahead.strip = s;
        const size_t start = Engine::StripStart(s, rows.size());
        const size_t height = Engine::StripStart(s + 1, rows.size()) - start;
        const Tile tile{rows.begin + start, height, j, width, sums_ + next * kTile};
        next = next + 1 == tiles ? 0 : next + 1;
        if constexpr (Engine::kOverlaps) {
          if (strips == 1) {  // all time goes by with reading the panel: nothing can be hidden
            Engine::Kernel(height, width, kc, q_.a, a, panel, tile.sums, block != 0, nullptr);
            if (last) FinishRows(tile, {0, height});
            continue;
          }
          const float* wanted = sums_ + next * kTile;
          const auto beside = [&](size_t index) HWY_ATTR {
            if (more) Engine::BringPanel(ahead.panel, kc, (s * kBf16Parts + index) * lines, lines);
            if (block != 0) BringSums(wanted, part(index, kBf16Parts, kTile));
            if (index % kPartsToFinish != 0) return;
            constexpr size_t kTimes = kBf16Parts / kPartsToFinish;
            if (last) BringOutput(tile, part(index / kPartsToFinish, kTimes, tile.rows));
            FinishRows(before, part(index / kPartsToFinish, kTimes, before.rows));
          };
          const Bf16Meanwhile meanwhile = beside;
          Engine::Kernel(height, width, kc, q_.a, a + s * Engine::StripSize(kc), panel, tile.sums,
                         block != 0, &meanwhile);
          if (last) before = tile;
        } else {
          if (last) BringOutput(tile, {0, height});
          if (in_place_)
            Engine::KernelInPlace(height, width, kc, q_.a, tile.i, Start(block), panel, tile.sums,
                                  block != 0, ahead);
          else
            Engine::Kernel(height, width, kc, q_.a, a + s * Engine::StripSize(kc), panel, tile.sums,
                           block != 0, ahead);
          if (last) FinishRows(tile, {0, height});
        }
      }
    }
    FinishRows(before, {0, before.rows});
  }

  // Sums that will be added to come to the L1 cache, for the tile unit waits for stores that miss.
  static HWY_INLINE void BringSums(const float* sums, Range range) {
    constexpr size_t kLine = kLineBytes / sizeof(float);
    for (size_t at = range.begin / kLine; at < range.end / kLine; ++at)
      __builtin_prefetch(sums + at * kLine, /*write*/ 1, /*to L1*/ 3);
  }

  // What the epilogue of a tile reads and writes comes nearer while its product runs. Always
  // inlined: the compiler drops calls of functions that do nothing but prefetch.
  HWY_INLINE void BringOutput(const Tile& tile, Range rows) const {
    const GemmOutput& out = q_.out;
    const size_t size = out.type == Type::kF32 ? sizeof(float) : sizeof(uint16_t);
    const size_t pitch = static_cast<size_t>(out.ldc) * size;
    const size_t residual_pitch = static_cast<size_t>(out.ld_residual) * size;
    const size_t i = tile.i + rows.begin, bytes = tile.columns * size;
    BringRows(out.c, i * pitch + tile.j * size, pitch, rows.size(), bytes);
    BringRows(out.pre_activation, i * pitch + tile.j * size, pitch, rows.size(), bytes);
    BringRows(out.residual, i * residual_pitch + tile.j * size, residual_pitch, rows.size(), bytes);
  }

  static HWY_INLINE void BringRows(const void* matrix, size_t start, size_t pitch, size_t rows,
                                   size_t bytes) {
    if (matrix == nullptr) return;
    const char* row = static_cast<const char*>(matrix) + start;
    for (size_t r = 0; r < rows; ++r, row += pitch)
      for (size_t at = 0; at < bytes; at += kLineBytes)
        __builtin_prefetch(row + at, /*read*/ 0, /*to L2*/ 2);
  }

  // Rows of a tile to C.
  void FinishRows(const Tile& tile, Range rows) {
    if (rows.size() == 0) return;
    const float* sums = tile.sums + rows.begin * Engine::kColumns;
    if (q_.out.type == Type::kF32)
      FinishAs<float>(tile.i + rows.begin, rows.size(), tile.j, tile.columns, sums);
    else
      FinishAs<hwy::bfloat16_t>(tile.i + rows.begin, rows.size(), tile.j, tile.columns, sums);
  }

  template <class T>
  void FinishAs(size_t i, size_t rows, size_t j, size_t columns, const float* sums) {
    const GemmOutput& out = q_.out;
    const size_t ldc = static_cast<size_t>(out.ldc);
    const size_t ld_residual = static_cast<size_t>(out.ld_residual);
    T* pre = static_cast<T*>(out.pre_activation);
    const T* residual = static_cast<const T*>(out.residual);
    const TileOutput<T> tile{.sums = sums,
                             .ld_sums = Engine::kColumns,
                             .bias = bias_ ? bias_ + j : nullptr,
                             .c = static_cast<T*>(out.c) + i * ldc + j,
                             .add_c = out.accumulate,
                             .pre_activation = pre ? pre + i * ldc + j : nullptr,
                             .ldc = ldc,
                             .residual = residual ? residual + i * ld_residual + j : nullptr,
                             .ld_residual = ld_residual};
    Finish(out.activation, rows, columns, tile);
  }

  const Product& q_;
  const bool shared_;
  const KBlocks blocks_;
  const bool in_place_;          // A is read where it is
  Range packed_rows_{0, 0};      // of A, else
  size_t packed_blocks_ = 0;     // of k that are
  float* sums_ = nullptr;        // tile by tile
  const float* bias_ = nullptr;  // widened
};

// What falls to one worker: its share (or shares, where there are fewer workers than planned), then
// what others have not begun.
template <class Engine>
void MultiplyShares(const Product& product, GemmPlan& plan, size_t worker, size_t workers) {
  Rectangles<Engine> rectangles(product,
                                (Engine::kHelpsOtherRows ? plan.workers() : plan.columns()) > 1);
  const size_t least = rectangles.LeastPanels(std::min(product.m, plan.block_rows()));
  const auto finish = [&](size_t share) {
    while (const auto piece = plan.take(share, least)) rectangles.Run(piece->rows, piece->columns);
  };
  for (size_t share = worker; share < plan.workers(); share += workers) finish(share);
  for (size_t share = 0; share < plan.workers(); ++share)
    if (plan.same_rows(worker, share)) finish(share);
  if (!Engine::kHelpsOtherRows) return;
  for (size_t share = 0; share < plan.workers(); ++share) finish(share);
}

void MultiplyF32(const Product& product, GemmPlan& plan, size_t worker, size_t workers) {
  MultiplyShares<F32Engine>(product, plan, worker, workers);
}
void MultiplyBf16(const Product& product, GemmPlan& plan, size_t worker, size_t workers) {
  const Bf16Scope scope;
  MultiplyShares<Bf16Engine>(product, plan, worker, workers);
}

// Every block of k of panel `index` of B, to its place among the others.
template <class Engine>
void PackAllOf(const Product& product, size_t index, void* panels) {
  const KBlocks blocks = BlocksOf<Engine>(product);
  const size_t count = div_up(product.n, Engine::kColumns);
  const size_t j = index * Engine::kColumns;
  auto* to = static_cast<typename Engine::Value*>(panels);
  for (size_t p = 0; p < product.k; p += blocks.size) {
    const size_t kc = std::min(blocks.size, product.k - p);
    Engine::PackPanel(product, p, kc, j, std::min(Engine::kColumns, product.n - j),
                      to + index * Engine::PanelSize(kc));
    to += count * Engine::PanelSize(kc);
  }
}
void PackF32(const Product& product, size_t index, void* panels) {
  PackAllOf<F32Engine>(product, index, panels);
}
void PackBf16(const Product& product, size_t index, void* panels) {
  PackAllOf<Bf16Engine>(product, index, panels);
}

size_t PanelWidth() { return kNr; }
size_t CountBlocksF32(const Product& product) { return BlocksOf<F32Engine>(product).count; }
size_t CountBlocksBf16(const Product& product) { return BlocksOf<Bf16Engine>(product).count; }

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace glassformer::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace glassformer::cpu {
namespace {

HWY_EXPORT(MultiplyF32);
HWY_EXPORT(MultiplyBf16);
HWY_EXPORT(PackF32);
HWY_EXPORT(PackBf16);
HWY_EXPORT(PanelWidth);
HWY_EXPORT(CountBlocksF32);
HWY_EXPORT(CountBlocksBf16);

// The grid with the least time for its slowest thread, by the costs measured on one machine, in
// nanoseconds an element. Only their proportions matter.
Grid choose_grid(const Product& q, bool bf16, size_t threads, size_t panel_width) {
  const double multiply = !bf16 ? 0.01 : amx_bf16_usable() ? 0.001 : 0.005;
  const double load_a = bf16 ? 0.1 : 0.2;
  const double load_b = q.panels != nullptr ? (bf16 ? 0.05 : 0.1) : (bf16 ? 0.15 : 0.3);
  Grid best{1, 1};
  double best_cost = 0;
  for (size_t rows = 1; rows <= threads; ++rows) {
    const size_t columns = threads / rows;
    const double m = static_cast<double>(div_up(q.m, rows));
    const double n = static_cast<double>(div_up(div_up(q.n, panel_width), columns) * panel_width);
    const double cost = m * n * multiply + m * load_a + n * load_b;
    if (rows == 1 || cost < best_cost) {
      best = {rows, columns};
      best_cost = cost;
    }
  }
  return best;
}

// All threads, or this one alone for less than some 20 µs of its work.
int wanted_threads(const Product& q, bool bf16) {
  const double flops =
      2.0 * static_cast<double>(q.m) * static_cast<double>(q.n) * static_cast<double>(q.k);
  const double bytes = static_cast<double>(q.n) * static_cast<double>(q.k) * (bf16 ? 2 : 4);
  const double enough = !bf16 ? 3e6 : amx_bf16_usable() ? 3e7 : 6e6;
  const bool worthwhile = flops > enough || bytes > 2e5;
  return worthwhile ? num_threads() : 1;
}

// Rows of A that are multiplied at a time: 576 KB in float32. The tile unit takes a panel of B
// faster than it comes from far, so that more rows must share it; its L2 cache has 2 MB.
constexpr size_t kBlockRows = 192, kBlockRowsOfTiles = 512;
GemmSteps steps_of(bool bf16, size_t panel_width) {
  return {.unit_rows = bf16 ? kBf16Rows : 1,
          .block_rows = bf16 && amx_bf16_usable() ? kBlockRowsOfTiles : kBlockRows,
          .columns = panel_width};
}

// These panels of B, to their places among all of them.
void pack_panels(const Product& q, bool bf16, Range range, void* panels) {
  const auto pack = bf16 ? HWY_DYNAMIC_DISPATCH(PackBf16) : HWY_DYNAMIC_DISPATCH(PackF32);
  parallel_ranges(static_cast<int64_t>(range.size()), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) pack(q, range.begin + static_cast<size_t>(i), panels);
  });
}

size_t panels_bytes(const Product& q, bool bf16, size_t width) {
  const size_t columns = round_up(q.n, width);
  return bf16 ? columns * bf16_padded_k(q.k) * sizeof(uint16_t) : columns * q.k * sizeof(float);
}

// With more rows than this several blocks of A pass over the same B, which is then packed once for
// all of them, unless a thread would have to keep that much memory.
constexpr size_t kRowsToPackFor = 256;
constexpr size_t kMostPanelBytes = size_t{64} << 20;

// begins(worker, workers) on each thread before it multiplies.
void run(
    Product q, bool bf16, FunctionRef<void(int, int)> begins = [](int, int) {}) {
  if (q.m == 0 || q.n == 0) return;
  const auto multiply =
      bf16 ? HWY_DYNAMIC_DISPATCH(MultiplyBf16) : HWY_DYNAMIC_DISPATCH(MultiplyF32);
  const size_t width = bf16 ? kBf16Cols : HWY_DYNAMIC_DISPATCH(PanelWidth)();
  const int team = team_size(wanted_threads(q, bf16));
  const Grid grid = choose_grid(q, bf16, static_cast<size_t>(team), width);
  const size_t bytes = panels_bytes(q, bf16, width);
  if (q.panels == nullptr && q.m > kRowsToPackFor && bytes <= kMostPanelBytes) {
    void* panels = scratch().panels.get<char>(bytes);
    pack_panels(q, bf16, {0, div_up(q.n, width)}, panels);
    q.panels = panels;
  }
  GemmPlan plan(q.m, q.n, grid, steps_of(bf16, width));
  parallel_workers(team, [&](int worker, int workers) {
    begins(worker, workers);
    multiply(q, plan, static_cast<size_t>(worker), static_cast<size_t>(workers));
  });
}

Product make_product(int64_t m, int64_t n, int64_t k, const MatrixRef& a, const GemmOutput& out) {
  internal_check(m >= 0 && n >= 0 && k >= 0, "gemm: negative size");
  internal_check(!out.accumulate || out.type == Type::kF32, "gemm: accumulates in f32 only");
  return {.m = static_cast<size_t>(m),
          .n = static_cast<size_t>(n),
          .k = static_cast<size_t>(k),
          .a = a,
          .b = {},
          .panels = nullptr,
          .codes = nullptr,
          .out = out};
}

}  // namespace

PackedB pack_b(int64_t k, int64_t n, const MatrixRef& b, Type type,
               FunctionRef<void(int64_t, int64_t)> done) {
  internal_check(type == b.type || type == Type::kF32, "pack_b: narrows");
  Product q = make_product(0, n, k, {}, {});
  q.b = b;
  PackedB packed;
  packed.k_ = k;
  packed.n_ = n;
  packed.type_ = type;
  packed.bf16_ = type == Type::kBf16 && bf16_products_usable();
  packed.width_ = packed.bf16_ ? kBf16Cols : HWY_DYNAMIC_DISPATCH(PanelWidth)();
  packed.bytes_ = panels_bytes(q, packed.bf16_, packed.width_);
  const std::shared_ptr<Storage> storage = weight_memory(packed.bytes_);
  constexpr size_t kPanelsAtATime = 256;
  const size_t panels = div_up(q.n, packed.width_);
  for (size_t first = 0; first < panels; first += kPanelsAtATime) {
    const size_t end = std::min(panels, first + kPanelsAtATime);
    pack_panels(q, packed.bf16_, {first, end}, storage->data());
    done(static_cast<int64_t>(first * packed.width_),
         static_cast<int64_t>(std::min(q.n, end * packed.width_)));
  }
  packed.storage_ = std::shared_ptr<void>(storage, storage->data());
  packed.block_bytes_ = packed.bytes_ / (packed.bf16_ ? HWY_DYNAMIC_DISPATCH(CountBlocksBf16)(q)
                                                      : HWY_DYNAMIC_DISPATCH(CountBlocksF32)(q));
  return packed;
}

void gemm(int64_t m, int64_t n, int64_t k, const MatrixRef& a, const MatrixRef& b,
          const GemmOutput& out) {
  Product q = make_product(m, n, k, a, out);
  q.b = b;
  run(q, a.type == Type::kBf16 && b.type == Type::kBf16 && bf16_products_usable());
}

void gemm(int64_t m, int64_t n, int64_t k, const MatrixRef& a, const PackedB& b,
          const GemmOutput& out) {
  internal_check(b.k_ == k && b.n_ == n, "gemm: the packed matrix has another shape");
  internal_check(b.type_ == a.type, "gemm: the packed matrix has another type");
  const size_t width = b.bf16_ ? kBf16Cols : HWY_DYNAMIC_DISPATCH(PanelWidth)();
  internal_check(b.width_ == width, "gemm: the matrix was packed for another processor");
  Product q = make_product(m, n, k, a, out);
  q.panels = b.storage_.get();
  run(q, b.bf16_, [&](int worker, int workers) {
    if (workers == 1 || m > kRowsThatWaitForWeights) return;
    const auto w = static_cast<size_t>(worker), count = static_cast<size_t>(workers);
    const size_t begin = b.block_bytes_ * w / count, end = b.block_bytes_ * (w + 1) / count;
    begin_to_read(worker, b.storage_, static_cast<const char*>(b.storage_.get()) + begin,
                  end - begin);
  });
}

void expanded_gemm(int64_t m, const MatrixRef& a, std::span<const CodePanels* const> parts,
                   const GemmOutput& out) {
  int64_t column = 0;
  for (const CodePanels* part : parts) {
    const auto n = static_cast<int64_t>(part->n);
    Product q = make_product(m, n, static_cast<int64_t>(part->k), a, out.from_column(column));
    q.codes = part;
    run(q, a.type == Type::kBf16 && bf16_products_usable());
    column += n;
  }
}

GemmOutput GemmOutput::from_column(int64_t j) const {
  const auto moved = [&](const void* base, Type of) -> const void* {
    if (base == nullptr) return nullptr;
    return static_cast<const char*>(base) + j * (of == Type::kF32 ? 4 : 2);
  };
  GemmOutput to = *this;
  to.c = const_cast<void*>(moved(c, type));
  to.bias = moved(bias, bias_type);
  to.pre_activation = const_cast<void*>(moved(pre_activation, type));
  to.residual = moved(residual, type);
  return to;
}

void batched_gemm(int64_t count, int64_t m, int64_t n, int64_t k, const MatrixRef& a,
                  const MatrixRef& b, const GemmOutput& out, const BatchStrides& strides) {
  const auto moved = [](const void* base, Type type, int64_t elements) -> const void* {
    if (base == nullptr) return nullptr;
    return static_cast<const char*>(base) + elements * (type == Type::kF32 ? 4 : 2);
  };
  const auto one = [&](int64_t i) {
    MatrixRef ai = a, bi = b;
    GemmOutput to = out;
    ai.data = moved(a.data, a.type, i * strides.a);
    bi.data = moved(b.data, b.type, i * strides.b);
    to.c = const_cast<void*>(moved(out.c, out.type, i * strides.c));
    to.pre_activation = const_cast<void*>(moved(out.pre_activation, out.type, i * strides.c));
    to.bias = moved(out.bias, out.bias_type, i * strides.bias);
    to.residual = moved(out.residual, out.type, i * strides.residual);
    gemm(m, n, k, ai, bi, to);
  };
  if (count >= num_threads())
    parallel_tasks(count, one);  // each product then runs on its thread alone
  else
    for (int64_t i = 0; i < count; ++i) one(i);
}

}  // namespace glassformer::cpu
#endif
