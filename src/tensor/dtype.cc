#include "glassformer/tensor/dtype.h"

#include <array>

#include "base/check.h"

namespace glassformer {
namespace {

struct Info {
  std::string_view name;
  size_t size;
  bool floating;
};
constexpr std::array<Info, kDTypeCount> kInfo{{{"float32", 4, true},
                                               {"float64", 8, true},
                                               {"bfloat16", 2, true},
                                               {"float16", 2, true},
                                               {"int8", 1, false},
                                               {"int32", 4, false},
                                               {"int64", 8, false},
                                               {"bool", 1, false}}};
const Info& info(DType dtype) { return kInfo[static_cast<size_t>(dtype)]; }

}  // namespace

size_t size_of(DType dtype) { return info(dtype).size; }
std::string_view name_of(DType dtype) { return info(dtype).name; }
DType dtype_from_name(std::string_view name) {
  for (size_t i = 0; i < kInfo.size(); ++i)
    if (kInfo[i].name == name) return static_cast<DType>(i);
  throw ValueError(
      fmt::format("dtype: expected float32, bfloat16, float16, float64, int8, int32, "
                  "int64 or bool, found \"{}\"",
                  name));
}
bool is_floating(DType dtype) { return info(dtype).floating; }

}  // namespace glassformer
