#include "base/nearest.h"

#include <vector>

#include <gtest/gtest.h>

namespace glassformer {
namespace {

TEST(Nearest, NamesTheClosestFirst) {
  const std::vector<std::string_view> names{"h.0.attn.weight", "h.1.attn.weight", "h.0.attn.bias",
                                            "embedding", "h.0.mlp.weight"};
  EXPECT_EQ(nearest_hint("h.0.atn.weight", names),
            ", the nearest are 'h.0.attn.weight', 'h.1.attn.weight' and 'h.0.mlp.weight'");
  EXPECT_EQ(nearest_hint("embeding", names), ", the nearest is 'embedding'");
  EXPECT_EQ(nearest_hint("zzz", names), "");
  EXPECT_EQ(nearest_hint("", {}), "");
}

}  // namespace
}  // namespace glassformer
