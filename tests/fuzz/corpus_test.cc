// Every fuzz target over its corpus and mutations of it, as ordinary tests.

#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "fuzz/fuzz_target.h"
#include "glassformer/base/random.h"
#include "support/temporary_folder.h"

namespace glassformer::testing {
namespace {

namespace fs = std::filesystem;

// Bytes in a block of their own, so that a sanitizer sees a read past their end.
void send(const FuzzTarget& target, const std::string& input) {
  const std::vector<char> block(input.begin(), input.end());
  run_fuzz_body(target.body, std::as_bytes(std::span(block)));
}

// `count` copies of `input` with up to four bytes changed: flipped bits, or bytes that counts and
// sizes stumble over.
void send_mutations(const FuzzTarget& target, const std::string& input, uint64_t count) {
  constexpr std::array<char, 4> kOdd{'\0', '\x7f', '\x80', '\xff'};
  for (uint64_t i = 0; i < count; ++i) {
    std::string changed = input;
    for (uint64_t change = 0; change <= i % 4; ++change) {
      const auto random = philox({i, input.size()}, change);
      char& byte = changed[random[0] % changed.size()];
      byte = random[1] % 2 == 0 ? static_cast<char>(byte ^ (1 << random[2] % 8))
                                : kOdd[random[2] % kOdd.size()];
    }
    send(target, changed);
  }
}

TEST(Fuzz, CorpusAndMutations) {
  ASSERT_FALSE(fuzz_targets().empty());
  for (const FuzzTarget& target : fuzz_targets()) {
    const fs::path folder = fs::path(GLASSFORMER_FIXTURES_DIR) / "../fuzz/corpus" / target.name;
    ASSERT_TRUE(fs::is_directory(folder) && !fs::is_empty(folder)) << "no corpus: " << folder;
    for (const auto& entry : fs::directory_iterator(folder)) {
      SCOPED_TRACE(entry.path());
      const std::string input = read_bytes(entry.path());
      EXPECT_NO_THROW(send(target, input));
      const size_t step = input.size() / 2048 + 1;  // of small inputs, every length
      for (size_t size = 0; size < input.size(); size += step)
        EXPECT_NO_THROW(send(target, input.substr(0, size))) << "cut to " << size;
      ASSERT_FALSE(input.empty());
      EXPECT_NO_THROW(send_mutations(target, input, 100));
    }
  }
}

}  // namespace
}  // namespace glassformer::testing
