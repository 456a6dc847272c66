#include "kernels/attention.h"

#include "base/check.h"
#include "kernels/access.h"

namespace glassformer {
namespace {

// starts[0] = 0 <= starts[1] <= ... = total.
void check_starts(const char* name, const Tensor& starts, int64_t total) {
  const int64_t* at = input<int64_t>(starts);
  const int64_t last = starts.count() - 1;
  require<IndexError>(at[0] == 0 && at[last] == total,
                      "attention: expected {} to run from 0 to {}, found {} to {}", name, total,
                      at[0], at[last]);
  for (int64_t i = 0; i < last; ++i)
    require<IndexError>(at[i] <= at[i + 1],
                        "attention: expected {} that never fall, found {} before {} at {}", name,
                        at[i], at[i + 1], i);
}

}  // namespace

std::vector<AttentionSpan> attention_spans(const Tensor& query, const AttentionInputs& in) {
  std::vector<AttentionSpan> spans;
  const int64_t queries = query.size(2), keys = in.key.size(2);
  if (in.query_starts.defined()) {
    check_starts("query_starts", in.query_starts, queries);
    check_starts("key_starts", in.key_starts, keys);
    const int64_t* q = input<int64_t>(in.query_starts);
    const int64_t* k = input<int64_t>(in.key_starts);
    for (int64_t s = 0; s + 1 < in.query_starts.count(); ++s) {
      const int64_t q_count = q[s + 1] - q[s], k_count = k[s + 1] - k[s];
      spans.push_back({0, q[s], q_count, k[s], k_count, k_count - q_count});
    }
    return spans;
  }
  for (int64_t b = 0; b < query.size(0); ++b) {
    AttentionSpan span{b, 0, queries, 0, keys, keys - queries};
    if (in.key_lengths.defined()) {
      span.k_count = input<int64_t>(in.key_lengths)[b];
      require<IndexError>(span.k_count >= 0 && span.k_count <= keys,
                          "attention: expected key_lengths from 0 to {}, found {} at {}", keys,
                          span.k_count, b);
    }
    if (in.query_offsets.defined()) span.diagonal = input<int64_t>(in.query_offsets)[b];
    spans.push_back(span);
  }
  return spans;
}

const AttentionSpan& span_of(const std::vector<AttentionSpan>& spans, int64_t batch, int64_t row) {
  for (const AttentionSpan& span : spans)
    if (span.batch == batch && row >= span.q_begin && row < span.q_begin + span.q_count)
      return span;
  throw InternalError("attention: a row outside every span");
}

}  // namespace glassformer
