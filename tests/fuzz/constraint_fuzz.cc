#include <algorithm>

#include "decoding/automaton.h"
#include "decoding/json_schema.h"
#include "decoding/regex_pattern.h"
#include "fuzz/fuzz_target.h"

using glassformer::Automaton;

// A text that begins with '{' is a JSON schema, any other a regular expression. The automaton is
// then led some way through the bytes that it takes.
FUZZ_TARGET(constraint) {
  const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  Automaton automaton(text.starts_with('{') ? glassformer::parse_json_schema(text)
                                            : glassformer::parse_regex(text));
  int32_t state = automaton.start();
  for (int step = 0; step < 64; ++step) {
    int32_t next = Automaton::kDead;
    for (int byte = 0; byte < 256; ++byte) {
      const int32_t reached = automaton.next(state, static_cast<uint8_t>(byte));
      if (reached != Automaton::kDead && (next == Automaton::kDead || byte % 7 == step % 7))
        next = reached;
    }
    if (next == Automaton::kDead) return;
    state = next;
  }
}
