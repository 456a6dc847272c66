#include "glassformer/ops/view.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "glassformer/ops/create.h"
#include "glassformer/ops/reduce.h"
#include "kernels/strided_loop.h"
#include "ops/common.h"
#include "tensor/shape_format.h"

namespace glassformer {
namespace {

// Strides under which `x` reads as `shape` without a copy, if there are any: walking both from the
// last axis, every new axis must lie inside a run of x's axes that is contiguous in itself.
std::optional<Strides> strides_for(const Tensor& x, const Shape& shape) {
  struct Run {
    int64_t count, stride;
  };
  std::vector<Run> runs;  // last first
  for (int axis = x.rank() - 1; axis >= 0; --axis) {
    const int64_t size = x.shape()[axis], stride = x.strides()[axis];
    if (size == 1) continue;
    if (!runs.empty() && stride == runs.back().stride * runs.back().count) {
      runs.back().count *= size;
    } else {
      runs.push_back({size, stride});
    }
  }
  Strides strides = Dims::filled(shape.rank(), 1);
  int next = shape.rank() - 1;
  for (const Run& run : runs) {
    int64_t taken = 1;
    for (; next >= 0 && taken * shape[next] <= run.count; --next) {
      strides[next] = run.stride * taken;
      taken *= shape[next];
    }
    if (taken != run.count) return std::nullopt;
  }
  return strides;
}

Shape resolve(const Tensor& x, Shape shape) {
  int64_t known = 1;
  int open = -1;
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[i] == -1 && open < 0) {
      open = i;
    } else {
      require<ShapeError>(shape[i] >= 0,
                          "reshape: expected sizes of at least 0 and one -1, found {}", shape);
      known *= shape[i];
    }
  }
  if (open >= 0 && known > 0 && x.count() % known == 0) shape[open] = x.count() / known;
  require<ShapeError>((open < 0 || shape[open] >= 0) && count_of(shape) == x.count(),
                      "reshape: expected a shape of {} elements like {}, found {}", x.count(),
                      x.shape(), shape);
  return shape;
}

}  // namespace

Tensor transpose(const Tensor& x, int axis_a, int axis_b) {
  check_defined("transpose", "x", x);
  std::vector<int> axes(static_cast<size_t>(x.rank()));
  std::iota(axes.begin(), axes.end(), 0);
  std::swap(axes[static_cast<size_t>(normalize_axis("transpose", axis_a, x.rank()))],
            axes[static_cast<size_t>(normalize_axis("transpose", axis_b, x.rank()))]);
  return permute(x, axes);
}

Tensor permute(const Tensor& x, const std::vector<int>& axes) {
  check_defined("permute", "x", x);
  require<ShapeError>(static_cast<int>(axes.size()) == x.rank(),
                      "permute: expected {} axes for shape {}, found {}", x.rank(), x.shape(),
                      axes.size());
  Shape shape;
  Strides strides;
  std::vector<int> back(axes.size(), -1);
  for (size_t i = 0; i < axes.size(); ++i) {
    const int axis = normalize_axis("permute", axes[i], x.rank());
    require<ShapeError>(back[static_cast<size_t>(axis)] < 0,
                        "permute: expected every axis once, found {} twice", axis);
    back[static_cast<size_t>(axis)] = static_cast<int>(i);
    shape.push_back(x.shape()[axis]);
    strides.push_back(x.strides()[axis]);
  }
  Tensor y = x.view(shape, strides, x.offset());
  if (needs_grad(x))
    record("permute", {x}, {y},
           [back](const std::vector<Tensor>& dy) { return std::vector{permute(dy[0], back)}; });
  return y;
}

Tensor slice(const Tensor& x, int axis, int64_t begin, int64_t end, int64_t step) {
  check_defined("slice", "x", x);
  axis = normalize_axis("slice", axis, x.rank());
  require<ValueError>(step >= 1, "slice: expected a step of at least 1, found {}", step);
  const int64_t size = x.shape()[axis];
  begin = std::clamp<int64_t>(begin < 0 ? begin + size : begin, 0, size);
  end = std::clamp<int64_t>(end < 0 ? end + size : end, begin, size);
  const int64_t length = (end - begin + step - 1) / step;
  const int64_t start = length == 0 ? x.offset() : x.offset() + begin * x.strides()[axis];
  Tensor y =
      x.view(x.shape().with(axis, length), x.strides().with(axis, x.strides()[axis] * step), start);
  if (needs_grad(x))
    record("slice", {x}, {y},
           [shape = x.shape(), axis, begin, end, step](const std::vector<Tensor>& dy) {
             Tensor dx = zeros(shape, dy[0].options());
             copy_(slice(dx, axis, begin, end, step), dy[0]);
             return std::vector{dx};
           });
  return y;
}

