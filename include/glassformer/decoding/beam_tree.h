#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace glassformer {

// Every continuation that a search looked at, kept or not: what the explorer draws.
struct BeamTree {
  enum class Fate : uint8_t {
    kKept,      // lived on; where no node has it as parent, nothing that followed was good enough
    kFinished,  // became a result, or was one until better ones came
    kDropped    // was among the best, but not of the num_beams best
  };
  struct Node {
    int32_t parent;     // index of a node, or -1: follows the prompt
    int32_t step;       // new tokens before it
    int32_t group;      // of beams; of sampled sequences, which
    int32_t token;      // id
    float token_score;  // log-probability
    float score;        // sum up to here; of a finished one, as results have it
    Fate fate;
  };
  std::vector<Node> nodes;       // in the order of steps, best first within a step and group
  std::vector<int32_t> results;  // the last node of each result, best first
};

// {"nodes": [{"parent", "step", "group", "token", "token_score", "score", "fate"}, ...],
//  "results": [...]}, fates as "kept", "finished" and "dropped".
std::string to_json(const BeamTree& tree);

}  // namespace glassformer
