#include "glassformer/decoding/engine.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "base/check.h"
#include "base/parallel.h"
#include "decoding/draft.h"
#include "decoding/running.h"
#include "glassformer/autograd/no_grad.h"
#include "glassformer/ops/copy.h"
#include "glassformer/ops/gather.h"
#include "glassformer/ops/reduce.h"
#include "glassformer/ops/view.h"

namespace glassformer {
namespace {

// How the last layer attends to the source, averaged over its heads: [tokens, keys of all parts].
class SourceAttention : public Probe {
 public:
  explicit SourceAttention(size_t layers)
      : name_("decoder." + std::to_string(layers - 1) + ".cross_attention.weights") {}
  ProbeWish wish(const std::string& name) override {
    return {name == name_ ? ProbeWish::Kind::kRead : ProbeWish::Kind::kNothing};
  }
  void read(const std::string&, const Tensor& value) override {
    weights_ = select(mean(cast(value, DType::kFloat32), {1}), 0, 0);
  }
  Tensor replace(const std::string&, const Tensor& value) override { return value; }
  const Tensor& weights() const { return weights_; }

 private:
  std::string name_;
  Tensor weights_;
};

void check_ids(const char* what, const TokenIds& ids, int64_t vocabulary) {
  for (size_t i = 0; i < ids.size(); ++i)
    require<IndexError>(ids[i] >= 0 && ids[i] < vocabulary,
                        "{}: expected ids from 0 to {}, found {} at {}", what, vocabulary - 1,
                        ids[i], i);
}

// The most tokens back that any layer looks; 0 where one sees all.
int64_t longest_window(const StackSpec& stack) {
  int64_t longest = 0;
  for (const BlockSpec& block : stack.blocks) {
    if (block.self_attention.window == 0) return 0;
    longest = std::max(longest, block.self_attention.window);
  }
  return longest;
}

}  // namespace

struct Engine::State {
  State(Model model_in, EngineOptions options_in);

  SearchInput search_input(const GenerationRequest& request) const;
  Need need(const GenerationRequest& request, const SearchInput& input) const;
  void start();
  void encode_sources(std::span<Running*> requests);
  void run_prompts(std::span<Running*> requests);
  void run_steps();
  void guess();
  // The logits after each of `rows` of the hidden states, in host memory.
  std::span<float> logits_of(const Tensor& hidden, const std::vector<int64_t>& rows);
  void collect();

  const Transformer& transformer() const { return model.transformer(); }
  bool two_stacks() const { return transformer().spec().encoder.has_value(); }
  int64_t vocabulary_size() const { return transformer().spec().head.outputs; }