Tensor select(const Tensor& x, int axis, int64_t index) {
  check_defined("select", "x", x);
  axis = normalize_axis("select", axis, x.rank());
  const int64_t size = x.shape()[axis];
  require<IndexError>(index >= -size && index < size,
                      "select: expected an index from {} to {} for axis {} of {}, found {}", -size,
                      size - 1, axis, x.shape(), index);
  const int64_t at = index < 0 ? index + size : index;
  return squeeze(slice(x, axis, at, at + 1), axis);
}

Tensor unsqueeze(const Tensor& x, int axis) {
  check_defined("unsqueeze", "x", x);
  axis = normalize_axis("unsqueeze", axis, x.rank() + 1);
  Tensor y = x.view(x.shape().inserted(axis, 1), x.strides().inserted(axis, 1), x.offset());
  if (needs_grad(x))
    record("unsqueeze", {x}, {y},
           [axis](const std::vector<Tensor>& dy) { return std::vector{squeeze(dy[0], axis)}; });
  return y;
}

Tensor squeeze(const Tensor& x, int axis) {
  check_defined("squeeze", "x", x);
  axis = normalize_axis("squeeze", axis, x.rank());
  require<ShapeError>(x.shape()[axis] == 1,
                      "squeeze: expected size 1 at axis {} of shape {}, found {}", axis, x.shape(),
                      x.shape()[axis]);
  Tensor y = x.view(x.shape().without(axis), x.strides().without(axis), x.offset());
  if (needs_grad(x))
    record("squeeze", {x}, {y},
           [axis](const std::vector<Tensor>& dy) { return std::vector{unsqueeze(dy[0], axis)}; });
  return y;
}

Tensor expand(const Tensor& x, const Shape& shape) {
  check_defined("expand", "x", x);
  if (x.shape() == shape) return x;
  const Shape both = broadcast_shapes("expand", x.shape(), shape);
  require<ShapeError>(both == shape, "expand: expected a shape that {} broadcasts to, found {}",
                      x.shape(), shape);
  Tensor y = x.view(shape, broadcast_strides(x, shape), x.offset());
  if (needs_grad(x))
    record("expand", {x}, {y}, [from = x.shape()](const std::vector<Tensor>& dy) {
      return std::vector{sum_to(dy[0], from)};
    });
  return y;
}

Tensor reshape(const Tensor& x, const Shape& shape_in) {
  check_defined("reshape", "x", x);
  if (shape_in == x.shape()) return x;
  const Shape shape = resolve(x, shape_in);
  if (shape == x.shape()) return x;
  const std::optional<Strides> strides =
      x.is_contiguous() || x.count() == 0 ? contiguous_strides(shape) : strides_for(x, shape);
  if (!strides) return reshape(contiguous(x), shape);
  Tensor y = x.view(shape, *strides, x.offset());
  if (needs_grad(x))
    record("reshape", {x}, {y}, [from = x.shape()](const std::vector<Tensor>& dy) {
      return std::vector{reshape(dy[0], from)};
    });
  return y;
}

Tensor flatten(const Tensor& x, int first_axis, int last_axis) {
  check_defined("flatten", "x", x);
  if (x.rank() == 0) return reshape(x, {1});
  const int first = normalize_axis("flatten", first_axis, x.rank());
  const int last = normalize_axis("flatten", last_axis, x.rank());
  Shape shape;
  int64_t run = 1;
  for (int i = 0; i < x.rank(); ++i) {
    if (i < first || i > last) {
      shape.push_back(x.shape()[i]);
    } else {
      run *= x.shape()[i];
      if (i == last) shape.push_back(run);
    }
  }
  return reshape(x, shape);
}

std::vector<Tensor> split(const Tensor& x, int axis, const std::vector<int64_t>& sizes) {
  check_defined("split", "x", x);
  axis = normalize_axis("split", axis, x.rank());
  std::vector<Tensor> pieces;
  int64_t begin = 0;
  for (int64_t size : sizes) {
    require<ShapeError>(size >= 0 && size <= x.shape()[axis] - begin,
                        "split: expected sizes that add up to {}, found {} at {}", x.shape()[axis],
                        size, begin);
    pieces.push_back(slice(x, axis, begin, begin + size));
    begin += size;
  }
  require<ShapeError>(begin == x.shape()[axis],
                      "split: expected sizes that add up to {}, found a sum of {}", x.shape()[axis],
                      begin);
  return pieces;
}

std::vector<Tensor> chunk(const Tensor& x, int axis, int count) {
  check_defined("chunk", "x", x);
  const int64_t size = x.size(axis);
  require<ShapeError>(count >= 1 && size % count == 0,
                      "chunk: expected a count that divides {} evenly, found {}", size, count);
  return split(x, axis, std::vector<int64_t>(static_cast<size_t>(count), size / count));
}

}  // namespace glassformer
