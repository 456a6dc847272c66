// Our side of bench/compare: runs one case at a time for the Python side, which compares and times.
//
// One JSON object a line on stdin, one a line back on stdout, and it stays alive in between:
//
//   {"case": "softmax", "args": {}, "grad": [], "inputs": [{"path", "shape", "dtype"}],
//    "outputs": "PREFIX", "repeats": 1}
//
// makes the case the current one, runs it `repeats` times and answers {"seconds": [...],
// "peak_bytes": n, "outputs": [{"path", "shape", "dtype"}]}; peak_bytes is what the run needed
// beside its inputs. A line without "case" runs the current one again; without "outputs" nothing is
// written. Files are raw little-endian numbers. With "grad", the inputs whose gradients are wanted,
// the last input is the gradient of the result, and only the backward is timed. Whatever goes wrong
// is answered as {"error": "..."}. The case "model" opens a Hugging Face folder: its args are
// {"folder", "dtype", "input"}, the last being the name of its one input, and its result is the
// last hidden state. The case "tokenizer" reads {"file", "text", "lines"}: a tokenizer.json, a text
// file and whether it is encoded line by line; its result is the ids. Without a text the file is
// loaded each time, and the result is the number of tokens. The cases "decode" and "translate" are
// described in generation_cases.h, the case "train" in training_cases.h.
//
// {"floor": {"dtype", "operations", "reads", "writes"}, "repeats": n} answers the "seconds" that
// the machine itself takes for so much, on the memory that the current case has, or, with
// "beyond_caches" in it, reading memory that no cache holds.

#include <chrono>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "ceilings.h"
#include "generation_cases.h"
#include "glassformer/glassformer.h"
#include "own_memory.h"
#include "training_cases.h"

namespace glassformer::bench {
namespace {

using nlohmann::json;
using Inputs = std::vector<Tensor>;
using Run = std::function<Tensor()>;
using Op = std::function<Run(const Inputs& in, const json& args)>;

std::string read_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw FileError("cannot read " + path);
  return {std::istreambuf_iterator<char>(in), {}};
}

Tensor as_tensor(const std::vector<int64_t>& ids) {
  Tensor x = empty(Shape{static_cast<int64_t>(ids.size())}, {DType::kInt64, Device::kCpu});
  x.storage()->copy_in(0, ids.data(), ids.size() * sizeof(int64_t));
  return x;
}

Run tokenizer_case(const json& args) {
  const auto file = args.at("file").get<std::string>();
  const auto path = args.at("text").get<std::string>();
  if (path.empty())
    return
        [=] { return as_tensor({static_cast<int64_t>(Tokenizer::open(file).vocabulary_size())}); };
  const std::string text = read_text(path);
  std::vector<std::string> lines;
  if (args.at("lines").get<bool>()) {
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
  } else {
    lines.push_back(text);
  }
  return [lines, tokenizer = Tokenizer::open(file)] {
    std::vector<int64_t> ids;
    for (const std::string& line : lines) {
      const Encoding encoding = tokenizer.encode(line);
      ids.insert(ids.end(), encoding.ids.begin(), encoding.ids.end());
    }
    return as_tensor(ids);
  };
}

// The ops by the name of their case. Each makes what can be run again and again: what is done once
// for many calls, such as packing a weight, is done before.
const std::map<std::string, Op>& ops() {
  static const std::map<std::string, Op> table = {
      {"linear",
       [](const Inputs& in, const json&) { return [=] { return linear(in[0], in[1], in[2]); }; }},
      {"linear_packed",
       [](const Inputs& in, const json&) {
         return [=, weight = PackedWeight(in[1])] { return linear(in[0], weight, in[2]); };
       }},
      {"attention",
       [](const Inputs& in, const json& args) {
         AttentionOptions options;
         options.causal = args.value("causal", false);
         return [=] { return attention(in[0], in[1], in[2], options).output; };
       }},
      {"layer_norm", [](const Inputs& in,
                        const json&) { return [=] { return layer_norm(in[0], in[1], in[2]); }; }},
      {"rms_norm",
       [](const Inputs& in, const json&) { return [=] { return rms_norm(in[0], in[1]); }; }},
      {"gelu", [](const Inputs& in, const json&) { return [=] { return gelu(in[0]); }; }},
      {"embedding",
       [](const Inputs& in, const json&) { return [=] { return embedding(in[0], in[1]); }; }},
      {"softmax", [](const Inputs& in, const json&) { return [=] { return softmax(in[0]); }; }},
      {"log_softmax",
       [](const Inputs& in, const json&) { return [=] { return log_softmax(in[0]); }; }},
      {"cross_entropy",
       [](const Inputs& in, const json&) { return [=] { return cross_entropy(in[0], in[1]); }; }},
      {"train", train_case},
      {"decode", decode_case},
      {"translate", translate_case},
      {"tokenizer", [](const Inputs&, const json& args) { return tokenizer_case(args); }},
      {"model",
       [](const Inputs& in, const json& args) {
         const auto dtype = dtype_from_name(args.at("dtype").get<std::string>());
         const Model model = Model::open(args.at("folder").get<std::string>(), {.dtype = dtype});
         TransformerInput input;
         (args.at("input") == "pixel_values" ? input.pixel_values : input.input_ids) = in[0];
         return [=] { return model(input).last_hidden_state; };
       }},
  };
  return table;
}

Tensor read_tensor(const json& file) {
  const Shape shape{std::span<const int64_t>(file.at("shape").get<std::vector<int64_t>>())};
  Tensor x = empty(shape, {dtype_from_name(file.at("dtype").get<std::string>()), Device::kCpu});
  const size_t bytes = static_cast<size_t>(x.count()) * size_of(x.dtype());
  std::ifstream in(file.at("path").get<std::string>(), std::ios::binary);
  std::vector<char> content(bytes);
  if (!in.read(content.data(), static_cast<std::streamsize>(bytes)))
    throw FileError("expected " + std::to_string(bytes) + " bytes in " + file.at("path").dump());
  x.storage()->copy_in(0, content.data(), bytes);
  return x;
}

json write_tensor(const Tensor& x_in, const std::string& path) {
  const Tensor x = clone(x_in.detach());
  std::vector<char> content(static_cast<size_t>(x.count()) * size_of(x.dtype()));
  x.storage()->copy_out(content.data(), 0, content.size());
  std::ofstream out(path, std::ios::binary);
  if (!out.write(content.data(), static_cast<std::streamsize>(content.size())))
    throw FileError("cannot write " + path);
  return {{"path", path},
          {"shape", std::vector<int64_t>(x.shape().begin(), x.shape().end())},
          {"dtype", name_of(x.dtype())}};
}

// One case, ready to run any number of times.
class Case {
 public:
  explicit Case(const json& request) {
    const auto name = request.at("case").get<std::string>();
    const auto found = ops().find(name);
    if (found == ops().end()) throw UnsupportedError("case " + name + " is not in this build");
    for (const json& file : request.at("inputs")) inputs_.push_back(read_tensor(file));
    trains_ = name == "train";
    wanted_ = request.value("grad", std::vector<size_t>());
    if (!wanted_.empty()) {
      upstream_ = inputs_.back();
      inputs_.pop_back();
    }
    for (const size_t i : wanted_) inputs_.at(i).set_requires_grad();
    run_ = found->second(inputs_, request.value("args", json::object()));
  }

