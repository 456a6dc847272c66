#pragma once

#include <string>
#include <string_view>

#include "glassformer/inspect/heat_map.h"

namespace glassformer {

// How the standard output is to be written on.
struct Terminal {
  enum class Colours { kNone, k256, kAll };
  Colours colours = Colours::kNone;
  int width = 80;

  // `wish`: "auto", "always" or "never". On auto there is colour on a terminal that is not dumb,
  // unless NO_COLOR is set.
  static Terminal of_stdout(const std::string& wish);

  bool coloured() const { return colours != Colours::kNone; }
  // The text in a colour, on one, or bold or faint; as it is where there are no colours.
  std::string on(Colour ground, std::string_view text) const;
  std::string in(Colour ink, Colour ground, std::string_view text) const;
  std::string bold(std::string_view text) const;
  std::string faint(std::string_view text) const;

 private:
  std::string code(Colour colour, bool ground) const;
};

// A text in one line that no terminal acts upon: controls, and characters that turn or join others,
// become signs for them. Invalid UTF-8 becomes U+FFFD.
std::string visible(std::string_view text);

// Columns that a visible() text takes.
int columns_of(std::string_view text);
// Cut (with an ellipsis) or filled with spaces to so many columns.
std::string fitted(std::string_view text, int columns, bool to_the_right = false);

}  // namespace glassformer
