// Any bytes are an image or a FileError.

#include "fuzz/fuzz_target.h"
#include "glassformer/image/image.h"

FUZZ_TARGET(image) { glassformer::decode_image(bytes, "input"); }
