#include "glassformer/tensor/dtype.h"

#include <array>

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
bool is_floating(DType dtype) { return info(dtype).floating; }

}  // namespace glassformer
