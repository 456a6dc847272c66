// What follows a product while its sums are still in cache: bias, activation, residual.
// Included once per Highway target, so the guard flips with it.

#if defined(GLASSFORMER_KERNELS_CPU_EPILOGUE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GLASSFORMER_KERNELS_CPU_EPILOGUE_INL_H_
#undef GLASSFORMER_KERNELS_CPU_EPILOGUE_INL_H_
#else
#define GLASSFORMER_KERNELS_CPU_EPILOGUE_INL_H_
#endif

#include <hwy/highway.h>

#include "glassformer/tensor/activation.h"
#include "kernels/cpu/math-inl.h"
#include "kernels/cpu/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace glassformer::cpu {
namespace HWY_NAMESPACE {

template <Activation kActivation, class D>
HWY_INLINE hn::Vec<D> Activate(D d, hn::Vec<D> z) {
  if constexpr (kActivation == Activation::kRelu) return Relu(d, z);
  if constexpr (kActivation == Activation::kGelu) return GeluExact(d, z);
  if constexpr (kActivation == Activation::kGeluTanh) return GeluTanh(d, z);
  if constexpr (kActivation == Activation::kSilu) return Silu(d, z);
  if constexpr (kActivation == Activation::kSigmoid) return Sigmoid(d, z);
  if constexpr (kActivation == Activation::kTanh) return Tanh(d, z);
  return z;
}

// A tile of finished sums and where its results go; T is the type of C.
template <class T>
struct TileOutput {
  const float* sums;
  size_t ld_sums;
  const float* bias;  // of the first column, or null
  T* c;
  bool add_c;  // the old C is one of the terms
  T* pre_activation;
  size_t ldc;
  const T* residual;
  size_t ld_residual;
};

// The columns of a tile from `first` on: two vectors of them, one, or (kVectors = 0) the `columns`
// that are fewer. Apart, so that the many constants of an activation stay in registers over all
// rows; two at a time, so that what there is to do is asked half as often.
template <Activation kActivation, size_t kVectors, class T>
HWY_NOINLINE void FinishColumns(size_t rows, size_t first, size_t columns,
                                const TileOutput<T>& to) {
  const hn::ScalableTag<float> d;
  constexpr size_t kParts = kVectors == 0 ? 1 : kVectors;
  using Vectors = hn::Vec<decltype(d)>[kParts];
  // Copies that the stores below cannot change. Field by field: the compiler would copy the whole
  // in vectors, which wait until what the caller has just written field by field is in the cache,
  // and that until all stores before it are, such as those of tiles that are still being
  // multiplied.
  const float* const all_sums = to.sums;
  const float* const bias = to.bias;
  T* const all_c = to.c;
  T* const pre_activation = to.pre_activation;
  const T* const residual = to.residual;
  const size_t ld_sums = to.ld_sums, ldc = to.ldc, ld_residual = to.ld_residual;
  const bool add_c = to.add_c;
  const auto add = [&](const auto* p, Vectors& z) HWY_ATTR {
    for (size_t v = 0; v < kParts; ++v)
      z[v] = hn::Add(z[v], kVectors == 0 ? LoadF32N(d, p, columns) : LoadF32(d, p + v * kLanes));
  };
  const auto store = [&](const Vectors& z, T* p) HWY_ATTR {
    if constexpr (kVectors == 0) StoreF32N(z[0], d, p, columns);
    if constexpr (kVectors == 1) StoreF32(z[0], d, p);
    if constexpr (kVectors == 2) StoreTwoF32(z[0], z[1], d, p);
  };
  for (size_t i = 0; i < rows; ++i) {
    const float* sums = all_sums + i * ld_sums + first;
    T* c = all_c + i * ldc + first;
    Vectors z;
    for (size_t v = 0; v < kParts; ++v)
      z[v] = kVectors == 0 ? LoadF32N(d, sums, columns) : LoadF32(d, sums + v * kLanes);
    if (add_c) add(c, z);
    if (bias) add(bias + first, z);
    if (pre_activation) store(z, pre_activation + i * ldc + first);
    for (auto& one : z) one = Activate<kActivation>(d, one);
    if (residual) add(residual + i * ld_residual + first, z);
    store(z, c);
  }
}

template <Activation kActivation, class T>
void FinishTile(size_t rows, size_t columns, const TileOutput<T>& out) {
  size_t j = 0;
  for (; j + 2 * kLanes <= columns; j += 2 * kLanes)
    FinishColumns<kActivation, 2>(rows, j, columns, out);
  if (j + kLanes <= columns) {
    FinishColumns<kActivation, 1>(rows, j, columns, out);
    j += kLanes;
  }
  if (j < columns) FinishColumns<kActivation, 0>(rows, j, columns - j, out);
}

template <class T>
void Finish(Activation activation, size_t rows, size_t columns, const TileOutput<T>& out) {
  switch (activation) {
    case Activation::kNone: return FinishTile<Activation::kNone>(rows, columns, out);
    case Activation::kRelu: return FinishTile<Activation::kRelu>(rows, columns, out);
    case Activation::kGelu: return FinishTile<Activation::kGelu>(rows, columns, out);
    case Activation::kGeluTanh: return FinishTile<Activation::kGeluTanh>(rows, columns, out);
    case Activation::kSilu: return FinishTile<Activation::kSilu>(rows, columns, out);
    case Activation::kSigmoid: return FinishTile<Activation::kSigmoid>(rows, columns, out);
    case Activation::kTanh: return FinishTile<Activation::kTanh>(rows, columns, out);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace glassformer::cpu
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
