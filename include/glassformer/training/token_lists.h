#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace glassformer {

// Lists of token ids, end to end, in half the memory of int64.
class TokenLists {
 public:
  // Throws ValueError for ids that are no int32.
  void add(std::span<const int64_t> ids);
  void add(std::span<const int32_t> ids);

  int64_t size() const { return static_cast<int64_t>(starts_.size()) - 1; }
  int64_t length(int64_t list) const { return static_cast<int64_t>((*this)[list].size()); }
  std::span<const int32_t> operator[](int64_t list) const {
    const auto i = static_cast<size_t>(list);
    return std::span(ids_).subspan(static_cast<size_t>(starts_[i]),
                                   static_cast<size_t>(starts_[i + 1] - starts_[i]));
  }
  // Of all lists.
  std::span<const int32_t> ids() const { return ids_; }

 private:
  std::vector<int32_t> ids_;
  std::vector<int64_t> starts_{0};
};

}  // namespace glassformer
