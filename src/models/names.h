#pragma once

#include <string>
#include <utility>
#include <vector>

namespace glassformer {

// How a stored tensor differs from ours. Ours is: the stored one, turned if it is a matrix, and of
// that part `part` of `parts` equal ones along its first axis.
struct StoredForm {
  bool transposed = false;
  int part = 0, parts = 1;
  bool row = false;  // stored with a leading axis of size 1
};

// Our names of weights and those of a checkpoint. A rule replaces the start of a name; `*` stands
// for the number of a layer, and what follows stays:
//   add("encoder.*.norm_1", "encoder.layer.*.layernorm_before")
//   "encoder.3.norm_1.bias" → "encoder.layer.3.layernorm_before.bias"
// `~` at the start of theirs is the base model's own prefix ("bert."), which is there if the model
// has a head and may be missing otherwise. Where several rules fit one name, each is a spelling
// that files use, the first being the one that is written.
class NameMap {
 public:
  explicit NameMap(std::string prefix = "") : prefix_(std::move(prefix)) {}

  NameMap& add(std::string ours, std::string theirs, StoredForm form = {});
  // Both below one pair of names; `pairs` are {ours, theirs}.
  NameMap& below(const std::string& ours, const std::string& theirs,
                 const std::vector<std::pair<std::string, std::string>>& pairs);

  // The rules of another map for its base model, with this one's prefix.
  NameMap& append_base(const NameMap& other);

  const std::string& prefix() const { return prefix_; }
  // For a base model, which is stored without.
  void drop_prefix() { prefix_.clear(); }

  struct Stored {
    std::string name;
    StoredForm form;
  };
  // Every spelling of one of our names, best first; empty where no rule fits.
  std::vector<Stored> find(const std::string& ours) const;

 private:
  struct Rule {
    std::string ours, theirs;
    StoredForm form;
  };
  std::string prefix_;
  std::vector<Rule> rules_;
};

}  // namespace glassformer
