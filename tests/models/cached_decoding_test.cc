#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "glassformer/glassformer.h"
#include "support/throws.h"

namespace glassformer {
namespace {

using testing::expect_throws;

std::filesystem::path fixture(const std::string& name) {
  return std::filesystem::path(GLASSFORMER_FIXTURES_DIR) / "models" / name;
}

std::vector<int64_t> some_ids(int64_t count, int64_t salt = 0) {
  std::vector<int64_t> ids;
  for (int64_t i = 0; i < count; ++i) ids.push_back(5 + (i * 7 + salt * 3 + i * i) % 40);
  return ids;
}

Tensor row(const std::vector<int64_t>& ids) {
  return from_vector(ids, {1, static_cast<int64_t>(ids.size())});
}

// A model with a cache, and a source to attend to where it has an encoder.
class Decoder {
 public:
  explicit Decoder(const std::string& name, int64_t places = 64)
      : model_(Model::open(fixture(name))), cache_(transformer().make_cache(places)) {
    if (!transformer().spec().encoder) return;
    source_cache_ = transformer().make_source_cache(64);
  }
  const Transformer& transformer() const { return model_.transformer(); }
  const Model& model() const { return model_; }
  CacheSequence sequence() { return CacheSequence(*cache_); }
  KvCache& cache() { return *cache_; }

  std::vector<CacheSequence> sources(const std::vector<std::vector<int64_t>>& texts) {
    TransformerInput input;
    std::vector<int64_t> ids, starts{0}, lengths;
    for (const auto& text : texts) {
      ids.insert(ids.end(), text.begin(), text.end());
      starts.push_back(static_cast<int64_t>(ids.size()));
      lengths.push_back(static_cast<int64_t>(text.size()));
    }
    input.input_ids = from_vector(ids, {static_cast<int64_t>(ids.size())});
    input.starts = from_vector(starts, {static_cast<int64_t>(starts.size())});
    return transformer().keep_sources(transformer().encode(input), lengths, *source_cache_);
  }

  std::vector<float> logits(const std::vector<CachedPart>& parts, Pass pass) {
    return transformer().head(transformer().decode(parts, pass)).logits.to_vector<float>();
  }

