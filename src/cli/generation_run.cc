#include "cli/generation_run.h"

#include "base/atomic_file.h"
#include "base/check.h"
#include "cli/progress.h"
#include "glassformer/decoding/model_tokenizer.h"
#include "glassformer/decoding/stop_text.h"

namespace glassformer {
namespace {

const char* name_of(FinishReason reason) {
  switch (reason) {
    case FinishReason::kEos: return "eos";
    case FinishReason::kLength: return "length";
    case FinishReason::kStopString: return "stop_string";
    case FinishReason::kStopped: return "interrupted";
    case FinishReason::kDeadEnd: return "dead_end";
  }
  return "";
}

// With --ids a model needs no tokenizer.
std::optional<Tokenizer> tokenizer_for(const GenerationRunOptions& options, bool target) {
  try {
    return open_tokenizer(options.model.path, target);
  } catch (const FileError&) {
    if (options.ids.empty()) throw;
    return std::nullopt;
  }
}

}  // namespace

void GenerationRunOptions::add_to(CLI::App& command) {
  model.add_to(command);
  command.add_option("--ids", ids, "token ids in place of text: '[[1,2],[3]]'");
  command.add_flag("--json", json, "for programs");
  command.add_option("--tree", tree, "write every hypothesis kept or dropped to this JSON file");
  command.add_option("--draft", draft, "a smaller model of the same vocabulary that guesses ahead");
  command.add_option("--draft-tokens", draft_tokens, "so many tokens at a time")
      ->check(CLI::Range(1, 64))
      ->needs("--draft");
  flags.add_to(command);
}

GenerationRun::GenerationRun(const GenerationRunOptions& options)
    : options_(options),
      model_(options.model.open()),
      source_(tokenizer_for(options, false)),
      target_(model_.transformer().spec().encoder ? tokenizer_for(options, true) : source_),
      defaults_(options.flags.read(model_, options.model.path, target_ ? &*target_ : nullptr)) {
  defaults_.return_tree = !options.tree.empty();
  if (target_) vocabulary_.emplace(*target_, model_.transformer().spec().head.outputs);
  if (options.draft.empty()) return;
  ModelOptions draft = options.model;
  draft.path = options.draft;
  draft_ = std::make_shared<const Model>(draft.open());
}

const Tokenizer& GenerationRun::source_tokenizer() const { return source_.value(); }

GenerationRequest GenerationRun::request(const TokenIds& ids) const {
  return {.ids = ids, .options = defaults_};
}

std::vector<GenerationRequest> GenerationRun::requests_from_ids() const {
  const Json lists = parse_json(options_.ids, "--ids");
  const auto fail = [&] {
    throw ValueError("--ids: expected a list of lists of ids, found " + describe(lists));
  };
  if (!lists.is_array()) fail();
  std::vector<GenerationRequest> requests;
  for (const Json& list : lists) {
    if (!list.is_array()) fail();
    TokenIds ids;
    for (const Json& id : list) {
      if (!id.is_number_integer()) fail();
      ids.push_back(id.get<int64_t>());
    }
    requests.push_back(request(ids));
  }
  return requests;
}

std::vector<GenerationResult> GenerationRun::run(std::vector<GenerationRequest> requests,
                                                 const Interrupt& interrupt,
                                                 const char* what) const {
  const EngineOptions engine{.vocabulary = vocabulary_ ? &*vocabulary_ : nullptr,
                             .draft = draft_,
                             .draft_tokens = options_.draft_tokens};
  Progress progress(what, requests.size() > 1 ? static_cast<int64_t>(requests.size()) : 0);
  return generate(model_, std::move(requests), engine, [&](int64_t done) {
    progress.update(done);
    return !interrupt.asked();
  });
}

std::string GenerationRun::text_of(const Hypothesis& hypothesis) const {
  if (!target_) return {};
  std::string text = target_->decode(hypothesis.ids);
  if (hypothesis.reason != FinishReason::kStopString) return text;
  return StopText({hypothesis.stop_string}).add(text);
}

Json GenerationRun::json_of(const GenerationResult& result) const {
  Json sequences = Json::array();
  for (const Hypothesis& one : result.hypotheses) {
    Json sequence = {{"ids", one.ids},
                     {"score", one.score},
                     {"token_scores", one.token_scores},
                     {"finish_reason", name_of(one.reason)}};
    if (target_) sequence["text"] = text_of(one);
    sequences.push_back(std::move(sequence));
  }
  return {{"sequences", std::move(sequences)}};
}

void GenerationRun::write_trees(const std::vector<GenerationResult>& results) const {
  if (options_.tree.empty()) return;
  std::string text = "[";
  for (size_t i = 0; i < results.size(); ++i)
    text += (i == 0 ? "\n" : ",\n") + to_json(results[i].tree);
  AtomicFile file(options_.tree);
  file.write(text + "\n]\n");
  file.commit();
}

}  // namespace glassformer
