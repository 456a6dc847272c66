#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "text/normalized_text.h"

namespace glassformer {

// A text cut into pieces, in order. Each is a range of one of the texts below; cutting a piece
// copies nothing, changing one gives it a text of its own. A piece that an added token matched is
// done, and no later step touches it.
class Pieces {
 public:
  static constexpr uint32_t kNoToken = UINT32_MAX;

  struct Piece {
    uint32_t text;        // index of the text it is a range of
    uint32_t begin, end;  // bytes of that text
    uint32_t token;       // id of the added token it is, or kNoToken
  };

  // One piece, all of `original`.
  void assign(std::string_view original);

  const std::vector<Piece>& list() const { return list_; }
  std::string_view view(const Piece& piece) const {
    return texts_[piece.text].view().substr(piece.begin, piece.end - piece.begin);
  }
  // What bytes [begin, end) of a piece stand for in the original.
  Span original(const Piece& piece, uint32_t begin, uint32_t end) const {
    return texts_[piece.text].original(piece.begin + begin, piece.begin + end);
  }

  // Cuts each open piece: cut(view, emit) calls emit(begin, end, token = kNoToken) for the parts
  // to keep, in order. Empty parts vanish.
  template <class Cut>
  void split(Cut&& cut) {
    next_.clear();
    for (const Piece& piece : list_) {
      if (piece.token != kNoToken) {
        next_.push_back(piece);
        continue;
      }
      cut(view(piece), [&](size_t begin, size_t end, uint32_t token = kNoToken) {
        if (begin < end)
          next_.push_back({piece.text, piece.begin + static_cast<uint32_t>(begin),
                           piece.begin + static_cast<uint32_t>(end), token});
      });
    }
    list_.swap(next_);
  }

  // edit(text, first) on each open piece, which gets a text of its own; `first`: it stands for the
  // beginning of the original. Pieces that become empty vanish.
  template <class Edit>
  void edit(Edit&& edit) {
    next_.clear();
    for (const Piece& piece : list_) {
      if (piece.token != kNoToken) {
        next_.push_back(piece);
        continue;
      }
      const Piece own = isolate(piece);
      NormalizedText& text = texts_[own.text];
      edit(text, text.original(0, static_cast<uint32_t>(text.view().size())).begin == 0);
      if (!text.empty())
        next_.push_back({own.text, 0, static_cast<uint32_t>(text.view().size()), kNoToken});
    }
    list_.swap(next_);
  }

 private:
  // The piece as the whole of a text, which no other piece shares.
  Piece isolate(const Piece& piece);
  NormalizedText& new_text();

  std::vector<NormalizedText> texts_;  // the first used_ are in use; the rest keep their memory
  size_t used_ = 0;
  std::vector<Piece> list_;
  std::vector<Piece> next_;
};

}  // namespace glassformer