  // Seconds of one run; its results stay in outputs().
  double run() {
    outputs_.clear();
    for (const size_t i : wanted_) inputs_[i].set_grad(Tensor());
    const Tensor y = wanted_.empty() ? Tensor() : run_();
    const size_t before = memory_stats(Device::kCpu).bytes_in_use;
    reset_peak_memory(Device::kCpu);
    const auto start = std::chrono::steady_clock::now();
    if (wanted_.empty()) {
      std::optional<NoGrad> no_grad;
      if (!trains_) no_grad.emplace();
      outputs_.push_back(run_());
    } else {
      backward({y}, {upstream_});
    }
    const auto end = std::chrono::steady_clock::now();
    peak_bytes_ = memory_stats(Device::kCpu).peak_in_use - before;
    for (const size_t i : wanted_) outputs_.push_back(inputs_[i].grad());
    return std::chrono::duration<double>(end - start).count();
  }

  const std::vector<Tensor>& outputs() const { return outputs_; }
  void forget_outputs() { outputs_.clear(); }
  size_t peak_bytes() const { return peak_bytes_; }

 private:
  Run run_;
  Inputs inputs_;
  std::vector<size_t> wanted_;
  bool trains_ = false;  // by itself
  Tensor upstream_;
  std::vector<Tensor> outputs_;
  size_t peak_bytes_ = 0;
};

// Writes go to where the case had its result, reads come from what else it holds.
json floor_answer(const json& request, Case* current) {
  const json& asked = request.at("floor");
  const Floor floor{.dtype = asked.at("dtype"),
                    .operations = asked.at("operations"),
                    .reads = asked.at("reads"),
                    .writes = asked.at("writes")};
  if (current != nullptr) current->forget_outputs();
  FloorMemory memory;
  std::shared_ptr<Storage> result;
  if (floor.writes > 0) {
    result = Storage::allocate(Device::kCpu, static_cast<size_t>(floor.writes));
    memory.writes.push_back({result->data(), static_cast<size_t>(floor.writes)});
  }
  if (asked.value("beyond_caches", false)) {
    memory.reads = {memory_beyond_caches()};
  } else {
    for (const std::span<std::byte> block : own_memory())
      if (result == nullptr || block.data() != result->data()) memory.reads.push_back(block);
  }
  json seconds = json::array();
  for (int i = request.value("repeats", 1); i > 0; --i)
    seconds.push_back(floor_seconds(floor, memory));
  return {{"seconds", seconds}};
}

json answer(const json& request, std::unique_ptr<Case>& current) {
  if (request.contains("floor")) return floor_answer(request, current.get());
  if (request.contains("case")) {
    current.reset();
    release_cached_memory(Device::kCpu);
    current = std::make_unique<Case>(request);
  }
  if (current == nullptr) throw ValueError("expected a case first");
  json reply = {{"seconds", json::array()}, {"outputs", json::array()}};
  for (int i = request.value("repeats", 1); i > 0; --i) reply["seconds"].push_back(current->run());
  reply["peak_bytes"] = current->peak_bytes();
  if (request.contains("outputs")) {
    const auto prefix = request.at("outputs").get<std::string>();
    for (const Tensor& x : current->outputs())
      reply["outputs"].push_back(
          write_tensor(x, prefix + std::to_string(reply["outputs"].size()) + ".bin"));
  }
  return reply;
}

}  // namespace
}  // namespace glassformer::bench

int main() {
  glassformer::bench::note_own_memory();
  std::unique_ptr<glassformer::bench::Case> current;
  std::string line;
  while (std::getline(std::cin, line)) {
    nlohmann::json reply;
    try {
      reply = glassformer::bench::answer(nlohmann::json::parse(line), current);
    } catch (const std::exception& error) {
      reply = {{"error", error.what()}};
    }
    std::cout << reply.dump() << std::endl;
  }
}