  Model model;
  EngineOptions options;
  std::unique_ptr<KvCache> cache, source_cache;
  std::unique_ptr<Draft> draft;
  int64_t window = 0;
  std::deque<std::unique_ptr<Running>> waiting;
  std::vector<std::unique_ptr<Running>> running;
  Need reserved{0, 0};
  int64_t next_number = 0;
  std::vector<GenerationResult> finished;
  std::vector<float> logits;  // kept between steps
};

Engine::State::State(Model model_in, EngineOptions options_in)
    : model(std::move(model_in)), options(std::move(options_in)) {
  const TransformerSpec& spec = transformer().spec();
  require<ValueError>(
      spec.decoder && spec.decoder->causal && spec.head.kind == HeadSpec::Kind::kLanguageModel,
      "expected a model that generates text, found {}", model.config().architecture);
  cache = transformer().make_cache(options.places);
  if (two_stacks()) source_cache = transformer().make_source_cache(options.source_places);
  window = longest_window(*spec.decoder);
  if (!options.draft) return;
  require<ValueError>(!two_stacks(), "draft: expected a model with one stack to speculate for");
  require<ValueError>(options.draft_tokens >= 1, "draft_tokens: expected 1 or more, found {}",
                      options.draft_tokens);
  draft = std::make_unique<Draft>(*options.draft, vocabulary_size(), options.places);
}

SearchInput Engine::State::search_input(const GenerationRequest& request) const {
  SearchInput input;
  input.vocabulary_size = vocabulary_size();
  input.vocabulary = options.vocabulary;
  const TransformerSpec& spec = transformer().spec();
  const PositionSpec& positions = (two_stacks() ? spec.decoder_tokens : spec.tokens)->positions;
  const bool absolute = positions.kind == PositionSpec::Kind::kLearned;
  input.max_positions = absolute       ? positions.max_positions - positions.first_row
                        : two_stacks() ? 0
                                       : model.config().max_positions;
  if (!two_stacks()) {
    input.prompt = request.ids;
    if (input.prompt.empty() && request.options.bos_token_id)
      input.prompt.push_back(*request.options.bos_token_id);
    require<ValueError>(request.decoder_ids.empty(), "decoder_ids: this model has no encoder");
  } else {
    require<ValueError>(!request.ids.empty(), "the source is empty: it needs at least one id");
    check_ids("ids", request.ids, spec.tokens->vocabulary);
    const PositionSpec& own = spec.tokens->positions;
    require<ValueError>(
        own.kind != PositionSpec::Kind::kLearned ||
            static_cast<int64_t>(request.ids.size()) <= own.max_positions - own.first_row,
        "the source has {} tokens: the model takes at most {}", request.ids.size(),
        own.max_positions - own.first_row);
    input.source = request.ids;
    input.prompt = request.decoder_ids;
    std::optional<int64_t> start = request.options.decoder_start_token_id;
    if (!start) start = model.config().decoder_start;
    if (!start) start = request.options.bos_token_id;
    if (input.prompt.empty()) {
      require<ValueError>(start.has_value(), "decoder_start_token_id: expected one, found none");
      input.prompt.push_back(*start);
    }
    input.begins_text = true;
  }
  check_ids("prompt", input.prompt, input.vocabulary_size);
  return input;
}

Engine::Need Engine::State::need(const GenerationRequest& request, const SearchInput& input) const {
  const GenerationOptions& o = request.options;
  const int64_t width = std::max(o.num_beams, o.num_return_sequences);
  int64_t own = max_new_tokens(o, input);
  if (window > 0) own = std::min(own, window + 1);
  const int64_t guessed = draft ? options.draft_tokens + 1 : 0;
  return {static_cast<int64_t>(input.prompt.size()) + width * own + guessed,
          static_cast<int64_t>(input.source.size())};
}

// Requests begin in their order, as long as all that run can come to their end.
void Engine::State::start() {
  std::vector<Running*> begun;
  int64_t tokens = 0;
  while (!waiting.empty() && static_cast<int64_t>(running.size()) < options.max_running) {
    Running& next = *waiting.front();
    const auto length = static_cast<int64_t>(next.input.prompt.size() + next.input.source.size());
    if (reserved.places + next.need.places > options.places ||
        reserved.source_places + next.need.source_places > options.source_places ||
        (!begun.empty() && tokens + length > options.prompt_tokens))
      break;
    tokens += length;
    reserved.places += next.need.places;
    reserved.source_places += next.need.source_places;
    running.push_back(std::move(waiting.front()));
    waiting.pop_front();
    begun.push_back(running.back().get());
  }
  if (begun.empty()) return;
  if (two_stacks()) encode_sources(begun);
  run_prompts(begun);
}

void Engine::State::encode_sources(std::span<Running*> requests) {
  std::vector<int64_t> ids, starts{0}, lengths;
  for (const Running* one : requests) {
    ids.insert(ids.end(), one->input.source.begin(), one->input.source.end());
    starts.push_back(static_cast<int64_t>(ids.size()));
    lengths.push_back(static_cast<int64_t>(one->input.source.size()));
  }
  const Device device = cache->options().device;
  TransformerInput input;
  input.input_ids = to(from_vector(ids, {static_cast<int64_t>(ids.size())}), device);
  input.starts = to(from_vector(starts, {static_cast<int64_t>(starts.size())}), device);
  const Tensor encoded = transformer().encode(input);
  std::vector<CacheSequence> sources = transformer().keep_sources(encoded, lengths, *source_cache);
  for (size_t i = 0; i < requests.size(); ++i) requests[i]->source.emplace(std::move(sources[i]));
}

// Prompts run in pieces of prompt_tokens, cut where they are cut in any company.
void Engine::State::run_prompts(std::span<Running*> requests) {
  for (Running* one : requests) one->live.emplace_back(*cache);
  std::vector<Running*> left(requests.begin(), requests.end());
  for (size_t begin = 0; !left.empty(); begin += static_cast<size_t>(options.prompt_tokens)) {
    std::vector<CachedPart> parts;
    std::vector<int64_t> last;
    std::vector<Running*> ended, more;
    int64_t rows = 0;
    for (Running* one : left) {
      const TokenIds& prompt = one->input.prompt;
      const size_t count =
          std::min(prompt.size() - begin, static_cast<size_t>(options.prompt_tokens));
      parts.push_back({&one->live.front(), std::span(prompt).subspan(begin, count),
                       one->source ? &*one->source : nullptr});
      rows += static_cast<int64_t>(count);
      const bool whole = begin + count == prompt.size();
      if (whole) last.push_back(rows - 1);
      (whole ? ended : more).push_back(one);
    }
    SourceAttention attention(transformer().spec().decoder->blocks.size());
    const bool looks = std::any_of(ended.begin(), ended.end(), [](const Running* one) {
      return one->search->wants_attention();
    });
    const Tensor hidden =
        transformer().decode(parts, Pass::kPrompt, {.probe = looks ? &attention : nullptr});
    const std::span<float> scores = logits_of(hidden, last);
    const auto width = static_cast<size_t>(vocabulary_size());
    for (size_t i = 0; i < ended.size(); ++i) {
      Running& one = *ended[i];
      StepScores step{.logits = scores.subspan(i * width, width)};
      std::vector<float> row;
      if (one.search->wants_attention()) {
        // Behind the keys of the parts before it, which are all whole: a decoder's prompt is short.
        int64_t before = 0;
        for (size_t j = 0; parts[j].sequence != &one.live.front(); ++j)
          before += parts[j].source->length();
        const Tensor weights = slice(select(attention.weights(), 0, last[i]), 0, before,
                                     before + one.source->length());
        row = weights.to_vector<float>();
        step.attention = row;
      }
      if (one.single()) one.said = one.input.prompt;
      one.follow(one.search->advance(step));
    }
    left = std::move(more);
  }
}

void Engine::State::guess() {
  for (const auto& one : running) {
    if (one->ended || !one->single()) continue;
    // No more than may be said: the last of them is the model's own.
    const auto said = static_cast<int64_t>(one->said.size() - one->input.prompt.size());
    const int64_t left = max_new_tokens(one->request.options, one->input) - said - 1;
    for (const int64_t token : draft->guess(*one, std::min(options.draft_tokens, left)))
      one->ids.front().push_back(token);
  }
}

void Engine::State::run_steps() {
  if (draft) guess();
  std::vector<CachedPart> parts;
  std::vector<size_t> first;  // row of each running request
  std::vector<int64_t> rows, source_starts{0};
  bool looks = false;
  for (const auto& one : running) {
    first.push_back(rows.size());
    for (size_t i = 0; i < one->live.size(); ++i) {
      parts.push_back({&one->live[i], one->ids[i], one->source ? &*one->source : nullptr});
      for (size_t j = 0; j < one->ids[i].size(); ++j) {
        rows.push_back(static_cast<int64_t>(rows.size()));
        if (one->source) source_starts.push_back(source_starts.back() + one->source->length());
      }
    }
    looks = looks || (!one->ended && one->search->wants_attention());
  }
  if (parts.empty()) return;
  SourceAttention attention(transformer().spec().decoder->blocks.size());
  const Tensor hidden =
      transformer().decode(parts, Pass::kSteps, {.probe = looks ? &attention : nullptr});
  const std::span<float> scores = logits_of(hidden, rows);
  const auto width = static_cast<size_t>(vocabulary_size());
  // Searches know nothing of each other; the cache they share is touched after them.
  const auto guesses = [](const Running& one) {
    return one.single() && one.ids.front().size() > 1;
  };
  std::vector<std::span<const Continuation>> next(running.size());
  parallel_tasks(static_cast<int64_t>(running.size()), [&](int64_t task) {
    const auto index = static_cast<size_t>(task);
    const Running& one = *running[index];
    if (one.ended || guesses(one)) return;
    const size_t row = first[index];
    StepScores step{.logits = scores.subspan(row * width, one.live.size() * width)};
    std::vector<float> attended;
    if (one.search->wants_attention())
      for (size_t i = 0; i < one.live.size(); ++i) {
        const std::vector<float> weights =
            slice(select(attention.weights(), 0, static_cast<int64_t>(row + i)), 0,
                  source_starts[row + i], source_starts[row + i + 1])
                .to_vector<float>();
        attended.insert(attended.end(), weights.begin(), weights.end());
      }
    step.attention = attended;
    next[index] = one.search->advance(step);
  });
  for (size_t i = 0; i < running.size(); ++i) {
    Running& one = *running[i];
    if (one.ended) continue;
    if (guesses(one))
      one.follow_guesses(scores.subspan(first[i] * width, one.ids.front().size() * width));
    else
      one.follow(next[i]);
  }
}

std::span<float> Engine::State::logits_of(const Tensor& hidden, const std::vector<int64_t>& rows) {
  const auto count = static_cast<int64_t>(rows.size());
  if (count == 0) return {};
  const bool all = count == hidden.size(0);
  const Tensor chosen =
      all ? hidden : gather_rows(hidden, to(from_vector(rows, {count}), hidden.device()));
  const Tensor scores = contiguous(cast(transformer().head(chosen).logits, DType::kFloat32));
  logits.resize(static_cast<size_t>(scores.count()));
  scores.storage()->copy_out(logits.data(), static_cast<size_t>(scores.offset()) * sizeof(float),
                             logits.size() * sizeof(float));
  return logits;
}

// Tokens are told, and what has ended leaves, its places with it.
void Engine::State::collect() {
  for (const auto& one : running) {
    one->tell();
    if (window > 0)
      for (CacheSequence& sequence : one->live) sequence.keep_last(window);
    if (!one->ended) continue;
    finished.push_back(one->result());
    reserved.places -= one->need.places;
    reserved.source_places -= one->need.source_places;
    if (draft) draft->forget(one->number);
  }
  std::erase_if(running, [](const auto& one) { return one->ended; });
}

Engine::Engine(Model model, EngineOptions options)
    : state_(std::make_unique<State>(std::move(model), std::move(options))) {}
Engine::~Engine() = default;

Engine::Need Engine::need(const GenerationRequest& request) const {
  return state_->need(request, state_->search_input(request));
}

SearchInput Engine::search_input(const GenerationRequest& request) const {
  return state_->search_input(request);
}

int64_t Engine::submit(GenerationRequest request) {
  auto one = std::make_unique<Running>();
  one->input = state_->search_input(request);
  one->request = std::move(request);
  one->search = make_search(one->request.options, one->input);
  one->need = state_->need(one->request, one->input);
  require<ValueError>(one->need.places <= state_->options.places &&
                          one->need.source_places <= state_->options.source_places,
                      "the request may need {} places and {} for its source: the engine has {} "
                      "and {}",
                      one->need.places, one->need.source_places, state_->options.places,
                      state_->options.source_places);
  one->number = state_->next_number++;
  state_->waiting.push_back(std::move(one));
  return state_->waiting.back()->number;
}

void Engine::stop(int64_t request) {
  for (auto& one : state_->running)
    if (one->number == request && !one->ended) one->stop();
  std::erase_if(state_->waiting, [&](const auto& one) {
    if (one->number != request) return false;
    one->stop();
    state_->finished.push_back(one->result());
    return true;
  });
}

void Engine::stop_all() {
  for (auto& one : state_->running)
    if (!one->ended) one->stop();
  for (auto& one : state_->waiting) {
    one->stop();
    state_->finished.push_back(one->result());
  }
  state_->waiting.clear();
}

bool Engine::step() {
  const NoGrad no_grad;
  state_->start();
  state_->collect();
  state_->run_steps();
  state_->collect();
  return !state_->running.empty() || !state_->waiting.empty();
}

std::vector<GenerationResult> Engine::take_finished() {
  return std::exchange(state_->finished, {});
}

}  // namespace glassformer
