#include "glassformer/decoding/engine.h"

#include <algorithm>
#include <cstring>

#include <gtest/gtest.h>

#include "decoding/running.h"
#include "glassformer/base/error.h"
#include "glassformer/tensor/memory.h"
#include "support/throws.h"

namespace glassformer {
namespace {

using testing::expect_throws;

std::filesystem::path folder(const std::string& name) {
  return std::filesystem::path(GLASSFORMER_FIXTURES_DIR) / "models" / name;
}

TokenIds some_ids(int64_t count, int64_t salt) {
  TokenIds ids;
  for (int64_t i = 0; i < count; ++i) ids.push_back(5 + (i * 7 + salt * 3 + i * i) % 40);
  return ids;
}

// One request of every kind of search.
std::vector<GenerationRequest> mixed_requests(const std::string& model) {
  std::vector<GenerationRequest> requests;
  for (int64_t kind = 0; kind < 6; ++kind) {
    GenerationRequest request;
    request.options = read_generation_options(folder(model));
    if (model == "t5") request.options.decoder_start_token_id = 0;
    request.options.max_new_tokens = 4 + 3 * kind;
    request.ids = some_ids(3 + 2 * kind, kind);
    if (kind == 1) request.options.num_beams = 4, request.options.num_return_sequences = 3;
    if (kind == 2 || kind == 5) request.options.do_sample = true;
    if (kind == 2) request.options.seed = 7;
    if (kind == 3)
      request.options.num_beams = 2, request.options.early_stopping = EarlyStopping::kNever;
    if (kind == 5) request.options.num_return_sequences = 2;
    requests.push_back(request);
  }
  return requests;
}

void expect_same(const GenerationResult& ours, const GenerationResult& theirs) {
  ASSERT_EQ(ours.hypotheses.size(), theirs.hypotheses.size());
  for (size_t i = 0; i < ours.hypotheses.size(); ++i) {
    EXPECT_EQ(ours.hypotheses[i].ids, theirs.hypotheses[i].ids);
    EXPECT_EQ(ours.hypotheses[i].score, theirs.hypotheses[i].score);
    EXPECT_EQ(ours.hypotheses[i].token_scores, theirs.hypotheses[i].token_scores);
  }
}

class EngineOf : public ::testing::TestWithParam<const char*> {};

// Bit for bit, whatever else runs, and whenever it joined.
TEST_P(EngineOf, ARequestDoesNotDependOnItsCompany) {
  const Model model = Model::open(folder(GetParam()));
  const std::vector<GenerationRequest> requests = mixed_requests(GetParam());
  std::vector<GenerationResult> alone;
  for (const GenerationRequest& request : requests) alone.push_back(generate(model, {request})[0]);
  const std::vector<GenerationResult> together = generate(model, requests);
  for (size_t i = 0; i < requests.size(); ++i) expect_same(together[i], alone[i]);

  Engine engine(model, {.places = 400, .source_places = 400});
  std::vector<GenerationResult> late(requests.size());
  size_t submitted = 0;
  for (bool more = true; more || submitted < requests.size();) {
    if (submitted < requests.size()) engine.submit(requests[submitted++]);
    more = engine.step();
    for (GenerationResult& result : engine.take_finished())
      late[static_cast<size_t>(result.request)] = result;
  }
  for (size_t i = 0; i < requests.size(); ++i) expect_same(late[i], alone[i]);
}

// With room for one at a time, all still come to their end.
TEST_P(EngineOf, LittleRoomOnlyMakesRequestsWait) {
  const Model model = Model::open(folder(GetParam()));
  const std::vector<GenerationRequest> requests = mixed_requests(GetParam());
  const std::vector<GenerationResult> expected = generate(model, requests);
  int64_t places = 1, source_places = 1;
  {
    const Engine sizes(model);
    for (const GenerationRequest& request : requests) {
      places = std::max(places, sizes.need(request).places);
      source_places = std::max(source_places, sizes.need(request).source_places);
    }
  }
  Engine engine(model, {.places = places, .source_places = source_places});
  for (const GenerationRequest& request : requests) engine.submit(request);
  while (engine.step()) {
  }
  const std::vector<GenerationResult> results = engine.take_finished();
  ASSERT_EQ(results.size(), requests.size());
  for (const GenerationResult& result : results)
    expect_same(result, expected[static_cast<size_t>(result.request)]);
}

// The second of two equal requests finds all its memory there.
TEST_P(EngineOf, ASteadyStepTakesNothingFromTheSystem) {
  const Model model = Model::open(folder(GetParam()));
  for (const int64_t beams : {1, 4}) {
    GenerationRequest request{.ids = some_ids(9, 1)};
    request.options = read_generation_options(folder(GetParam()));
    request.options.decoder_start_token_id = 0;
    request.options.num_beams = beams;
    request.options.max_new_tokens = request.options.min_new_tokens = 12;
    Engine engine(model);
    const auto run = [&] {
      engine.submit(request);
      const uint64_t before = memory_stats(Device::kCpu).system_calls;
      int64_t steps = 1;
      for (; engine.step(); ++steps) {
      }
      EXPECT_EQ(steps, 11);  // the first call runs the prompt and a step
      return memory_stats(Device::kCpu).system_calls - before;
    };
    run();
    EXPECT_EQ(run(), 0u) << beams << " beams";
  }
}

INSTANTIATE_TEST_SUITE_P(All, EngineOf, ::testing::Values("gpt2", "mistral", "t5", "marian"));

// A place holds a token's keys and values: hypotheses with one beginning hold the same places, a
// step writes to none of them, and those of what is dropped come back.
TEST(Engine, ABeamStepCopiesNoKeysOrValues) {
  const KvCache::LayerSpec layers[] = {{.key_heads = 2, .key_size = 4, .value_size = 4}};
  KvCache cache(layers, 64, {});
  const Tensor keys = cache.layer(0).key, values = cache.layer(0).value;
  const std::vector<float> before_keys = keys.to_vector<float>();
  const std::vector<float> before_values = values.to_vector<float>();
  Running running;
  running.request.options.num_beams = 4;
  CacheSequence prompt(cache);
  prompt.append(10);
  for (int i = 0; i < 4; ++i) running.live.push_back(prompt), running.live.back().append(3);
  prompt.truncate(0);
  EXPECT_EQ(cache.free_places(), 64 - 10 - 4 * 3);
  const std::vector<int64_t> first(running.live[0].places().begin(),
                                   running.live[0].places().end());
  const std::vector<int64_t> third(running.live[2].places().begin(),
                                   running.live[2].places().end());
  const Continuation next[] = {{0, 7}, {2, 8}, {0, 9}, {0, 5}};
  running.follow(next);
  for (const size_t child : {0, 2, 3})
    EXPECT_TRUE(std::ranges::equal(running.live[child].places(), first));
  EXPECT_TRUE(std::ranges::equal(running.live[1].places(), third));
  EXPECT_EQ(cache.free_places(), 64 - 10 - 2 * 3);
  EXPECT_EQ(cache.layer(0).key.storage(), keys.storage());
  const auto same = [](const std::vector<float>& a, const std::vector<float>& b) {
    return std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
  };
  EXPECT_TRUE(same(keys.to_vector<float>(), before_keys));
  EXPECT_TRUE(same(values.to_vector<float>(), before_values));
}

TEST(Engine, LongPromptsAreCutAlikeInAnyCompany) {
  const Model model = Model::open(folder("llama"));
  GenerationRequest request{.ids = some_ids(23, 1)}, other{.ids = some_ids(9, 2)};
  request.options.max_new_tokens = other.options.max_new_tokens = 5;
  const EngineOptions pieces{.prompt_tokens = 8};
  const GenerationResult alone = generate(model, {request}, pieces)[0];
  expect_same(generate(model, {other, request}, pieces)[1], alone);
  EXPECT_EQ(generate(model, {request})[0].hypotheses[0].ids, alone.hypotheses[0].ids);
}

// The draft is the model itself, which guesses all right, and another one, which guesses wrong.
TEST(Engine, SpeculationChangesNothing) {
  const Model model = Model::open(folder("gpt2"));
  std::vector<GenerationRequest> requests = mixed_requests("gpt2");
  const std::vector<GenerationResult> plain = generate(model, requests);
  const std::string config = model.config().json;
  for (const Model& draft : {model, Model::create(config, 3)}) {
    for (const int64_t tokens : {1, 4}) {
      const EngineOptions options{.draft = std::make_shared<Model>(draft), .draft_tokens = tokens};
      const std::vector<GenerationResult> guessed = generate(model, requests, options);
      for (size_t i = 0; i < requests.size(); ++i) expect_same(guessed[i], plain[i]);
    }
  }
}

TEST(Engine, TokensAreToldOnceAndInOrder) {
  const Model model = Model::open(folder("gpt2"));
  for (const bool speculates : {false, true}) {
    TokenIds told;
    GenerationRequest request{.ids = some_ids(4, 1)};
    request.options.max_new_tokens = 9;
    request.on_token = [&](int64_t token) {
      told.push_back(token);
      return true;
    };
    EngineOptions options;
    if (speculates) options.draft = std::make_shared<Model>(model);
    EXPECT_EQ(generate(model, {request}, options)[0].hypotheses[0].ids, told);
    EXPECT_EQ(told.size(), 9U);

    TokenIds three;
    request.on_token = [&](int64_t token) {
      three.push_back(token);
      return three.size() < 3;
    };
    const GenerationResult cut = generate(model, {request}, options)[0];
    EXPECT_EQ(cut.hypotheses[0].reason, FinishReason::kStopped);
    EXPECT_EQ(three, (TokenIds{told[0], told[1], told[2]}));
  }
}

TEST(Engine, StopsWhenAsked) {
  const Model model = Model::open(folder("llama"));
  GenerationRequest request{.ids = some_ids(4, 1)};
  request.options.max_new_tokens = 50;
  Engine engine(model, {.places = 60});
  const int64_t first = engine.submit(request), second = engine.submit(request);
  engine.step();
  engine.stop(first);
  engine.stop(second);
  engine.stop(99);
  EXPECT_FALSE(engine.step());
  const std::vector<GenerationResult> results = engine.take_finished();
  ASSERT_EQ(results.size(), 2U);
  for (const GenerationResult& result : results)
    if (result.request == first) {
      EXPECT_EQ(result.hypotheses[0].ids.size(), 2U);
    }
}

TEST(Engine, BadRequestsAreNamed) {
  const Model gpt2 = Model::open(folder("gpt2")), marian = Model::open(folder("marian"));
  const auto submit = [](const Model& model, GenerationRequest request) {
    return [=] { Engine(model, {.places = 40}).submit(request); };
  };
  expect_throws<ValueError>([&] { Engine engine(Model::open(folder("bert"))); }, "generates text");
  expect_throws<ValueError>(submit(gpt2, {.ids = {}}), "empty");
  expect_throws<ValueError>(submit(marian, {.ids = {}}), "source is empty");
  expect_throws<IndexError>(submit(gpt2, {.ids = {5, 96}}), {"0 to 95", "found 96 at 1"});
  expect_throws<ValueError>(submit(gpt2, {.ids = {5}, .decoder_ids = {1}}), "no encoder");
  expect_throws<ValueError>(submit(gpt2, {.ids = some_ids(500, 1)}), "500");
  GenerationRequest wide{.ids = {5}};
  wide.options.num_beams = 8;
  expect_throws<ValueError>(submit(gpt2, wide), "the engine has 40");
  const EngineOptions draft{.draft = std::make_shared<Model>(Model::open(folder("marian")))};
  expect_throws<ValueError>([&] { Engine engine(gpt2, draft); }, "draft");
}

}  // namespace
}  // namespace glassformer
