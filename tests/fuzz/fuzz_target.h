#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "glassformer/base/error.h"

// One file a parser: NAME_fuzz.cc with
//
//   FUZZ_TARGET(name) { parse(bytes); }
//
// and a few small inputs in corpus/name/. The body gets `bytes`, a std::span<const std::byte>. It
// may throw an Error, which is how a parser refuses its input; anything else that goes wrong is
// found. `make fuzz` runs the target under libFuzzer with the address and undefined-behaviour
// sanitizers; the tests send the corpus and mutations of it through the same body.

namespace glassformer::testing {

using FuzzBody = void (*)(std::span<const std::byte>);

// The body, where refusing the input is fine.
inline void run_fuzz_body(FuzzBody body, std::span<const std::byte> bytes) {
  try {
    body(bytes);
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch): refused, as it may be
  }
}

struct FuzzTarget {
  std::string_view name;
  FuzzBody body;
};

#ifdef GLASSFORMER_FUZZ

#define FUZZ_TARGET(name)                                                                   \
  static void fuzz_##name(std::span<const std::byte> bytes);                                \
  extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, size_t size) {           \
    glassformer::testing::run_fuzz_body(fuzz_##name, std::as_bytes(std::span(data, size))); \
    return 0;                                                                               \
  }                                                                                         \
  static void fuzz_##name(std::span<const std::byte> bytes)

#else

// Every target that is linked in.
inline std::vector<FuzzTarget>& fuzz_targets() {
  static std::vector<FuzzTarget> targets;
  return targets;
}

#define FUZZ_TARGET(name)                                                           \
  static void fuzz_##name(std::span<const std::byte> bytes);                        \
  static const bool kIsListed_##name =                                              \
      (glassformer::testing::fuzz_targets().push_back({#name, fuzz_##name}), true); \
  static void fuzz_##name(std::span<const std::byte> bytes)

#endif

}  // namespace glassformer::testing
