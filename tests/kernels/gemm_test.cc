// The product against a naive double-precision one, over sizes around every tile edge, all layouts
// and types, and every step of the epilogue. All memory around the operands is NaN, so that a read
// out of range shows in the result, and all memory around the results is checked.
#include "kernels/cpu/gemm.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include "base/cpu_info.h"
#include "base/parallel.h"
#include "glassformer/base/threads.h"
#include "kernels/cpu/bf16_tile.h"

namespace glassformer::cpu {
namespace {

// ------------------------------------------------------------------------------------ matrices

uint16_t to_bf16(double x) {
  const float wide = static_cast<float>(x);
  uint32_t bits;
  std::memcpy(&bits, &wide, sizeof(bits));
  if (std::isnan(wide)) return static_cast<uint16_t>((bits >> 16) | 0x40);
  return static_cast<uint16_t>((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
}

double from_bf16(uint16_t x) {
  const uint32_t bits = static_cast<uint32_t>(x) << 16;
  float wide;
  std::memcpy(&wide, &bits, sizeof(wide));
  return wide;
}

enum class Layout { kRows, kColumns, kBothStrided };

// rows × columns in a buffer of NaN, one element past an aligned address: the least alignment a
// matrix can have.
class Matrix {
 public:
  Matrix(int64_t rows, int64_t columns, Type type, Layout layout = Layout::kRows)
      : rows_(rows), columns_(columns), type_(type) {
    constexpr int64_t kPad = 3;
    row_stride_ =
        layout == Layout::kColumns ? 1 : columns * (layout == Layout::kRows ? 1 : 2) + kPad;
    col_stride_ = layout == Layout::kRows ? 1 : layout == Layout::kColumns ? rows + kPad : 2;
    const int64_t last = (rows - 1) * row_stride_ + (columns - 1) * col_stride_;
    size_ = kGuard + std::max<int64_t>(last, 0) + kGuard;
    if (type == Type::kF32)
      f32_.assign(static_cast<size_t>(size_), std::numeric_limits<float>::quiet_NaN());
    else
      bf16_.assign(static_cast<size_t>(size_), 0x7FC0);
  }

  Matrix& randomize(unsigned seed) {
    std::mt19937 generator(seed);
    std::normal_distribution<double> normal;
    for (int64_t i = 0; i < rows_; ++i)
      for (int64_t j = 0; j < columns_; ++j) set(i, j, normal(generator));
    return *this;
  }

  // The same numbers in another layout.
  Matrix as(Layout layout) const {
    Matrix other(rows_, columns_, type_, layout);
    for (int64_t i = 0; i < rows_; ++i)
      for (int64_t j = 0; j < columns_; ++j) other.set(i, j, get(i, j));
    return other;
  }

  double get(int64_t i, int64_t j) const {
    const auto at = static_cast<size_t>(index(i, j));
    return type_ == Type::kF32 ? f32_[at] : from_bf16(bf16_[at]);
  }
  void set(int64_t i, int64_t j, double x) {
    const auto at = static_cast<size_t>(index(i, j));
    if (type_ == Type::kF32)
      f32_[at] = static_cast<float>(x);
    else
      bf16_[at] = to_bf16(x);
  }

  void* data() { return const_cast<void*>(std::as_const(*this).data()); }
  const void* data() const {
    if (type_ == Type::kF32) return f32_.data() + kGuard;
    return bf16_.data() + kGuard;
  }
  const void* row(int64_t i) const {
    const size_t bytes = static_cast<size_t>(i * row_stride_) * (type_ == Type::kF32 ? 4 : 2);
    return static_cast<const char*>(data()) + bytes;
  }
  MatrixRef ref() const { return {data(), type_, row_stride_, col_stride_}; }
  int64_t pitch() const { return row_stride_; }
  Type type() const { return type_; }
  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }

  // Whether everything outside the matrix is the NaN it was.
  bool guards_intact() const {
    std::vector<bool> inside(static_cast<size_t>(size_), false);
    for (int64_t i = 0; i < rows_; ++i)
      for (int64_t j = 0; j < columns_; ++j) inside[static_cast<size_t>(index(i, j))] = true;
    for (size_t at = 0; at < inside.size(); ++at) {
      if (inside[at]) continue;
      uint32_t bits = 0;
      if (type_ == Type::kF32)
        std::memcpy(&bits, &f32_[at], sizeof(bits));
      else
        bits = static_cast<uint32_t>(bf16_[at]) << 16;
      if (bits != 0x7FC00000U) return false;
    }
    return true;
  }

  // The same bits in the matrix and around it.
  friend bool operator==(const Matrix& a, const Matrix& b) {
    return a.bf16_ == b.bf16_ && a.f32_.size() == b.f32_.size() &&
           (a.f32_.empty() ||
            std::memcmp(a.f32_.data(), b.f32_.data(), a.f32_.size() * sizeof(float)) == 0);
  }

 private:
  static constexpr int64_t kGuard = 65;
  int64_t index(int64_t i, int64_t j) const { return kGuard + i * row_stride_ + j * col_stride_; }

  int64_t rows_, columns_;
  Type type_;
  int64_t row_stride_, col_stride_, size_;
  std::vector<float> f32_;
  std::vector<uint16_t> bf16_;
};

// ------------------------------------------------------------------------------------ oracle

double activate(Activation activation, double z) {
  switch (activation) {
    case Activation::kNone: return z;
    case Activation::kRelu: return z < 0 ? 0 : z;  // NaN stays
    case Activation::kGelu: return 0.5 * z * std::erfc(-z / std::sqrt(2.0));
    case Activation::kGeluTanh:
      return z / (1 + std::exp(-2 * std::sqrt(2 / M_PI) * (z + 0.044715 * z * z * z)));
    case Activation::kSilu: return z / (1 + std::exp(-z));
    case Activation::kSigmoid: return 1 / (1 + std::exp(-z));
    case Activation::kTanh: return std::tanh(z);
  }
  return 0;
}

constexpr Activation kActivations[] = {
    Activation::kNone, Activation::kRelu,    Activation::kGelu, Activation::kGeluTanh,
    Activation::kSilu, Activation::kSigmoid, Activation::kTanh};

// What a call is given and gives.
struct Case {
  Matrix a, b, c;
  Matrix bias{1, 0, Type::kF32}, residual{0, 0, Type::kF32}, pre_activation{0, 0, Type::kF32};
  bool accumulate = false;
  Activation activation = Activation::kNone;

  Case(int64_t m, int64_t n, int64_t k, Type a_type = Type::kF32, Type b_type = Type::kF32,
       Type c_type = Type::kF32)
      : a(m, k, a_type), b(k, n, b_type), c(m, n, c_type) {
    a.randomize(1);
    b.randomize(2);
  }
  int64_t m() const { return c.rows(); }
  int64_t n() const { return c.columns(); }
  int64_t k() const { return a.columns(); }

  void add_bias(Type type) { bias = Matrix(1, n(), type).randomize(3); }
  void add_residual() { residual = Matrix(m(), n(), c.type()).randomize(4); }
  void add_pre_activation() { pre_activation = Matrix(m(), n(), c.type()); }
  void add_accumulate() {
    c.randomize(5);
    accumulate = true;
  }

  GemmOutput output(Matrix& to, Matrix& pre) const {
    GemmOutput out;
    out.c = to.data();
    out.type = to.type();
    out.ldc = to.pitch();
    out.accumulate = accumulate;
    if (bias.columns() != 0) out.bias = bias.data();
    out.bias_type = bias.type();
    out.activation = activation;
    if (pre.columns() != 0) out.pre_activation = pre.data();
    if (residual.columns() != 0) out.residual = residual.data();
    out.ld_residual = residual.pitch();
    return out;
  }

  struct Result {
    Matrix c, pre_activation;
    friend bool operator==(const Result&, const Result&) = default;
  };
  Result run() const { return run(a, b); }
  Result run(const Matrix& a_as, const Matrix& b_as) const {
    Result result{c, pre_activation};
    gemm(m(), n(), k(), a_as.ref(), b_as.ref(), output(result.c, result.pre_activation));
    return result;
  }
  Result run_packed() const {
    Result result{c, pre_activation};
    gemm(m(), n(), k(), a.ref(), pack_b(k(), n(), b.ref()),
         output(result.c, result.pre_activation));
    return result;
  }

  // Errors are held against what rounding can do to the terms of an element, not against the
  // element, which may cancel. Largest found over this file, in units of Σ|a·b| + |c| + |bias|:
  // 2.9e-7 in f32 (where there is no fused multiply-add), 0.8e-7 in bfloat16, whose products are
  // exact. GELU's slope of 1.13 comes on top.
  static constexpr double kSumTolerance = 6e-7;
  // Of the result: f32 activations are good to 2.5 ulps and an absolute 1e-7; bfloat16 rounds once.
  static double tolerance(Type type, double value, double terms) {
    const double rounding = type == Type::kF32 ? 3.0e-7 : 0x1p-8;
    return 1.2 * kSumTolerance * terms + rounding * std::abs(value) + 1e-7;
  }

  void expect_right(const Result& result) const {
    EXPECT_TRUE(result.c.guards_intact());
    EXPECT_TRUE(result.pre_activation.guards_intact());
    for (int64_t i = 0; i < m(); ++i)
      for (int64_t j = 0; j < n(); ++j) {
        double z = accumulate ? c.get(i, j) : 0, terms = std::abs(z);
        for (int64_t p = 0; p < k(); ++p) {
          z += a.get(i, p) * b.get(p, j);
          terms += std::abs(a.get(i, p) * b.get(p, j));
        }
        if (bias.columns() != 0) {
          z += bias.get(0, j);
          terms += std::abs(bias.get(0, j));
        }
        if (pre_activation.columns() != 0) {
          ASSERT_NEAR(result.pre_activation.get(i, j), z, tolerance(c.type(), z, terms))
              << "pre-activation at " << i << ", " << j;
        }
        double y = activate(activation, z);
        if (residual.columns() != 0) {
          y += residual.get(i, j);
          terms += std::abs(residual.get(i, j));
        }
        ASSERT_NEAR(result.c.get(i, j), y, tolerance(c.type(), y, terms))
            << "at " << i << ", " << j;
      }
  }
};

struct Types {
  Type a, b, c;
};
constexpr Types kTypes[] = {{Type::kF32, Type::kF32, Type::kF32},
                            {Type::kBf16, Type::kBf16, Type::kBf16},
                            {Type::kBf16, Type::kBf16, Type::kF32},
                            {Type::kF32, Type::kBf16, Type::kF32},
                            {Type::kBf16, Type::kF32, Type::kBf16}};
constexpr Layout kLayouts[] = {Layout::kRows, Layout::kColumns, Layout::kBothStrided};

// Every test runs on each instruction set this processor has, best first.
class GemmTest : public ::testing::TestWithParam<int64_t> {
 protected:
  void SetUp() override {
    hwy::SetSupportedTargetsForTest(GetParam());
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
  void TearDown() override {
    set_num_threads(threads_);
    hwy::SetSupportedTargetsForTest(0);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }

 private:
  const int threads_ = num_threads();
};

std::vector<int64_t> targets_of_this_processor() {
  std::vector<int64_t> targets;
  for (int64_t rest = hwy::SupportedTargets() & HWY_TARGETS; rest != 0; rest &= rest - 1)
    targets.push_back(rest & -rest);
  return targets;
}
INSTANTIATE_TEST_SUITE_P(Targets, GemmTest, ::testing::ValuesIn(targets_of_this_processor()),
                         [](const auto& info) { return hwy::TargetName(info.param); });

// ------------------------------------------------------------------------------------ values

TEST_P(GemmTest, SizesAroundTileEdges) {
  constexpr int64_t kSizes[] = {0, 1, 2, 3, 15, 16, 17, 31, 32, 33, 63, 64, 65, 257};
  constexpr int64_t kFew[] = {0, 1, 17, 65};
  for (const Types& types : {kTypes[0], kTypes[1]})
    for (const int64_t big : kSizes)
      for (const int64_t x : kFew)
        for (const int64_t y : kFew)
          for (const auto& [m, n, k] : {std::array{big, x, y}, {x, big, y}, {x, y, big}}) {
            SCOPED_TRACE(::testing::Message() << m << " x " << n << " x " << k);
            const Case problem(m, n, k, types.a, types.b, types.c);
            const auto result = problem.run();
            problem.expect_right(result);
            EXPECT_TRUE(problem.run_packed() == result);
          }
}

TEST_P(GemmTest, SeveralBlocksOfEverything) {
  // More rows than one block of A, more columns than one block of sums, several blocks of k.
  for (const Types& types : kTypes)
    for (const auto& [m, n, k] : {std::array<int64_t, 3>{70, 1100, 600}, {800, 70, 1030}}) {
      const Case problem(m, n, k, types.a, types.b, types.c);
      const auto result = problem.run();
      problem.expect_right(result);
      if (types.a == types.b) {
        EXPECT_TRUE(problem.run_packed() == result);
      }
    }
}

TEST_P(GemmTest, LayoutsDoNotChangeABit) {
  for (const Types& types : kTypes)
    for (const auto& [m, n, k] : {std::array<int64_t, 3>{37, 70, 90}, {5, 33, 300}, {1, 40, 64}}) {
      Case problem(m, n, k, types.a, types.b, types.c);
      const auto result = problem.run();
      problem.expect_right(result);
      for (const Layout a : kLayouts)
        for (const Layout b : kLayouts)
          EXPECT_TRUE(problem.run(problem.a.as(a), problem.b.as(b)) == result);
    }
}

TEST_P(GemmTest, Epilogues) {
  for (const Types& types : kTypes)
    for (const Activation activation : kActivations)
      for (const int steps : {0, 1, 2, 3, 4, 5, 6, 7}) {
        Case problem(19, 43, 300, types.a, types.b, types.c);
        problem.activation = activation;
        if (steps & 1) problem.add_bias(steps & 2 ? Type::kBf16 : Type::kF32);
        if (steps & 2) problem.add_residual();
        if (steps & 4) problem.add_pre_activation();
        if (steps & 4 && types.c == Type::kF32) problem.add_accumulate();
        SCOPED_TRACE(::testing::Message() << "activation " << static_cast<int>(activation));
        const auto result = problem.run();
        problem.expect_right(result);
        if (types.a == types.b) {
          EXPECT_TRUE(problem.run_packed() == result);
        }
      }
}

TEST_P(GemmTest, ResidualMayBeC) {
  for (const Types& types : kTypes) {
    Case problem(19, 43, 600, types.a, types.b, types.c);
    problem.activation = Activation::kRelu;
    problem.add_residual();
    Case::Result result{problem.residual, problem.pre_activation};
    GemmOutput out = problem.output(result.c, result.pre_activation);
    out.residual = out.c;
    gemm(problem.m(), problem.n(), problem.k(), problem.a.ref(), problem.b.ref(), out);
    problem.expect_right(result);
  }
}

TEST_P(GemmTest, NoTermsLeaveBiasAndAccumulation) {
  for (const Types& types : {kTypes[0], kTypes[1]}) {
    Case problem(5, 40, 0, types.a, types.b, types.c);
    problem.add_bias(Type::kF32);
    if (types.c == Type::kF32) problem.add_accumulate();
    problem.expect_right(problem.run());
    problem.expect_right(problem.run_packed());
  }
}

// The activations over their whole range, through products with one.
TEST_P(GemmTest, ActivationsOverTheirRange) {
  constexpr int64_t kPoints = 4001;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const Activation activation : kActivations) {
    Case problem(1, kPoints, 1);
    problem.activation = activation;
    problem.a.set(0, 0, 1);
    for (int64_t j = 0; j < kPoints; ++j)
      problem.b.set(0, j, std::pow(static_cast<double>(j - kPoints / 2) / 432, 3));  // ±100
    problem.expect_right(problem.run());
    for (const double x : {kInfinity, -kInfinity, std::nan("")}) {
      for (int64_t j = 0; j < kPoints; ++j) problem.b.set(0, j, x);
      const double y = problem.run().c.get(0, 7), want = activate(activation, x);
      EXPECT_TRUE(std::isnan(want) ? std::isnan(y) : y == want)
          << "activation " << static_cast<int>(activation) << " of " << x << " is " << y;
    }
  }
}

TEST_P(GemmTest, NanStaysInItsRowAndColumn) {
  for (const Types& types : kTypes) {
    Case problem(37, 45, 70, types.a, types.b, types.c);
    problem.a.set(3, 69, std::nan(""));
    problem.b.set(0, 44, std::numeric_limits<double>::infinity());
    const auto result = problem.run();
    for (int64_t i = 0; i < problem.m(); ++i)
      for (int64_t j = 0; j < problem.n(); ++j)
        EXPECT_EQ(std::isfinite(result.c.get(i, j)), i != 3 && j != 44);
  }
}

// ------------------------------------------------------------------------------------ bits

TEST_P(GemmTest, ThreadsDoNotChangeABit) {
  for (const Types& types : kTypes)
    for (const auto& [m, n, k] :
         {std::array<int64_t, 3>{100, 200, 600}, {3, 500, 700}, {300, 32, 512}}) {
      Case problem(m, n, k, types.a, types.b, types.c);
      problem.add_bias(Type::kF32);
      problem.activation = Activation::kGelu;
      set_num_threads(1);
      const auto alone = problem.run();
      problem.expect_right(alone);
      for (const int threads : {2, 3, 7}) {
        set_num_threads(threads);
        EXPECT_TRUE(problem.run() == alone) << threads << " threads";
        if (types.a == types.b) {
          EXPECT_TRUE(problem.run_packed() == alone) << threads << " threads";
        }
      }
    }
}

TEST_P(GemmTest, RowsDoNotKnowHowManyTheyAre) {
  for (const Types& types : {kTypes[0], kTypes[1], kTypes[2]}) {
    const Case problem(37, 75, 600, types.a, types.b, types.c);
    const PackedB packed = pack_b(problem.k(), problem.n(), problem.b.ref());
    const auto all = problem.run();
    for (const int64_t rows : {1, 2, 5, 13, 33})
      for (const int64_t first : {0L, 3L, problem.m() - rows}) {
        Case some(rows, problem.n(), problem.k(), types.a, types.b, types.c);
        Matrix in_place = some.c, from_packed = some.c, none(0, 0, types.c), want = some.c;
        MatrixRef a = problem.a.ref();
        a.data = problem.a.row(first);
        gemm(rows, some.n(), some.k(), a, problem.b.ref(), some.output(in_place, none));
        gemm(rows, some.n(), some.k(), a, packed, some.output(from_packed, none));
        for (int64_t i = 0; i < rows; ++i)
          for (int64_t j = 0; j < some.n(); ++j) want.set(i, j, all.c.get(first + i, j));
        EXPECT_TRUE(in_place == want) << rows << " rows from " << first;
        EXPECT_TRUE(from_packed == want) << rows << " rows from " << first;
      }
  }
}

TEST_P(GemmTest, BatchesAreProductsOneByOne) {
  constexpr int64_t kCount = 5, m = 9, n = 37, k = 40;
  for (const Types& types : kTypes)
    for (const bool shared_b : {false, true})
      for (const int threads : {1, 3, 8}) {
        set_num_threads(threads);
        // The products of a batch lie below each other.
        Case stack(kCount * m, n, k, types.a, types.b, types.c);
        stack.add_residual();
        stack.add_bias(Type::kBf16);
        stack.add_pre_activation();
        const Matrix b = Matrix(kCount * k, n, types.b).randomize(7);
        Matrix c = stack.c, pre = stack.pre_activation;
        const BatchStrides strides{.a = m * stack.a.pitch(),
                                   .b = shared_b ? 0 : k * b.pitch(),
                                   .c = m * stack.c.pitch(),
                                   .residual = m * stack.residual.pitch()};
        batched_gemm(kCount, m, n, k, stack.a.ref(), b.ref(), stack.output(c, pre), strides);
        EXPECT_TRUE(c.guards_intact() && pre.guards_intact());
        for (int64_t i = 0; i < kCount; ++i) {
          Case one(m, n, k, types.a, types.b, types.c);
          one.bias = stack.bias;
          one.add_residual();
          one.add_pre_activation();
          for (int64_t r = 0; r < m; ++r) {
            for (int64_t p = 0; p < k; ++p) one.a.set(r, p, stack.a.get(i * m + r, p));
            for (int64_t j = 0; j < n; ++j)
              one.residual.set(r, j, stack.residual.get(i * m + r, j));
          }
          for (int64_t p = 0; p < k; ++p)
            for (int64_t j = 0; j < n; ++j) one.b.set(p, j, b.get((shared_b ? 0 : i * k) + p, j));
          const auto result = one.run();
          one.expect_right(result);
          for (int64_t r = 0; r < m; ++r)
            for (int64_t j = 0; j < n; ++j) {
              EXPECT_EQ(c.get(i * m + r, j), result.c.get(r, j));
              EXPECT_EQ(pre.get(i * m + r, j), result.pre_activation.get(r, j));
            }
        }
      }
}

// ------------------------------------------------------------------------------------ bfloat16 as
// it is

TEST(Bf16TileTest, PacksF32AsRoundedBf16) {
  if (!bf16_products_usable()) GTEST_SKIP() << "bfloat16 is not multiplied as it is";
  for (const auto& [k, n] : {std::array<int64_t, 2>{64, 64}, {33, 5}, {100, 70}, {1, 1}})
    for (const Layout layout : kLayouts) {
      Matrix wide = Matrix(k, n, Type::kF32, layout).randomize(8);
      wide.set(k - 1, n - 1, std::nan(""));
      Matrix narrow(k, n, Type::kBf16, layout);
      for (int64_t p = 0; p < k; ++p)
        for (int64_t j = 0; j < n; ++j) narrow.set(p, j, wide.get(p, j));
      const auto rows = static_cast<size_t>(k), columns = static_cast<size_t>(n);
      std::vector<uint16_t> from_wide(bf16_packed_size(rows, columns)), from_narrow = from_wide;
      const MatrixRef w = wide.ref(), s = narrow.ref();
      bf16_pack_panels(static_cast<const float*>(w.data), w.row_stride, w.col_stride, rows, columns,
                       from_wide.data());
      bf16_pack_panels(static_cast<const uint16_t*>(s.data), s.row_stride, s.col_stride, rows,
                       columns, from_narrow.data());
      EXPECT_EQ(from_wide, from_narrow);
    }
}

TEST(Bf16TileTest, AccumulatesOntoC) {
  if (!bf16_products_usable()) GTEST_SKIP() << "bfloat16 is not multiplied as it is";
  for (const auto& [m, n, k] : {std::array<int64_t, 3>{40, 40, 40}, {1, 33, 64}, {17, 31, 5}}) {
    Case problem(m, n, k, Type::kBf16, Type::kBf16);
    problem.add_accumulate();
    const auto rows = static_cast<size_t>(m), columns = static_cast<size_t>(n);
    const auto depth = static_cast<size_t>(k);
    std::vector<uint16_t> panels(bf16_packed_size(depth, columns));
    const MatrixRef b = problem.b.ref();
    bf16_pack_panels(static_cast<const uint16_t*>(b.data), b.row_stride, b.col_stride, depth,
                     columns, panels.data());
    Case::Result result{problem.c, problem.pre_activation};
    const Bf16Scope outer;
    {
      const Bf16Scope inner;
      bf16_tile_product(rows, columns, depth, static_cast<const uint16_t*>(problem.a.data()),
                        static_cast<size_t>(problem.a.pitch()), panels.data(),
                        static_cast<float*>(result.c.data()), static_cast<size_t>(result.c.pitch()),
                        true);
    }
    problem.expect_right(result);
  }
}

}  // namespace
}  // namespace glassformer::cpu
