#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "glassformer/decoding/search.h"
#include "glassformer/models/model.h"

namespace glassformer {

struct GenerationRequest {
  TokenIds ids;               // the prompt, or the source of an encoder–decoder
  TokenIds decoder_ids = {};  // what the decoder begins with; decoder_start_token_id unless given
  GenerationOptions options = {};
  // Told every new token while there is one hypothesis (no beams, one sequence): for streaming.
  // False ends the request, with what is there as its result.
  std::function<bool(int64_t token)> on_token = {};
};

struct GenerationResult {
  int64_t request = 0;                 // as submit() numbered it
  std::vector<Hypothesis> hypotheses;  // best first
  BeamTree tree;                       // where the options ask for it
};

struct EngineOptions {
  // Tokens whose keys and values are kept, of all running requests together, and of their sources.
  int64_t places = 4096, source_places = 4096;
  int64_t prompt_tokens = 2048;  // of prompts or sources run at a time
  int64_t max_running = 256;     // requests
  // The bytes of tokens, for stop strings and constraints; must outlive the engine.
  const TokenVocabulary* vocabulary = nullptr;
  // Speculative decoding: a smaller model of the same vocabulary proposes so many tokens, which the
  // model then checks at once. Changes no token of any result, for requests with one hypothesis.
  std::shared_ptr<const Model> draft = {};
  int64_t draft_tokens = 4;
};

// Runs any number of requests on one model together: new ones join at any step, finished ones
// leave. What a request gives does not depend on what else is running, bit for bit.
//
// Not safe to use from several threads at once.
class Engine {
 public:
  // Throws ValueError for a model that does not generate text, or a draft that does not fit it.
  explicit Engine(Model model, EngineOptions options = {});
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Places that a request may come to need, of its own and for its source. Throws as submit().
  struct Need {
    int64_t places, source_places;
  };
  Need need(const GenerationRequest& request) const;
  // What the request's search begins with. Throws as submit().
  SearchInput search_input(const GenerationRequest& request) const;

  // Queues a request, and gives its number. Throws ValueError or IndexError for options that
  // contradict each other, an empty prompt, one that is longer than the model or the engine takes,
  // and ids that are not in the vocabulary.
  int64_t submit(GenerationRequest request);
  // Ends a request; what is there is its result. Unknown numbers are passed over.
  void stop(int64_t request);
  void stop_all();

  // Starts what there is room for and takes one step of all that runs. False when nothing is left.
  bool step();
  // The results that have come since the last call.
  std::vector<GenerationResult> take_finished();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// All requests, in their order. `keep_going`, where it is given, is asked before every step: false
// ends all that run, and what has not begun has no hypotheses.
std::vector<GenerationResult> generate(const Model& model, std::vector<GenerationRequest> requests,
                                       EngineOptions options = {},
                                       const std::function<bool(int64_t done)>& keep_going = {});

// Forced decoding: how the model scores `target` as the answer to the request.
Hypothesis score_target(const Model& model, const GenerationRequest& request,
                        const TokenIds& target);

}  // namespace glassformer
