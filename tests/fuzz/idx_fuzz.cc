// Any bytes are an IDX array of the rank that is asked for, or a FileError.

#include "fuzz/fuzz_target.h"
#include "training/data/idx.h"

FUZZ_TARGET(idx) {
  const int rank = bytes.size() > 3 ? static_cast<int>(bytes[3]) % 4 : 1;
  glassformer::read_idx(glassformer::source_of(bytes), "input", rank);
}
