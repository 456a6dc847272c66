#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "cli/generation_flags.h"
#include "cli/interrupt.h"
#include "cli/model_options.h"
#include "glassformer/decoding/engine.h"
#include "glassformer/decoding/token_vocabulary.h"

namespace glassformer {

// What `generate` and `translate` have in common: the options of a run, and how results are shown.
struct GenerationRunOptions {
  ModelOptions model;
  GenerationFlags flags;
  std::string ids, tree, draft;
  int64_t draft_tokens = 4;
  bool json = false;

  void add_to(CLI::App& command);
};

// A model with its tokenizers (none where only ids come and go) and options, ready to run.
class GenerationRun {
 public:
  explicit GenerationRun(const GenerationRunOptions& options);

  const Model& model() const { return model_; }
  const GenerationOptions& defaults() const { return defaults_; }
  const Tokenizer& source_tokenizer() const;
  // One request each. --ids in place of texts.
  std::vector<GenerationRequest> requests_from_ids() const;
  GenerationRequest request(const TokenIds& ids) const;

  // Runs them, with a progress bar, until Ctrl-C.
  std::vector<GenerationResult> run(std::vector<GenerationRequest> requests,
                                    const Interrupt& interrupt, const char* what) const;

  // The text of a result, up to the stop string that ended it.
  std::string text_of(const Hypothesis& hypothesis) const;
  // {"sequences": [{"ids", "text", "score", "token_scores", "finish_reason"}]}
  Json json_of(const GenerationResult& result) const;
  // Writes the trees of all results where that was asked for.
  void write_trees(const std::vector<GenerationResult>& results) const;
  const std::optional<Tokenizer>& target_tokenizer() const { return target_; }

 private:
  const GenerationRunOptions& options_;
  Model model_;
  std::optional<Tokenizer> source_, target_;
  GenerationOptions defaults_;
  std::optional<TokenVocabulary> vocabulary_;
  std::shared_ptr<const Model> draft_;
};

}  // namespace glassformer
