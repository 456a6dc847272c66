#include "glassformer/tensor/dtype.h"

#include "base/check.h"

namespace glassformer {

DType dtype_from_name(std::string_view name) {
  for (size_t i = 0; i < kDTypeInfo.size(); ++i)
    if (kDTypeInfo[i].name == name) return static_cast<DType>(i);
  throw ValueError(
      fmt::format("dtype: expected float32, bfloat16, float16, float64, int8, int32, "
                  "int64 or bool, found \"{}\"",
                  name));
}

}  // namespace glassformer
