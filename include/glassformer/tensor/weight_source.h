#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "glassformer/tensor/quantised.h"

namespace glassformer {

// How a weight starts where nothing was trained yet.
struct Initial {
  enum class Kind : uint8_t { kZeros, kOnes, kNormal, kUniform };
  Kind kind = Kind::kZeros;
  double scale = 0;  // kNormal: the standard deviation; kUniform: from -scale to scale
};

// A matrix [out, in] of a layer as its source has it: numbers, or codes that stand for them, and
// how they are to be multiplied. Numbers may lie in another type than they are computed in, so that
// what is packed or looked up row by row is not held twice.
struct WeightMatrix {
  Tensor tensor = {};
  QuantisedTensor quantised = {};  // defined in place of the tensor
  DType dtype = DType::kFloat32;   // that it is computed in
  bool int8_activations = false;   // and whether the input of a quantised one is quantised too

  static WeightMatrix of(Tensor numbers) {
    const DType dtype = numbers.dtype();
    return {.tensor = std::move(numbers), .dtype = dtype};
  }

  bool defined() const { return tensor.defined() || quantised.defined(); }
  int64_t rows() const { return tensor.defined() ? tensor.size(0) : quantised.rows; }
  TensorOptions options() const {
    return {dtype, tensor.defined() ? tensor.device() : quantised.device()};
  }
};

// What is trained in place of a matrix [out, in] that stays as it is (LoRA, Hu et al. 2021): the
// layer multiplies by weight + scale · b · a, a [rank, in], b [out, rank].
struct LowRank {
  Tensor a = {}, b = {};
  double scale = 1;
  double dropout = 0;  // of what meets a, in training

  bool defined() const { return a.defined(); }
};

// Where a layer's weights come from: a file, or a generator. Layers do not know which: loading a
// weight and initialising one are the same call.
class WeightSource {
 public:
  virtual ~WeightSource() = default;
  virtual bool contains(const std::string& name) const = 0;
  // The weight called `name`. Throws FileError where it is missing or has another shape.
  virtual Tensor get(const std::string& name, const Shape& shape, const Initial& initial) = 0;
  // The same for a matrix that may stay quantised.
  virtual WeightMatrix matrix(const std::string& name, const Shape& shape, const Initial& initial) {
    return WeightMatrix::of(get(name, shape, initial));
  }
  // What is trained beside the matrix `name` of a linear layer; undefined where nothing is.
  virtual LowRank low_rank(const std::string& /*name*/, const Shape& /*shape*/) { return {}; }
};

}  // namespace glassformer
