#include "kernels/ref/register.h"

#include "kernels/backends.h"

namespace glassformer {

void ref::register_all(Device device) {
#define GLASSFORMER_REGISTER(name) register_##name(device);
  GLASSFORMER_REF_KERNELS(GLASSFORMER_REGISTER)
#undef GLASSFORMER_REGISTER
}

void register_ref_kernels() { ref::register_all(Device::kRef); }

}  // namespace glassformer
