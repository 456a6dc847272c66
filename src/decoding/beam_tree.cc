#include "glassformer/decoding/beam_tree.h"

#include "base/json.h"

namespace glassformer {

std::string to_json(const BeamTree& tree) {
  static constexpr const char* kFates[] = {"kept", "finished", "dropped"};
  Json nodes = Json::array();
  for (const BeamTree::Node& node : tree.nodes)
    nodes.push_back({{"parent", node.parent},
                     {"step", node.step},
                     {"group", node.group},
                     {"token", node.token},
                     {"token_score", node.token_score},
                     {"score", node.score},
                     {"fate", kFates[static_cast<size_t>(node.fate)]}});
  return Json{{"nodes", std::move(nodes)}, {"results", tree.results}}.dump();
}

}  // namespace glassformer