 private:
  Model model_;
  std::unique_ptr<KvCache> cache_, source_cache_;
};

constexpr const char* kDecoders[] = {"gpt2", "llama", "llama-3", "mistral", "qwen3"};
constexpr const char* kEncoderDecoders[] = {"marian", "bart", "t5"};

TEST(CachedDecoding, PromptAndStepsGiveWhatTheWholeSequenceGives) {
  const NoGrad no_grad;
  for (const char* name : kDecoders) {
    Decoder decoder(name);
    const std::vector<int64_t> ids = some_ids(9);
    TransformerInput whole;
    whole.input_ids = row(ids);
    const std::vector<float> expected = decoder.model()(whole).logits.to_vector<float>();
    CacheSequence sequence = decoder.sequence();
    std::vector<float> ours;
    for (const auto& [begin, end, pass] : {std::tuple{0, 5, Pass::kPrompt},
                                           {5, 6, Pass::kSteps},
                                           {6, 8, Pass::kSteps},
                                           {8, 9, Pass::kPrompt}}) {
      const auto piece = std::span(ids).subspan(size_t(begin), size_t(end - begin));
      for (const float x : decoder.logits({{&sequence, piece}}, pass)) ours.push_back(x);
    }
    EXPECT_THAT(ours, ::testing::Pointwise(::testing::FloatNear(2e-5F), expected)) << name;
    EXPECT_EQ(sequence.length(), 9);
  }
}

TEST(CachedDecoding, BehindAnEncoder) {
  const NoGrad no_grad;
  for (const char* name : kEncoderDecoders) {
    Decoder decoder(name);
    const std::vector<int64_t> source = some_ids(7, 1), ids = some_ids(6);
    TransformerInput whole;
    whole.input_ids = row(source);
    whole.decoder_input_ids = row(ids);
    const std::vector<float> expected = decoder.model()(whole).logits.to_vector<float>();
    // Another source beside it, and a prompt of two tokens.
    const std::vector<CacheSequence> sources = decoder.sources({some_ids(3, 5), source});
    CacheSequence sequence = decoder.sequence();
    std::vector<float> ours;
    for (size_t at = 0; at < ids.size(); at += at == 0 ? 2 : 1) {
      const auto piece = std::span(ids).subspan(at, at == 0 ? 2 : 1);
      const Pass pass = at == 0 ? Pass::kPrompt : Pass::kSteps;
      for (const float x : decoder.logits({{&sequence, piece, &sources[1]}}, pass))
        ours.push_back(x);
    }
    EXPECT_THAT(ours, ::testing::Pointwise(::testing::FloatNear(5e-5F), expected)) << name;
  }
}

// The bits of a sequence do not depend on what else is in the batch, nor on how many steps are
// taken at once.
TEST(CachedDecoding, AloneAndTogetherGiveTheSameBits) {
  const NoGrad no_grad;
  for (const char* name : kDecoders) {
    Decoder decoder(name);
    const std::vector<int64_t> one = some_ids(6, 1), two = some_ids(3, 2), next = some_ids(4, 3);
    CacheSequence a = decoder.sequence(), b = decoder.sequence(), both_a = decoder.sequence(),
                  both_b = decoder.sequence();
    std::vector<float> alone = decoder.logits({{&a, one}}, Pass::kPrompt);
    for (const float x : decoder.logits({{&b, two}}, Pass::kPrompt)) alone.push_back(x);
    EXPECT_EQ(decoder.logits({{&both_a, one}, {&both_b, two}}, Pass::kPrompt), alone) << name;

    std::vector<float> steps;
    for (size_t i = 0; i < next.size(); ++i)
      for (const float x : decoder.logits({{&a, std::span(next).subspan(i, 1)}}, Pass::kSteps))
        steps.push_back(x);
    for (const float x : decoder.logits({{&b, std::span(next).first(1)}}, Pass::kSteps))
      steps.push_back(x);
    EXPECT_EQ(decoder.logits({{&both_a, next}, {&both_b, std::span(next).first(1)}}, Pass::kSteps),
              steps)
        << name;
  }
}

TEST(CachedDecoding, CopiesShareTheirBeginning) {
  const NoGrad no_grad;
  Decoder decoder("gpt2", 32);
  const std::vector<int64_t> ids = some_ids(8), left{7}, right{9};
  CacheSequence sequence = decoder.sequence();
  decoder.logits({{&sequence, ids}}, Pass::kPrompt);
  CacheSequence other = sequence;
  EXPECT_EQ(decoder.cache().free_places(), 24);
  const std::vector<float> together =
      decoder.logits({{&sequence, left}, {&other, right}}, Pass::kSteps);
  EXPECT_EQ(decoder.cache().free_places(), 22);
  EXPECT_EQ(sequence.places()[7], other.places()[7]);
  EXPECT_NE(sequence.places()[8], other.places()[8]);

  // The same bits as a sequence that shares nothing.
  sequence = decoder.sequence();
  CacheSequence apart = decoder.sequence();
  std::vector<int64_t> all = ids;
  decoder.logits({{&apart, all}}, Pass::kPrompt);
  std::vector<float> expected(together.end() - ptrdiff_t(together.size() / 2), together.end());
  EXPECT_EQ(decoder.logits({{&apart, right}}, Pass::kSteps), expected);
}

TEST(CachedDecoding, WindowsNeedNoMoreThanTheyShow) {
  const NoGrad no_grad;
  Decoder bounded("mistral"), free("mistral");
  const int64_t window = bounded.transformer().spec().decoder->blocks[0].self_attention.window;
  ASSERT_GT(window, 0);
  CacheSequence a = bounded.sequence(), b = free.sequence();
  const std::vector<int64_t> ids = some_ids(window + 6);
  for (size_t i = 0; i < ids.size(); ++i) {
    const auto piece = std::span(ids).subspan(i, 1);
    EXPECT_EQ(bounded.logits({{&a, piece}}, Pass::kSteps),
              free.logits({{&b, piece}}, Pass::kSteps));
    a.keep_last(window);
    EXPECT_LE(bounded.cache().places() - bounded.cache().free_places(), window);
  }
}

TEST(CachedDecoding, NoRoomLeavesEverythingAsItWas) {
  const NoGrad no_grad;
  Decoder decoder("llama", 5);
  CacheSequence a = decoder.sequence(), b = decoder.sequence();
  const std::vector<int64_t> four = some_ids(4), two = some_ids(2);
  expect_throws<MemoryError>(
      [&] {
        decoder.logits({{&a, four}, {&b, two}}, Pass::kPrompt);
      },
      "1 of 5 places free");
  EXPECT_EQ(a.length(), 0);
  EXPECT_EQ(decoder.cache().free_places(), 5);
  const std::vector<int64_t> wrong{1 << 20};
  expect_throws<IndexError>([&] { decoder.logits({{&a, wrong}}, Pass::kPrompt); }, "1048576");
  EXPECT_EQ(decoder.cache().free_places(), 5);
}

// A probe reads the same logits, and weights that sum to one.
class WeightReader : public Probe {
 public:
  ProbeWish wish(const std::string& name) override {
    return {name.ends_with("attention.weights") ? ProbeWish::Kind::kRead
                                                : ProbeWish::Kind::kNothing};
  }
  void read(const std::string&, const Tensor& value) override {
    ++count;
    const Tensor sums = sum(value, {-1});
    for (const float x : sums.to_vector<float>()) EXPECT_NEAR(x, 1, 1e-5);
  }
  Tensor replace(const std::string&, const Tensor& value) override { return value; }
  int count = 0;
};

TEST(CachedDecoding, ReadingLeavesTheBits) {
  const NoGrad no_grad;
  for (const char* name : kDecoders) {
    Decoder decoder(name);
    const std::vector<int64_t> ids = some_ids(4), next{11};
    CacheSequence a = decoder.sequence();
    decoder.logits({{&a, ids}}, Pass::kPrompt);
    CacheSequence b = a;
    WeightReader reader;
    const CachedPart part{&b, next};
    const Tensor hidden =
        decoder.transformer().decode({&part, 1}, Pass::kSteps, {.probe = &reader});
    EXPECT_EQ(decoder.transformer().head(hidden).logits.to_vector<float>(),
              decoder.logits({{&a, next}}, Pass::kSteps));
    EXPECT_GT(reader.count, 0);
  }
}

}  // namespace
}  // namespace glassformer
