#include "fuzz/fuzz_target.h"
#include "fuzz/stored.h"
#include "glassformer/checkpoint/gguf.h"

namespace {

// `read`, where the key may hold a value of another kind.
template <class F>
void try_to(F&& read) {
  try {
    read();
  } catch (const glassformer::FileError&) {  // NOLINT(bugprone-empty-catch)
  }
}

}  // namespace

FUZZ_TARGET(gguf) {
  const glassformer::GgufFile file(glassformer::testing::storage_of(bytes), "input");
  for (const std::string& key : file.keys()) {
    try_to([&] { file.number(key); });
    try_to([&] { file.integer(key); });
    try_to([&] { file.text(key); });
    try_to([&] { file.booleans(key); });
    try_to([&] { file.integers(key); });
    try_to([&] { file.texts(key); });
  }
  for (const glassformer::StoredTensor& tensor : file.tensors())
    try_to([&] { file.blocks(tensor.name); });
  glassformer::testing::read_everything(file);
}
