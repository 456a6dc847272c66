#pragma once

#include <hwy/base.h>

#include "base/cpu_info.h"
#include "kernels/access.h"
#include "kernels/table.h"

namespace glassformer::cpu {

// The types that fast kernels read and write; all arithmetic between is float32.
// f(T*) with Highway's type for the tensor's dtype. The op's registration has let in no other.
template <class F>
HWY_INLINE void visit_memory_type(DType dtype, F&& f) {
  switch (dtype) {
    case DType::kBFloat16: return f(static_cast<hwy::bfloat16_t*>(nullptr));
    case DType::kFloat16: return f(static_cast<hwy::float16_t*>(nullptr));
    default: return f(static_cast<float*>(nullptr));
  }
}

// Adds one function that visits these types itself.
template <class... Args>
void add_fast(const Kernel<void(Args...)>& kernel,
              std::type_identity_t<void (*)(Args...)> function) {
  for (DType dtype : {DType::kFloat32, DType::kBFloat16, DType::kFloat16})
    add_kernel(kernel, Device::kCpu, dtype, function);
}

// Kernels ask for every vector they write.
inline const bool kHasBf16Conversion = avx512_bf16_usable();

// Results that the next op will not find in the cache anyway are written past it.
inline bool worth_streaming(int64_t bytes) { return bytes >= int64_t{16} << 20; }

// Rows worth waking a thread for.
inline int64_t row_grain(int64_t width) { return 16384 / (width + 1) + 1; }

}  // namespace glassformer::cpu
