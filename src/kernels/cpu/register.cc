#include "kernels/cpu/register.h"

#include <hwy/targets.h>

#include "base/cpu_info.h"
#include "kernels/backends.h"
#include "kernels/ref/register.h"

namespace glassformer {

namespace {

// Before the first kernel runs: Highway then chooses for good. The better a target, the lower its
// bit.
void leave_out_targets() {
#if HWY_ARCH_X86
  if (avx512_turned_off()) hwy::DisableTargets(HWY_AVX3 | (HWY_AVX3 - 1));
  if (avx2_turned_off()) hwy::DisableTargets(HWY_AVX2 | (HWY_AVX2 - 1));
#endif
}

}  // namespace

void register_cpu_kernels() {
  leave_out_targets();
  ref::register_all(Device::kCpu);  // what follows replaces all that the fast kernels cover
#define GLASSFORMER_REGISTER(name) cpu::register_##name();
  GLASSFORMER_CPU_KERNELS(GLASSFORMER_REGISTER)
#undef GLASSFORMER_REGISTER
}

}  // namespace glassformer
