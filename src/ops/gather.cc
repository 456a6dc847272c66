#include "glassformer/ops/gather.h"

#include "glassformer/ops/view.h"
#include "kernels/copy.h"
#include "kernels/gather.h"
#include "ops/common.h"
#include "tensor/shape_format.h"

namespace glassformer {
namespace {

// What is before an axis, and what is after it.
struct Around {
  int64_t outer = 1, inner = 1;
};
Around around(const Shape& shape, int axis) {
  Around sizes;
  for (int i = 0; i < axis; ++i) sizes.outer *= shape[i];
  for (int i = axis + 1; i < shape.rank(); ++i) sizes.inner *= shape[i];
  return sizes;
}

using Forward = Kernel<void(const Tensor&, const Tensor&, const Tensor&)>;

// [outer, size, inner] by `index` → y's shape; the backward gives dx of x's shape.
Tensor pick(const Forward& forward, const Forward& backward, const Tensor& x_in, int axis,
            const Tensor& index_in, const Shape& shape) {
  const Tensor x = contiguous(x_in);
  const Tensor index = contiguous(cast(index_in, DType::kInt64));
  const auto [outer, inner] = around(x.shape(), axis);
  const Shape from{outer, x.shape()[axis], inner}, to{outer, shape[axis], inner};
  Tensor y = empty(shape, x.options());
  call(forward, x.view(from, contiguous_strides(from), x.offset()), index,
       y.view(to, contiguous_strides(to), 0));
  if (needs_grad(x))
    record(forward.name, {x}, {y},
           [&backward, index, from, to, back = x.shape()](const std::vector<Tensor>& dy_in) {
             const Tensor dy = contiguous(dy_in[0]);
             Tensor dx = empty(back, dy.options());
             call(backward, dy.view(to, contiguous_strides(to), dy.offset()), index,
                  dx.view(from, contiguous_strides(from), 0));
             return std::vector{dx};
           });
  return y;
}

}  // namespace

Tensor index_select(const Tensor& x, int axis_in, const Tensor& ids) {
  check_min_rank("index_select", "x", x, 1);
  check_index_type("index_select", "ids", ids);
  check_rank("index_select", "ids", ids, 1);
  check_same_device("index_select", {{"x", x}, {"ids", ids}});
  const int axis = normalize_axis("index_select", axis_in, x.rank());
  return pick(kSelectRows, kSelectRowsBackward, x, axis, ids, x.shape().with(axis, ids.count()));
}

Tensor gather_rows(const Tensor& x, const Tensor& ids) {
  check_min_rank("gather_rows", "x", x, 1);
  check_index_type("gather_rows", "ids", ids);
  check_same_device("gather_rows", {{"x", x}, {"ids", ids}});
  Shape shape = ids.shape();
  for (int i = 1; i < x.rank(); ++i) shape.push_back(x.shape()[i]);
  return reshape(index_select(x, 0, reshape(ids, {ids.count()})), shape);
}

Tensor gather(const Tensor& x_in, int axis_in, const Tensor& index) {
  check_min_rank("gather", "x", x_in, 1);
  check_index_type("gather", "index", index);
  check_rank("gather", "index", index, x_in.rank());
  check_same_device("gather", {{"x", x_in}, {"index", index}});
  const int axis = normalize_axis("gather", axis_in, x_in.rank());
  Tensor x = x_in;
  for (int i = 0; i < x.rank(); ++i) {
    if (i == axis) continue;
    require<ShapeError>(index.shape()[i] <= x.shape()[i],
                        "gather: expected index no larger than x of shape {} but along axis {}, "
                        "found shape {}",
                        x_in.shape(), axis, index.shape());
    if (index.shape()[i] < x.shape()[i]) x = slice(x, i, 0, index.shape()[i]);
  }
  return pick(kGather, kGatherBackward, x, axis, index, index.shape());
}

Tensor concatenate(const std::vector<Tensor>& tensors, int axis_in) {
  require<ValueError>(!tensors.empty(), "concatenate: expected at least one tensor, found none");
  const Tensor& first = tensors.front();
  check_min_rank("concatenate", "tensors[0]", first, 1);
  const int axis = normalize_axis("concatenate", axis_in, first.rank());
  Shape shape = first.shape().with(axis, 0);
  for (size_t i = 0; i < tensors.size(); ++i) {
    const std::string name = fmt::format("tensors[{}]", i);
    check_rank("concatenate", name.c_str(), tensors[i], first.rank());
    check_same_device("concatenate", {{"tensors[0]", first}, {name.c_str(), tensors[i]}});
    check_same_dtype("concatenate", {{"tensors[0]", first}, {name.c_str(), tensors[i]}});
    const int64_t here = tensors[i].shape()[axis];
    check_shape("concatenate", name.c_str(), tensors[i], first.shape().with(axis, here));
    shape[axis] += here;
  }
  Tensor y = empty(shape, first.options());
  std::vector<int64_t> starts{0};
  bool needed = false;
  for (const Tensor& x : tensors) {
    const int64_t offset = x.count() == 0 ? 0 : starts.back() * y.strides()[axis];
    call(kCopy, x, y.view(x.shape(), y.strides(), offset));
    starts.push_back(starts.back() + x.shape()[axis]);
    needed |= needs_grad(x);
  }
  if (needed)
    record("concatenate", tensors, {y}, [axis, starts](const std::vector<Tensor>& dy) {
      std::vector<Tensor> pieces;
      for (size_t i = 0; i + 1 < starts.size(); ++i)
        pieces.push_back(slice(dy[0], axis, starts[i], starts[i + 1]));
      return pieces;
    });
  return y;
}

Tensor stack(const std::vector<Tensor>& tensors, int axis) {
  require<ValueError>(!tensors.empty(), "stack: expected at least one tensor, found none");
  std::vector<Tensor> slices;
  for (size_t i = 0; i < tensors.size(); ++i) {
    check_defined("stack", fmt::format("tensors[{}]", i).c_str(), tensors[i]);
    check_shape("stack", fmt::format("tensors[{}]", i).c_str(), tensors[i], tensors[0].shape());
    slices.push_back(unsqueeze(tensors[i], axis));
  }
  return concatenate(slices, normalize_axis("stack", axis, tensors[0].rank() + 1));
}

}  // namespace glassformer
