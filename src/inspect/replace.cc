#include "glassformer/inspect/replace.h"

#include "base/check.h"
#include "glassformer/ops/copy.h"
#include "glassformer/ops/create.h"
#include "glassformer/ops/pointwise.h"
#include "glassformer/ops/reduce.h"
#include "glassformer/ops/view.h"
#include "nn/probing.h"
#include "tensor/shape_format.h"

namespace glassformer {
namespace {

constexpr std::string_view kHead = ".head.", kHeads = ".heads";

// Of "decoder.3.self_attention.head.5", what stands before the head; empty for other steps.
std::string_view attention_in(std::string_view step) {
  const size_t at = step.rfind(kHead);
  return at == std::string_view::npos ? std::string_view() : step.substr(0, at);
}

std::string place_of(const std::string& name) {
  return name.ends_with(kHeads) ? name.substr(0, name.size() - kHeads.size()) : std::string();
}

// true at `chosen` (all where it is empty) along an axis of `rank`, to broadcast against a tensor.
Tensor choice(const std::vector<int64_t>& chosen, int64_t count, int axis, int rank,
              Device device) {
  std::vector<bool> mask(static_cast<size_t>(count), chosen.empty());
  for (const int64_t i : chosen) {
    require<IndexError>(i >= 0 && i < count, "expected a head or row from 0 to {}, found {}",
                        count - 1, i);
    mask[static_cast<size_t>(i)] = true;
  }
  Shape shape = Dims::filled(rank, 1);
  shape[axis] = count;
  return from_vector(mask, shape, device);
}

// The axis of tokens: [batch, heads, length, size] and [batch, length, width].
int tokens_axis(const Tensor& x) { return x.rank() == 4 ? 2 : x.rank() - 2; }

bool inside_attention(const std::string& name) {
  return name.ends_with("scores") || name.ends_with(".weights");
}

}  // namespace

Ablation::Ablation(std::vector<std::string> steps, To to)
    : steps_(std::move(steps)), used_(steps_.size()), to_(to) {}

ProbeWish Ablation::wish(const std::string& name) {
  const std::string place = place_of(name);
  for (const std::string& step : steps_) {
    const std::string_view attention = attention_in(step);
    if (matches(step, name) || (!attention.empty() && matches(attention, place)))
      return {ProbeWish::Kind::kReplace};
  }
  return {};
}

void Ablation::read(const std::string&, const Tensor&) {}

Tensor Ablation::replace(const std::string& name, const Tensor& value) {
  const std::string place = place_of(name);
  bool whole = false;
  std::vector<int64_t> heads;
  for (size_t i = 0; i < steps_.size(); ++i) {
    if (matches(steps_[i], name)) used_[i] = whole = true;
    for (int64_t head = 0; !place.empty() && head < value.size(1); ++head) {
      if (!matches(steps_[i], place + std::string(kHead) + std::to_string(head))) continue;
      used_[i] = true;
      heads.push_back(head);
    }
  }
  if (!whole && heads.empty()) return value;
  const bool packed_heads = !place.empty() && value.rank() == 3;  // [tokens, heads, size]
  const Tensor other = to_ == To::kZero || value.rank() < 2
                           ? zeros({1}, value.options())
                           : mean(value, {packed_heads ? 0 : tokens_axis(value)}, /*keep=*/true);
  if (whole) return clone(expand(other, value.shape()));
  return where(choice(heads, value.size(1), 1, value.rank(), value.device()), other, value);
}

std::vector<std::string> Ablation::unused() const {
  std::vector<std::string> names;
  for (size_t i = 0; i < steps_.size(); ++i)
    if (!used_[i]) names.push_back(steps_[i]);
  return names;
}

Patch::Patch(const Capture& other, std::vector<std::string> patterns, std::vector<int64_t> heads,
             std::vector<int64_t> rows)
    : other_(other),
      patterns_(std::move(patterns)),
      heads_(std::move(heads)),
      rows_(std::move(rows)) {}

ProbeWish Patch::wish(const std::string& name) {
  const Tensor value = other_.value(name);
  if (!value.defined() || (!heads_.empty() && value.rank() != 4)) return {};
  for (const std::string& pattern : patterns_)
    if (matches(pattern, name)) return {ProbeWish::Kind::kReplace};
  return {};
}

void Patch::read(const std::string&, const Tensor&) {}

Tensor Patch::replace(const std::string& name, const Tensor& value) {
  Tensor other = other_.value(name);
  require<ShapeError>(other.shape() == value.shape(),
                      "patch: {} has shape {}, and {} in the other run", name, value.shape(),
                      other.shape());
  const int rank = value.rank();
  if (!heads_.empty())
    other = where(choice(heads_, value.size(1), 1, rank, value.device()), other, value);
  if (rows_.empty() || rank < 3) return other;
  const int axis = tokens_axis(value);
  return where(choice(rows_, value.size(axis), axis, rank, value.device()), other, value);
}

ProbeWish Probes::wish(const std::string& name) {
  ProbeWish all;
  int readers = 0;
  for (Probe* probe : probes_) {
    ProbeWish one = probe->wish(name);
    if (one.kind == ProbeWish::Kind::kNothing) continue;
    if (one.kind == ProbeWish::Kind::kReplace) return one;
    all = ++readers == 1 ? one : ProbeWish{ProbeWish::Kind::kRead};
  }
  return all;
}

void Probes::read(const std::string& name, const Tensor& value) {
  const ProbeWish all = wish(name);
  for (Probe* probe : probes_) {
    const ProbeWish one = probe->wish(name);
    if (one.kind != ProbeWish::Kind::kRead) continue;
    const bool cut = inside_attention(name) && all.heads.empty() && all.rows.empty();
    probe->read(name, cut ? asked_for(one, value) : value);
  }
}

Tensor Probes::replace(const std::string& name, const Tensor& value) {
  Tensor x = value;
  for (Probe* probe : probes_)
    if (probe->wish(name).kind == ProbeWish::Kind::kReplace) x = probe->replace(name, x);
  for (Probe* probe : probes_) {
    const ProbeWish one = probe->wish(name);
    if (one.kind != ProbeWish::Kind::kRead) continue;
    probe->read(name, inside_attention(name) ? asked_for(one, x) : x);
  }
  return x;
}

}  // namespace glassformer
