#pragma once

namespace glassformer {

// Whether ops record on the tape, on this thread.
bool grad_enabled();

// Sets that for a scope.
class GradScope {
 public:
  explicit GradScope(bool enabled);
  ~GradScope();
  GradScope(const GradScope&) = delete;
  GradScope& operator=(const GradScope&) = delete;

 private:
  bool before_;
};

// Nothing inside is recorded: for inference and for updating parameters.
class NoGrad : public GradScope {
 public:
  NoGrad() : GradScope(false) {}
};

}  // namespace glassformer
