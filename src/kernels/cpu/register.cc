#include "kernels/cpu/register.h"

#include "kernels/backends.h"
#include "kernels/ref/register.h"

namespace glassformer {

void register_cpu_kernels() {
  ref::register_all(Device::kCpu);  // what follows replaces all that the fast kernels cover
#define GLASSFORMER_REGISTER(name) cpu::register_##name();
  GLASSFORMER_CPU_KERNELS(GLASSFORMER_REGISTER)
#undef GLASSFORMER_REGISTER
}

}  // namespace glassformer
