#pragma once

#include <string>
#include <vector>

#include "glassformer/inspect/look.h"

namespace glassformer {

// What there is to look at in a model and an input, and what of it is wanted.
class LookPlan {
 public:
  // Throws ValueError or IndexError for options that do not fit the model and input.
  LookPlan(const Model& model, const LookInput& input, const LookOptions& options);

  struct Stack {
    const char* name;
    const StackSpec* spec;
    int64_t length;
  };
  const std::vector<Stack>& stacks() const { return stacks_; }
  std::vector<Report::Layer> layers() const;
  const std::vector<Report::Attention>& attentions() const { return attentions_; }
  const Report::Steps& steps() const { return steps_; }

  // The attention that the step ("….weights") is of, or null.
  const Report::Attention* attention_of(const std::string& name, std::string_view step) const;

  // Whether the attention's weights go into the report, and whether in a pass of their own: maps of
  // single heads of a long input, which is otherwise measured by some of its rows.
  bool kept(const Report::Attention& attention) const;
  bool by_itself(const Report::Attention& attention) const;
  // The queries that measures are taken over; empty means all.
  std::vector<int64_t> measured_rows(const Report::Attention& attention) const;

  bool is_probed(const std::string& name) const;
  // A step of the equations that are followed: of an attention, or of its layer around it.
  bool is_step(const std::string& name) const;
  // The query that is followed on the side of the step.
  int64_t row_for(const std::string& name) const;

 private:
  void list_stacks(const Model& model, const TransformerInput& input);
  void list_attentions(const Stack& stack);
  void check() const;
  void choose_steps();
  int64_t length_of(const std::string& side) const;
  bool needs_every_row(const Report::Attention& attention) const;

  const LookOptions& options_;
  std::vector<Stack> stacks_;
  std::vector<Report::Attention> attentions_;
  Report::Steps steps_;
};

}  // namespace glassformer
