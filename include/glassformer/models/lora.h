#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace glassformer {

// Low-rank adaptation (Hu et al. 2021): every weight stays as it is but for pairs of small matrices
// beside the targets, a [rank, in], which starts uniform within ±1/√in as PEFT's does, and
// b [out, rank], which starts at zero: weight + alpha / rank · b · a.
struct LoraOptions {
  int64_t rank = 8;
  double alpha = 8;
  double dropout = 0;            // of what meets a
  bool rank_stabilised = false;  // alpha / √rank in place of alpha / rank (Kalajdzievski 2023)
  // Linear layers, by the end of their name in Hugging Face ("query", "q_proj", "mlp.c_proj") or
  // of ours ("self_attention.query").
  std::vector<std::string> targets = {};
  // Modules that are trained as a whole, by the end of their name in Hugging Face ("classifier"):
  // PEFT's modules_to_save.
  std::vector<std::string> also_trained = {};
  uint64_t seed = 0;  // of the start of a
};

}  // namespace glassformer
