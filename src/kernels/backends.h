#pragma once

namespace glassformer {

// Each fills in its column of the table. The table calls them before its first look-up.
void register_ref_kernels();
void register_cpu_kernels();

}  // namespace glassformer
