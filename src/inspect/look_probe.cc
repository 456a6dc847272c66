#include "inspect/look_probe.h"

#include <algorithm>

#include "glassformer/inspect/measures.h"
#include "glassformer/ops/arithmetic.h"
#include "glassformer/ops/copy.h"
#include "glassformer/ops/gather.h"
#include "glassformer/ops/reduce.h"
#include "glassformer/ops/view.h"

namespace glassformer {

Tensor reported(const Tensor& x) {
  const Tensor one = x.rank() > 0 && x.size(0) == 1 ? select(x, 0, 0) : x;
  return contiguous(cast(to(one, Device::kCpu), DType::kFloat32));
}

LookProbe::LookProbe(const LookPlan& plan, const LookInput& input, const LookOptions& options,
                     Report& report)
    : plan_(plan), input_(input), options_(options), report_(report) {
  report_.attentions = plan.attentions();
}

bool LookProbe::for_lens(const std::string& name) const {
  return options_.lens && matches(std::string(plan_.stacks().back().name) + ".*.block", name);
}

ProbeWish LookProbe::wish(const std::string& name) {
  // Asked several times for the steps inside an attention.
  if (std::find(seen_.rbegin(), seen_.rend(), name) == seen_.rend()) seen_.push_back(name);
  if (const Report::Attention* attention = plan_.attention_of(name, ".weights"))
    return {ProbeWish::Kind::kRead, {}, plan_.measured_rows(*attention)};
  if (plan_.is_probed(name) || for_lens(name)) return {ProbeWish::Kind::kRead};
  if (!plan_.is_step(name)) return {};
  if (name.ends_with("_scores")) return {ProbeWish::Kind::kRead, {}, {plan_.row_for(name)}};
  return {ProbeWish::Kind::kRead};
}

void LookProbe::read(const std::string& name, const Tensor& value) {
  if (name.ends_with(".weights")) return take_weights(name, value);
  if (for_lens(name)) blocks_[name] = value;
  const bool probed = plan_.is_probed(name);
  if (!probed && !plan_.is_step(name)) return;
  Tensor x = reported(value);
  const bool by_heads =
      name.ends_with(".query") || name.ends_with(".key") || name.ends_with(".value");
  if (!probed && name.ends_with("_scores")) x = select(x, 1, 0);
  if (!probed && !by_heads && !name.ends_with("_scores")) x = select(x, 0, plan_.row_for(name));
  report_.tensors[name] = clone(x);
}

Tensor LookProbe::replace(const std::string&, const Tensor& value) { return value; }

void LookProbe::take_weights(const std::string& name, const Tensor& value) {
  const Report::Attention& planned = *plan_.attention_of(name, ".weights");
  Report::Attention& attention =
      report_.attentions[static_cast<size_t>(&planned - plan_.attentions().data())];
  const Tensor weights = reported(value);
  measure(attention, weights);
  if (plan_.measured_rows(attention).empty()) {
    if (attention.cross)
      cross_means_.push_back(mean(weights, {0}));
    else if (options_.rollout == LookOptions::Rollout::kAttention)
      means_[attention.queries].push_back(mean(weights, {0}, /*keep=*/true));
  }
  if (plan_.is_probed(name)) report_.tensors[name] = weights;
  if (!plan_.kept(attention) || plan_.by_itself(attention)) return;
  report_.tensors[name] = weights;
  for (const int64_t head : options_.heads)
    if (head < attention.heads) attention.kept_heads.push_back(head);
  const auto count = static_cast<int64_t>(attention.kept_heads.size());
  if (count > 0)
    report_.tensors[name] = index_select(weights, 0, from_vector(attention.kept_heads, {count}));
}

void LookProbe::measure(Report::Attention& attention, const Tensor& weights) const {
  auto& measures = attention.measures;
  measures["entropy"] = attention_entropy(weights);
  measures["cls"] = first_token_score(weights);
  if (attention.cross) return;
  Places places{.queries = plan_.measured_rows(attention)};
  if (input_.picture) {
    places.columns = input_.picture->columns;
    places.prefix = input_.picture->prefix;
  }
  measures["distance"] = attention_distance(weights, places);
  if (input_.picture) return;
  measures["previous_token"] = previous_token_score(weights, places);
  const bool behind = plan_.stacks().size() == 2 && attention.queries == "decoder";
  const Tensor& ids = behind ? input_.input.decoder_input_ids : input_.input.input_ids;
  if (ids.defined())
    measures["induction"] = induction_score(weights, ids.to_vector<int64_t>(), places);
}

Tensor LookProbe::cross_mean() const {
  if (cross_means_.empty()) return {};
  Tensor sum = cross_means_.front();
  for (size_t i = 1; i < cross_means_.size(); ++i) sum = sum + cross_means_[i];
  return sum / static_cast<double>(cross_means_.size());
}

}  // namespace glassformer
