#include "cli/text_input.h"

#include <algorithm>
#include <iostream>
#include <numeric>

#include "base/check.h"
#include "glassformer/autograd/no_grad.h"
#include "glassformer/ops/view.h"
#include "text/utf8.h"

namespace glassformer {
namespace {

// Enough for the matrix products to run at full speed; more would only take memory.
constexpr int64_t kTokensAtOnce = 2048;

// T5's bias depends on the place in a sequence, which packed rows share; pictures have no tokens.
bool can_pack(const Model& model) {
  const TransformerSpec& spec = model.transformer().spec();
  return !(spec.encoder && spec.decoder) &&
         spec.last_stack().positions.kind != PositionSpec::Kind::kRelative;
}

TextBatch batch_of(const std::vector<Encoding>& encodings, std::vector<size_t> texts, bool packed) {
  TextBatch batch{.texts = std::move(texts), .starts = {0}, .input = {}};
  std::vector<int64_t> ids, types;
  for (const size_t text : batch.texts) {
    const Encoding& encoding = encodings[text];
    ids.insert(ids.end(), encoding.ids.begin(), encoding.ids.end());
    types.insert(types.end(), encoding.type_ids.begin(), encoding.type_ids.end());
    batch.starts.push_back(static_cast<int64_t>(ids.size()));
  }
  const auto count = static_cast<int64_t>(ids.size());
  const Shape shape = packed ? Shape{count} : Shape{1, count};
  batch.input.input_ids = from_vector(ids, shape);
  batch.input.token_type_ids = from_vector(types, shape);
  if (packed)
    batch.input.starts = from_vector(batch.starts, {static_cast<int64_t>(batch.starts.size())});
  return batch;
}

// [1, tokens, width] of a model that cannot pack → [tokens, width].
void drop_batch_axis(Tensor& x, int rank) {
  if (x.defined() && x.rank() == rank) x = select(x, 0, 0);
}

}  // namespace

std::vector<std::string> texts_from(const std::vector<std::string>& arguments) {
  std::vector<std::string> texts = arguments;
  if (texts.empty())
    for (std::string line; std::getline(std::cin, line);) {
      if (line.ends_with('\r')) line.pop_back();
      texts.push_back(line);
    }
  for (std::string& text : texts)
    if (valid_utf8(text) != text.size()) text = replace_invalid_utf8(text);
  return texts;
}

std::vector<Encoding> encode_for(const Model& model, const Tokenizer& tokenizer,
                                 const std::vector<std::string>& texts,
                                 const TextRunOptions& options) {
  EncodeOptions encode;
  const int64_t most = options.max_length > 0 ? options.max_length : model.config().max_positions;
  encode.file_settings = false;  // a file may pad to a fixed length, which nothing here needs
  if (most > 0) encode.truncation = Truncation{.max_length = static_cast<size_t>(most)};
  std::vector<std::string> firsts = texts, seconds;
  if (options.pairs) {
    for (std::string& text : firsts) {
      const size_t tab = text.find('\t');
      require<ValueError>(tab != std::string::npos,
                          "expected two texts parted by a tab, found \"{}\"", text);
      seconds.push_back(text.substr(tab + 1));
      text.resize(tab);
    }
  }
  std::vector<Encoding> encodings = tokenizer.encode_batch(firsts, seconds, encode);
  for (size_t i = 0; i < encodings.size(); ++i)
    require<ValueError>(!encodings[i].ids.empty(), "text {} has no tokens: \"{}\"", i + 1,
                        texts[i]);
  return encodings;
}

void run_over_texts(const Model& model, const std::vector<Encoding>& encodings,
                    const std::function<void(const TextBatch&, const TransformerOutput&)>& take) {
  const NoGrad no_grad;
  const bool packed = can_pack(model);
  std::vector<size_t> order(encodings.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return encodings[a].ids.size() > encodings[b].ids.size();
  });
  for (size_t next = 0; next < order.size();) {
    std::vector<size_t> texts;
    int64_t tokens = 0;
    do {
      texts.push_back(order[next]);
      tokens += static_cast<int64_t>(encodings[order[next]].ids.size());
      ++next;
    } while (packed && next < order.size() &&
             tokens + static_cast<int64_t>(encodings[order[next]].ids.size()) <= kTokensAtOnce);
    const TextBatch batch = batch_of(encodings, std::move(texts), packed);
    TransformerOutput output = model(batch.input);
    if (!packed) {
      drop_batch_axis(output.last_hidden_state, 3);
      drop_batch_axis(output.logits, 3);
    }
    take(batch, output);
  }
}

}  // namespace glassformer
