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

// The columns of a tile from `first` on: whole vectors, or the part of one that is left. Apart, so
// that the many constants of an activation stay in registers over all rows.
template <Activation kActivation, bool kWhole, class T>
HWY_NOINLINE void FinishColumns(size_t rows, size_t first, size_t columns,
                                const TileOutput<T>& to) {
  const hn::ScalableTag<float> d;
  const TileOutput<T> out = to;  // a copy that the stores below cannot change
  const auto load = [&](const auto* p) HWY_ATTR {
    if constexpr (kWhole)
      return LoadF32(d, p);
    else
      return LoadF32N(d, p, columns - first);
  };
  const auto store = [&](hn::Vec<decltype(d)> v, T* p) HWY_ATTR {
    if constexpr (kWhole)
      StoreF32(v, d, p);
    else
      StoreF32N(v, d, p, columns - first);
  };
  for (size_t i = 0; i < rows; ++i)
    for (size_t j = first; j < columns; j += kLanes) {
      auto z = load(out.sums + i * out.ld_sums + j);
      if (out.add_c) z = hn::Add(load(out.c + i * out.ldc + j), z);
      if (out.bias) z = hn::Add(z, load(out.bias + j));
      if (out.pre_activation) store(z, out.pre_activation + i * out.ldc + j);
      auto y = Activate<kActivation>(d, z);
      if (out.residual) y = hn::Add(y, load(out.residual + i * out.ld_residual + j));
      store(y, out.c + i * out.ldc + j);
    }
}

template <Activation kActivation, class T>
void FinishTile(size_t rows, size_t columns, const TileOutput<T>& out) {
  const size_t whole = columns / kLanes * kLanes;
  if (whole != 0) FinishColumns<kActivation, true>(rows, 0, whole, out);
  if (whole != columns) FinishColumns<kActivation, false>(rows, whole, columns, out);
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
