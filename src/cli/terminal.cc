#include "cli/terminal.h"

#include <algorithm>
#include <cstdlib>
#include <sys/ioctl.h>
#include <unistd.h>

#include <fmt/format.h>

#include "text/utf8.h"

namespace glassformer {
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

int width_of_stdout() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  const int columns = std::atoi(environment("COLUMNS").c_str());
  return columns > 0 ? columns : 80;
}

bool is_within(char32_t c, char32_t first, char32_t last) { return c >= first && c <= last; }

// Characters over the one before, and those that turn the direction of text.
bool takes_no_column(char32_t c) {
  return is_within(c, 0x300, 0x36F) || is_within(c, 0x483, 0x489) || is_within(c, 0x591, 0x5BD) ||
         is_within(c, 0x610, 0x61A) || is_within(c, 0x64B, 0x65F) || is_within(c, 0x93A, 0x93C) ||
         is_within(c, 0x941, 0x948) || is_within(c, 0xE34, 0xE3A) || is_within(c, 0xE47, 0xE4E) ||
         is_within(c, 0x1AB0, 0x1AFF) || is_within(c, 0x20D0, 0x20FF) ||
         is_within(c, 0xFE00, 0xFE0F) || is_within(c, 0xFE20, 0xFE2F);
}

bool takes_two_columns(char32_t c) {
  return is_within(c, 0x1100, 0x115F) || is_within(c, 0x2E80, 0x303E) ||
         is_within(c, 0x3041, 0xA4CF) || is_within(c, 0xAC00, 0xD7A3) ||
         is_within(c, 0xF900, 0xFAFF) || is_within(c, 0xFE30, 0xFE6F) ||
         is_within(c, 0xFF00, 0xFF60) || is_within(c, 0xFFE0, 0xFFE6) ||
         is_within(c, 0x1F300, 0x1F64F) || is_within(c, 0x1F900, 0x1F9FF) ||
         is_within(c, 0x20000, 0x3FFFD);
}

bool is_invisible(char32_t c) {
  return is_within(c, 0x80, 0x9F) || is_within(c, 0x200B, 0x200F) || is_within(c, 0x2028, 0x202E) ||
         is_within(c, 0x2060, 0x206F) || c == 0xAD || c == 0x61C || c == 0xFEFF ||
         is_within(c, 0xFFF0, 0xFFFB) || c >= 0xE0000;
}

int columns_of(char32_t c) { return takes_no_column(c) ? 0 : takes_two_columns(c) ? 2 : 1; }

}  // namespace

Terminal Terminal::of_stdout(const std::string& wish) {
  Terminal terminal;
  terminal.width = std::clamp(width_of_stdout(), 40, 400);
  const bool can = isatty(STDOUT_FILENO) != 0 && environment("TERM") != "dumb" &&
                   environment("NO_COLOR").empty();
  if (wish == "never" || (wish == "auto" && !can)) return terminal;
  const std::string depth = environment("COLORTERM");
  terminal.colours = depth == "truecolor" || depth == "24bit" ? Colours::kAll : Colours::k256;
  return terminal;
}

std::string Terminal::code(Colour colour, bool ground) const {
  const int kind = ground ? 48 : 38;
  if (colours == Colours::kAll)
    return fmt::format("\033[{};2;{};{};{}m", kind, colour.red, colour.green, colour.blue);
  // The cube of 6 × 6 × 6 colours, whose steps are 0, 95, 135, 175, 215, 255.
  const auto step = [](int byte) { return byte < 48 ? 0 : byte < 115 ? 1 : (byte - 35) / 40; };
  return fmt::format("\033[{};5;{}m", kind,
                     16 + 36 * step(colour.red) + 6 * step(colour.green) + step(colour.blue));
}

std::string Terminal::on(Colour ground, std::string_view text) const {
  return coloured() ? fmt::format("{}{}\033[0m", code(ground, true), text) : std::string(text);
}

std::string Terminal::in(Colour ink, Colour ground, std::string_view text) const {
  return coloured() ? fmt::format("{}{}{}\033[0m", code(ink, false), code(ground, true), text)
                    : std::string(text);
}

std::string Terminal::bold(std::string_view text) const {
  return coloured() ? fmt::format("\033[1m{}\033[0m", text) : std::string(text);
}

std::string Terminal::faint(std::string_view text) const {
  return coloured() ? fmt::format("\033[2m{}\033[0m", text) : std::string(text);
}

std::string visible(std::string_view text) {
  const std::string whole = replace_invalid_utf8(text);
  std::string result;
  for (size_t at = 0; at < whole.size();) {
    const char32_t c = next_character(whole, at);
    if (c == '\n')
      result += "⏎";
    else if (c == '\t')
      result += "→";
    else if (c < 0x20)
      append_utf8(result, 0x2400 + c);
    else if (c == 0x7F)
      result += "␡";
    else
      append_utf8(result, is_invisible(c) ? 0xFFFD : c);
  }
  return result;
}

int columns_of(std::string_view text) {
  int columns = 0;
  for (size_t at = 0; at < text.size();) columns += columns_of(next_character(text, at));
  return columns;
}

std::string fitted(std::string_view text, int columns, bool to_the_right) {
  const int whole = columns_of(text);
  if (whole <= columns) {
    const std::string space(static_cast<size_t>(columns - whole), ' ');
    return to_the_right ? space + std::string(text) : std::string(text) + space;
  }
  int taken = 0;
  size_t end = 0;
  for (size_t at = 0; at < text.size(); end = at) {
    const int more = columns_of(next_character(text, at));
    if (taken + more > columns - 1) break;
    taken += more;
  }
  return std::string(text.substr(0, end)) + "…" +
         std::string(static_cast<size_t>(std::max(columns - 1 - taken, 0)), ' ');
}

}  // namespace glassformer
