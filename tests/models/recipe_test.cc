#include "models/recipe.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "glassformer/base/error.h"
#include "support/throws.h"

namespace glassformer::testing {
namespace {

namespace fs = std::filesystem;

// config.json of every fixture.
std::vector<std::pair<std::string, Json>> configurations() {
  std::vector<std::pair<std::string, Json>> all;
  for (const auto& folder : fs::directory_iterator(fs::path(GLASSFORMER_FIXTURES_DIR) / "models"))
    all.emplace_back(folder.path().filename().string(), read_json(folder.path() / "config.json"));
  return all;
}

// A size that no model has is one error, which comes before any memory is asked for.
TEST(Recipes, RefuseHostileSizes) {
  const Json hostile[] = {0, -1, 1000000000000, INT64_MAX, INT64_MIN, UINT64_MAX, 1.5, 1e300, "8"};
  int refused = 0;
  for (const auto& [name, config] : configurations()) {
    for (const char* field : {"num_hidden_layers",
                              "n_layers",
                              "n_layer",
                              "num_layers",
                              "num_decoder_layers",
                              "encoder_layers",
                              "decoder_layers",
                              "num_encoder_layers",
                              "hidden_size",
                              "n_embd",
                              "dim",
                              "d_model",
                              "num_attention_heads",
                              "n_heads",
                              "n_head",
                              "num_heads",
                              "nhead",
                              "vocab_size",
                              "num_key_value_heads",
                              "head_dim",
                              "intermediate_size",
                              "max_position_embeddings"}) {
      if (!config.contains(field) || config[field].is_null()) continue;
      for (const Json& value : hostile) {
        Json changed = config;
        changed[field] = value;
        // A family need not read a field; one that it reads is named.
        try {
          make_recipe(JsonFields(changed, "config.json"));
        } catch (const Error& error) {
          ++refused;
          EXPECT_NE(std::string(error.what()).find("config.json"), std::string::npos);
        }
      }
    }
  }
  EXPECT_GT(refused, 1500);
  const Json layers = {{"model_type", "bert"}, {"num_hidden_layers", 1000000}};
  expect_throws<ValueError>([&] { make_recipe(JsonFields(layers, "config.json")); },
                            {"num_hidden_layers", "from 1 to 10000", "found 1000000"});
}

// As Hugging Face's class: unlike its relatives it does not share the width among the heads.
TEST(Recipes, Qwen3HasHeadsOf128UnlessItSaysOtherwise) {
  Json config = read_json(fs::path(GLASSFORMER_FIXTURES_DIR) / "models/qwen3/config.json");
  config.erase("head_dim");
  const Recipe recipe = make_recipe(JsonFields(config, "config.json"));
  EXPECT_EQ(recipe.spec.decoder->blocks.front().self_attention.head_size, 128);
}

}  // namespace
}  // namespace glassformer::testing
