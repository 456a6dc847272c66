#include "glassformer/training/task.h"

#include <array>
#include <utility>

#include "base/named_choice.h"

namespace glassformer {
namespace {

constexpr std::array<std::pair<const char*, Task>, 8> kTasks{{
    {"causal_lm", Task::kCausalLm},
    {"masked_lm", Task::kMaskedLm},
    {"sequence_to_sequence", Task::kSequenceToSequence},
    {"sequence_classification", Task::kSequenceClassification},
    {"token_classification", Task::kTokenClassification},
    {"embedding", Task::kEmbedding},
    {"image_classification", Task::kImageClassification},
    {"table", Task::kTable},
}};

}  // namespace

Task task_of(const std::string& name) { return named_choice<Task>("task", name, kTasks); }

const char* name_of(Task task) {
  for (const auto& [name, one] : kTasks)
    if (one == task) return name;
  return "unknown";
}

}  // namespace glassformer
