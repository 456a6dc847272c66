#pragma once

#include "glassformer/tensor/tensor.h"

namespace glassformer {

// Element by element, broadcast by NumPy's rule; both of one floating dtype and device.
Tensor add(const Tensor& a, const Tensor& b);
Tensor subtract(const Tensor& a, const Tensor& b);
Tensor multiply(const Tensor& a, const Tensor& b);
Tensor divide(const Tensor& a, const Tensor& b);

Tensor affine(const Tensor& x, double scale, double shift);  // scale * x + shift

inline Tensor operator+(const Tensor& a, const Tensor& b) { return add(a, b); }
inline Tensor operator-(const Tensor& a, const Tensor& b) { return subtract(a, b); }
inline Tensor operator*(const Tensor& a, const Tensor& b) { return multiply(a, b); }
inline Tensor operator/(const Tensor& a, const Tensor& b) { return divide(a, b); }
inline Tensor operator+(const Tensor& x, double value) { return affine(x, 1, value); }
inline Tensor operator-(const Tensor& x, double value) { return affine(x, 1, -value); }
inline Tensor operator*(const Tensor& x, double value) { return affine(x, value, 0); }
inline Tensor operator/(const Tensor& x, double value) { return affine(x, 1 / value, 0); }
inline Tensor operator*(double value, const Tensor& x) { return affine(x, value, 0); }
inline Tensor operator-(const Tensor& x) { return affine(x, -1, 0); }

// In place, off the tape.
void add_(const Tensor& into, const Tensor& x);
void scale_(const Tensor& into, double scale);

}  // namespace glassformer
