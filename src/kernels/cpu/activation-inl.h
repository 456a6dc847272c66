// The activations as types, for kernels that are compiled for each.
//
// Included once per Highway target, so the guard flips with it.

#if defined(GLASSFORMER_KERNELS_CPU_ACTIVATION_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GLASSFORMER_KERNELS_CPU_ACTIVATION_INL_H_
#undef GLASSFORMER_KERNELS_CPU_ACTIVATION_INL_H_
#else
#define GLASSFORMER_KERNELS_CPU_ACTIVATION_INL_H_
#endif

#include <hwy/highway.h>

#include "glassformer/tensor/activation.h"
#include "kernels/cpu/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace glassformer::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class D>
HWY_INLINE hn::Vec<D> Identity(D /*d*/, hn::Vec<D> x) {
  return x;
}
template <class D>
HWY_INLINE hn::Vec<D> IdentityGradient(D d, hn::Vec<D> /*x*/) {
  return hn::Set(d, 1.0f);
}

// Value<T>(d, x) and Gradient<T>(d, x) of one activation, for results that are stored as T.
#define GLASSFORMER_ACTIVATION(name, value, gradient)          \
  struct name {                                                \
    template <class T, class D>                                \
    static HWY_INLINE hn::Vec<D> Value(D d, hn::Vec<D> x) {    \
      return value(d, x);                                      \
    }                                                          \
    template <class T, class D>                                \
    static HWY_INLINE hn::Vec<D> Gradient(D d, hn::Vec<D> x) { \
      return gradient(d, x);                                   \
    }                                                          \
  }
GLASSFORMER_ACTIVATION(NoneFunction, Identity, IdentityGradient);
GLASSFORMER_ACTIVATION(ReluFunction, Relu, ReluGradient);
GLASSFORMER_ACTIVATION(GeluFunction, GeluExact<T>, GeluExactGradient<T>);
GLASSFORMER_ACTIVATION(GeluTanhFunction, GeluTanh<T>, GeluTanhGradient<T>);
GLASSFORMER_ACTIVATION(SiluFunction, Silu, SiluGradient);
GLASSFORMER_ACTIVATION(SigmoidFunction, Sigmoid, SigmoidGradient);
GLASSFORMER_ACTIVATION(TanhFunction, Tanh, TanhGradient);
#undef GLASSFORMER_ACTIVATION

// body(function) with the activation's type.
template <class F>
HWY_INLINE void VisitActivation(Activation activation, F&& body) {
  switch (activation) {
    case Activation::kRelu: return body(ReluFunction());
    case Activation::kGelu: return body(GeluFunction());
    case Activation::kGeluTanh: return body(GeluTanhFunction());
    case Activation::kSilu: return body(SiluFunction());
    case Activation::kSigmoid: return body(SigmoidFunction());
    case Activation::kTanh: return body(TanhFunction());
    case Activation::kNone: break;
  }
  body(NoneFunction());
}

}  // namespace HWY_NAMESPACE
}  // namespace glassformer::cpu
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
