#include "text/pieces.h"

namespace glassformer {

NormalizedText& Pieces::new_text() {
  if (used_ == texts_.size()) texts_.emplace_back();
  return texts_[used_++];
}

void Pieces::assign(std::string_view original) {
  used_ = 0;
  list_.clear();
  new_text().assign(original);
  if (!original.empty()) list_.push_back({0, 0, static_cast<uint32_t>(original.size()), kNoToken});
}

Pieces::Piece Pieces::isolate(const Piece& piece) {
  const auto size = static_cast<uint32_t>(texts_[piece.text].view().size());
  if (piece.begin == 0 && piece.end == size) return piece;
  new_text();  // may move the others
  texts_[used_ - 1].assign(texts_[piece.text], piece.begin, piece.end);
  return {static_cast<uint32_t>(used_ - 1), 0, piece.end - piece.begin, kNoToken};
}

}  // namespace glassformer
