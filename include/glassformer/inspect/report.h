#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "glassformer/image/image.h"
#include "glassformer/inspect/anatomy.h"
#include "glassformer/tensor/tensor.h"

namespace glassformer {

// Everything that a look inside a model found: what the terminal view, pictures, files and the page
// are written from. What does not apply is empty. docs/look.md has the JSON and the tensors' names.
struct Report {
  struct Model {
    std::string name, family;  // "gpt2"
    std::string stack;         // "encoder", "decoder", "encoder_decoder" or "vision"
    std::vector<std::string> description;
    Anatomy anatomy;
  };
  // A token; start and end are bytes of the side's text, equal where it stands for none.
  struct Token {
    int64_t id = 0;
    std::string text;
    int64_t start = 0, end = 0;
  };
  struct Side {
    std::vector<Token> tokens;
    std::string text;
  };
  // The picture as the model saw its frame: `prefix` tokens, then rows × columns patches.
  struct Picture {
    Image frame;
    int64_t rows = 0, columns = 0, prefix = 0;
  };
  struct Layer {
    std::string name, side;  // "encoder.3", "encoder"
  };
  struct Attention {
    std::string name;  // "encoder.3.self_attention"
    int64_t layer = 0;
    bool cross = false, causal = false;
    std::string queries, keys;  // sides
    int64_t heads = 0, head_size = 0;
    // One number a head: "entropy", "distance", "previous_token", "induction", "cls" (see
    // measures.h); NaN where the input says nothing about it.
    std::map<std::string, std::vector<double>> measures = {};
    // The heads whose weights are among the tensors, in their order; all of them where it is empty.
    std::vector<int64_t> kept_heads = {};
  };
  struct Steps {
    std::map<std::string, int64_t> rows;  // the query that is followed, on each side
    std::vector<std::string> attentions;  // whose steps are among the tensors
  };
  struct Guess {
    std::string text;  // a label or a token
    int64_t id = 0;
    double probability = 0;
  };
  using Guesses = std::vector<Guess>;  // best first
  struct Prediction {
    std::string kind;  // "classification", "next_token", "masked", "tokens" or "answer"
    struct Row {
      int64_t position = 0;
      Guesses top;
    };
    std::vector<Row> rows;
  };
  struct LensLayer {
    std::string name;
    std::vector<Guesses> positions;
  };
  struct Words {
    std::vector<std::pair<int64_t, int64_t>> source, target;  // first and last token of each
    struct Pair {
      int64_t source = 0, target = 0;  // words
      double weight = 0;
    };
    std::vector<Pair> pairs;
  };
  // What gradients were taken of, for saliency and gradient-weighted rollout: the logit of a label
  // or token at a position.
  struct Output {
    int64_t position = 0, id = 0;
    std::string text;
  };
  struct Saliency {
    std::string method;  // "gradient" or "integrated_gradients"
    std::string target;  // what is explained, in words
    std::string side;
  };
  struct Ablation {
    std::vector<std::string> steps;
    Prediction before;  // Report::prediction is what it became
  };
  struct Generation {
    struct Chosen {
      Guess token;
      Guesses alternatives;
    };
    std::vector<Chosen> tokens;
    std::string tree;  // JSON as in decoding/beam_tree.h, each node with the text of its token
  };

  Model model;
  std::map<std::string, Side> sides;  // "encoder", "decoder"
  std::optional<Picture> picture;
  std::vector<Layer> layers;
  std::vector<Attention> attentions;
  Steps steps;
  // Side, or "cross" for the decoder's tokens by the encoder's: name of the tensor.
  std::map<std::string, std::string> rollout;
  std::optional<Output> explained;
  std::optional<Words> alignment;
  std::vector<LensLayer> lens;
  std::optional<Saliency> saliency;
  std::optional<Prediction> prediction;
  std::optional<Ablation> ablation;
  std::optional<Generation> generation;

  std::map<std::string, Tensor> tensors;  // float32 on the cpu
};

// All but the tensors, as a JSON object. `indent` as nlohmann's dump() has it.
std::string meta_json(const Report& report, int indent = -1);

// The same with "tensors": {name: {"shape": [...], "data": [...]}}, numbers in row-major order;
// null where one is not finite.
std::string to_json(const Report& report);

// The tensors, and meta_json() under "report" in the header's free texts. Throws FileError.
void write_report(const std::filesystem::path& path, const Report& report);

}  // namespace glassformer
