// Decoding with kept keys and values: which places the tokens of a call take, and what they see.
#include <algorithm>
#include <numeric>

#include "base/check.h"
#include "glassformer/models/transformer.h"
#include "glassformer/ops/copy.h"

namespace glassformer {
namespace {

Tensor indices(const std::vector<int64_t>& values, Device device) {
  return to(from_vector(values, {static_cast<int64_t>(values.size())}), device);
}

// Collects what the parts of a call see, in host memory.
class RowsBuilder {
 public:
  // `queries` tokens that see the first `count` of the sequence.
  void add(const CacheSequence& sequence, int64_t queries, int64_t count) {
    for (int64_t i = 0; i < count; ++i)
      // A forgotten token lies outside every window: any place stands for it.
      places_.push_back(std::max<int64_t>(sequence.places()[static_cast<size_t>(i)], 0));
    query_starts_.push_back(query_starts_.back() + queries);
    key_starts_.push_back(static_cast<int64_t>(places_.size()));
    longest_ = std::max(longest_, count);
  }

  CacheRows build(bool steps, const std::vector<int64_t>& written, Device device) const {
    return {.written = written.empty() ? Tensor() : indices(written, device),
            .places = indices(places_, device),
            .query_starts = indices(query_starts_, device),
            .key_starts = indices(key_starts_, device),
            .steps = steps,
            .longest = longest_};
  }

 private:
  std::vector<int64_t> places_, query_starts_{0}, key_starts_{0};
  int64_t longest_ = 0;
};

// Takes the new places, and gives them back unless the call came to its end.
class Growth {
 public:
  explicit Growth(std::span<const CachedPart> parts) : parts_(parts) {
    for (; grown_ < parts.size(); ++grown_) {
      const CachedPart& part = parts[grown_];
      try {
        part.sequence->append(static_cast<int64_t>(part.ids.size()));
      } catch (...) {
        undo();
        throw;
      }
    }
  }
  ~Growth() {
    if (!kept_) undo();
  }
  Growth(const Growth&) = delete;
  Growth& operator=(const Growth&) = delete;
  void keep() { kept_ = true; }

 private:
  void undo() {
    for (; grown_ > 0; --grown_) {
      const CachedPart& part = parts_[grown_ - 1];
      part.sequence->truncate(part.sequence->length() - static_cast<int64_t>(part.ids.size()));
    }
  }
  std::span<const CachedPart> parts_;
  size_t grown_ = 0;
  bool kept_ = false;
};

void check_parts(std::span<const CachedPart> parts, bool behind_encoder) {
  require<ValueError>(!parts.empty(), "decode: expected at least one part, found none");
  for (const CachedPart& part : parts) {
    require<ValueError>(part.sequence != nullptr && !part.ids.empty(),
                        "decode: expected a sequence and tokens in every part");
    require<ValueError>(&part.sequence->cache() == &parts.front().sequence->cache(),
                        "decode: expected the sequences of all parts in one cache");
    require<ValueError>((part.source != nullptr) == behind_encoder,
                        "decode: expected {} source in every part", behind_encoder ? "a" : "no");
  }
}

}  // namespace

std::unique_ptr<KvCache> Transformer::make_cache(int64_t places) const {
  require<ValueError>(decoder_.has_value(), "make_cache: this model has no decoder");
  return decoder_->make_cache(Stack::Keeps::kSelf, places, options());
}

std::unique_ptr<KvCache> Transformer::make_source_cache(int64_t places) const {
  require<ValueError>(decoder_ && encoder_, "make_source_cache: this model has not both stacks");
  return decoder_->make_cache(Stack::Keeps::kSource, places, options());
}

std::vector<CacheSequence> Transformer::keep_sources(const Tensor& encoded,
                                                     std::span<const int64_t> lengths,
                                                     KvCache& cache) const {
  require<ValueError>(decoder_ && encoder_, "keep_sources: this model has not both stacks");
  const int64_t total = std::accumulate(lengths.begin(), lengths.end(), int64_t{0});
  require<ShapeError>(encoded.rank() == 2 && encoded.size(0) == total,
                      "keep_sources: expected [{}, width], found {}", total, encoded.shape().str());
  std::vector<CacheSequence> sources;
  std::vector<int64_t> places;
  for (const int64_t length : lengths) {
    sources.emplace_back(cache).append(length);
    places.insert(places.end(), sources.back().places().begin(), sources.back().places().end());
  }
  decoder_->store_source(encoded, cache, indices(places, encoded.device()));
  return sources;
}

Tensor Transformer::decode(std::span<const CachedPart> parts, Pass pass,
                           const Context& context) const {
  require<ValueError>(decoder_.has_value(), "decode: this model has no decoder");
  check_parts(parts, encoder_.has_value());
  Growth growth(parts);
  Tensor hidden = run_cached(parts, pass, context);
  growth.keep();
  return hidden;
}

// The sequences have grown already.
Tensor Transformer::run_cached(std::span<const CachedPart> parts, Pass pass,
                               const Context& context) const {
  const TokenEmbedding& embedding = encoder_ ? *decoder_tokens_ : *tokens_;
  const PositionSpec& spec = (encoder_ ? spec_.decoder_tokens : spec_.tokens)->positions;
  const bool steps = pass == Pass::kSteps;
  std::vector<int64_t> ids, positions, written;
  RowsBuilder self, cross;
  for (const CachedPart& part : parts) {
    const auto count = static_cast<int64_t>(part.ids.size());
    const int64_t past = part.sequence->length() - count;
    ids.insert(ids.end(), part.ids.begin(), part.ids.end());
    for (int64_t i = 0; i < count; ++i) {
      positions.push_back(spec.first_row + past + i);
      written.push_back(part.sequence->places()[static_cast<size_t>(past + i)]);
      if (steps) self.add(*part.sequence, 1, past + i + 1);
      if (steps && part.source != nullptr) cross.add(*part.source, 1, part.source->length());
    }
    if (!steps) self.add(*part.sequence, count, past + count);
    if (!steps && part.source != nullptr) cross.add(*part.source, count, part.source->length());
  }
  const int64_t last = *std::max_element(positions.begin(), positions.end());
  require<IndexError>(spec.kind != PositionSpec::Kind::kLearned || last < spec.max_positions,
                      "decode: expected at most {} positions, found {}",
                      spec.max_positions - spec.first_row, last + 1 - spec.first_row);
  KvCache& cache = parts.front().sequence->cache();
  const Device device = cache.options().device;
  CacheCall call{.self = &cache, .self_rows = self.build(steps, written, device)};
  if (encoder_) {
    call.cross = &parts.front().source->cache();
    call.cross_rows = cross.build(steps, {}, device);
  }
  StackInput stack;
  stack.cached = &call;
  stack.positions = indices(positions, device);
  const Tensor x = embedding({.ids = indices(ids, device), .positions = stack.positions}, context);
  return (*decoder_)(x, stack, context);
}

}  // namespace glassformer
