#include "text/bpe.h"

#include "base/check.h"
#include "text/byte_alphabet.h"
#include "text/utf8.h"

namespace glassformer {
Bpe::Bpe(Vocabulary vocabulary,
         const std::vector<std::pair<std::string_view, std::string_view>>& merges,
         BpeOptions options, const std::string& where)
    : PieceModel(std::move(vocabulary)), options_(std::move(options)) {
  if (options_.unknown) unknown_ = vocabulary_.find(*options_.unknown);
  for (unsigned byte = 0; byte < 256; ++byte) {
    byte_ids_[byte] = vocabulary_.find(to_utf8(byte_to_character(static_cast<unsigned char>(byte))))
                          .value_or(kNoToken);
    fallback_ids_[byte] = vocabulary_.find(fmt::format("<0x{:02X}>", byte)).value_or(kNoToken);
  }
  if (options_.byte_level && options_.ignore_merges)
    vocabulary_.each([&](std::string_view token, uint32_t id) {
      if (const auto bytes = to_bytes(token)) bytes_.add(*bytes, id);
    });
  read_merges(merges, where);
}

void Bpe::read_merges(const std::vector<std::pair<std::string_view, std::string_view>>& merges,
                      const std::string& where) {
  merges_ = BpeMerges(merges.size());
  const auto id_of = [&](std::string_view token, size_t rank) {
    const auto id = vocabulary_.find(token);
    require<FileError>(id.has_value(), "{}: merge {} needs the token '{}', which is not there",
                       where, rank, token);
    return *id;
  };
  std::string joined;
  for (size_t rank = 0; rank < merges.size(); ++rank) {
    const auto& [left, right] = merges[rank];
    joined = left;
    require<FileError>(right.size() >= options_.prefix.size(),
                       "{}: merge {}: '{}' is shorter than the prefix '{}'", where, rank, right,
                       options_.prefix);
    joined.append(right.substr(options_.prefix.size()));
    const uint32_t left_id = id_of(left, rank), right_id = id_of(right, rank);
    merges_.add(left_id, right_id, static_cast<uint32_t>(rank), id_of(joined, rank));
  }
}

uint32_t Bpe::unknown_id() const {
  require<ValueError>(unknown_.has_value(), "BPE: the unknown token '{}' is not in the vocabulary",
                      *options_.unknown);
  return *unknown_;
}

bool Bpe::add_byte_tokens(std::string_view character, ModelScratch& scratch) const {
  for (const char byte : character)
    if (fallback_ids_[static_cast<unsigned char>(byte)] == kNoToken) return false;
  for (const char byte : character) {
    scratch.ids.push_back(fallback_ids_[static_cast<unsigned char>(byte)]);
    scratch.sizes.push_back(1);
  }
  return true;
}

void Bpe::start_with_bytes(std::string_view piece, ModelScratch& scratch) const {
  for (const char byte : piece) {
    uint32_t id = byte_ids_[static_cast<unsigned char>(byte)];
    if (id == kNoToken) {
      if (!options_.unknown) continue;
      id = unknown_id();
      // An unknown byte is an unknown character: fused, it makes the one before it longer.
      if (options_.fuse_unknown && !scratch.ids.empty() && scratch.ids.back() == id) {
        ++scratch.sizes.back();
        continue;
      }
    }
    scratch.ids.push_back(id);
    scratch.sizes.push_back(1);
  }
}

void Bpe::start_with_characters(std::string_view piece, ModelScratch& scratch) const {
  uint32_t open_unknown = 0;  // bytes of unknown characters that are not written yet
  const auto flush = [&] {
    if (open_unknown == 0) return;
    scratch.ids.push_back(*unknown_);
    scratch.sizes.push_back(open_unknown);
    open_unknown = 0;
  };
  for (size_t at = 0; at < piece.size();) {
    const auto size = static_cast<uint32_t>(character_size(piece[at]));
    std::string_view symbol = piece.substr(at, size);
    const bool last = at + size == piece.size();
    if ((at > 0 && !options_.prefix.empty()) || (last && !options_.suffix.empty())) {
      scratch.text.clear();
      if (at > 0) scratch.text += options_.prefix;
      scratch.text += symbol;
      if (last) scratch.text += options_.suffix;
      symbol = scratch.text;
    }
    at += size;
    if (const auto id = vocabulary_.find(symbol)) {
      flush();
      scratch.ids.push_back(*id);
      scratch.sizes.push_back(size);
    } else if (options_.byte_fallback && add_byte_tokens(symbol, scratch)) {
      continue;
    } else if (options_.unknown) {
      unknown_id();
      if (!options_.fuse_unknown) flush();
      open_unknown += size;
    }
  }
  flush();
}

void Bpe::tokenize(std::string_view piece, ModelScratch& scratch,
                   std::vector<PieceToken>& tokens) const {
  if (options_.ignore_merges) {
    if (const auto id = (options_.byte_level ? bytes_ : vocabulary_).find(piece)) {
      tokens.push_back({*id, 0, static_cast<uint32_t>(piece.size())});
      return;
    }
  }
  size_t slot = 0;
  if (const auto known = scratch.cache.find(piece, slot); !known.empty()) {
    tokens.insert(tokens.end(), known.begin(), known.end());
    return;
  }
  scratch.ids.clear();
  scratch.sizes.clear();
  if (options_.byte_level) {
    start_with_bytes(piece, scratch);
  } else {
    start_with_characters(piece, scratch);
  }
  merges_.apply(scratch.ids, scratch.sizes, scratch.merging);
  const size_t first = tokens.size();
  uint32_t at = 0;
  for (size_t i = 0; i < scratch.ids.size(); ++i) {
    tokens.push_back({scratch.ids[i], at, at + scratch.sizes[i]});
    at += scratch.sizes[i];
  }
  scratch.cache.insert(piece, slot, std::span(tokens).subspan(first));
}

}  // namespace glassformer
