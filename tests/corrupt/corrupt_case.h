#pragma once

#include <ostream>
#include <string>

#include "glassformer/base/error.h"
#include "glassformer/tensor/stored_tensors.h"
#include "support/temporary_folder.h"
#include "support/throws.h"

namespace glassformer::testing {

// A malformed file, and what the message about it must say.
struct CorruptCase {
  const char* fault;
  std::string content;
};

inline void PrintTo(const CorruptCase& c, std::ostream* out) { *out << c.fault; }

// Expects that opening it as a File, or getting one of its tensors, throws one FileError that names
// the file and the fault.
template <class File>
void expect_refused(const CorruptCase& c) {
  const TemporaryFolder folder;
  write_bytes(folder / "bad", c.content);
  expect_throws<FileError>(
      [&] {
        const File file(folder / "bad");
        for (const StoredTensor& tensor : file.tensors()) file.get(tensor.name);
      },
      {"/bad: ", c.fault});
}

}  // namespace glassformer::testing
