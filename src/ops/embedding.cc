#include "glassformer/ops/embedding.h"

#include "kernels/embedding.h"
#include "ops/common.h"

namespace glassformer {

Tensor embedding(const Tensor& weight_in, const Tensor& ids_in,
                 std::optional<int64_t> padding_idx) {
  constexpr const char* kOp = "embedding";
  check_floating(kOp, "weight", weight_in);
  check_rank(kOp, "weight", weight_in, 2);
  check_index_type(kOp, "ids", ids_in);
  check_same_device(kOp, {{"weight", weight_in}, {"ids", ids_in}});
  require<IndexError>(!padding_idx || (*padding_idx >= 0 && *padding_idx < weight_in.size(0)),
                      "{}: expected padding_idx from 0 to {}, found {}", kOp, weight_in.size(0) - 1,
                      padding_idx.value_or(0));
  const Tensor weight = contiguous(weight_in);
  const Tensor ids = contiguous(cast(ids_in, DType::kInt64));
  Shape shape = ids.shape();
  shape.push_back(weight.size(1));
  Tensor y = empty(shape, weight.options());
  call(kEmbedding, weight, ids, y);
  if (needs_grad(weight))
    record(kOp, {weight}, {y},
           [keep_ids = SavedTensor(kOp, ids), shape = weight.shape(),
            padding_idx](const std::vector<Tensor>& dy) {
             Tensor dweight = empty(shape, dy[0].options());
             call(kEmbeddingBackward, contiguous(dy[0]), keep_ids.get(), dweight,
                  padding_idx.value_or(-1));
             return std::vector{dweight};
           });
  return y;
}

}  // namespace glassformer
