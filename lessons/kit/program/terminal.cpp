// Capabilities of an output: interactive or not, colours, width.
#include "lessons/kit/program/terminal.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

namespace tapestry::kit {
namespace {

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

}  // namespace

Terminal Terminal::of(int descriptor) {
  Terminal terminal;
  terminal.interactive = ::isatty(descriptor) == 1 && environment("TERM") != "dumb";
  terminal.colour = terminal.interactive && environment("NO_COLOR").empty();
  winsize size{};
  if (terminal.interactive && ::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    terminal.columns = std::clamp<int>(size.ws_col, 20, 400);
  }
  return terminal;
}

std::string paint(const Terminal& terminal, int colour, std::string_view text) {
  if (!terminal.colour) return std::string(text);
  return fmt::format("\x1b[38;5;{}m{}\x1b[0m", colour, text);
}

std::string paint_background(const Terminal& terminal, int text_colour, int background,
                             std::string_view text) {
  if (!terminal.colour) return std::string(text);
  return fmt::format("\x1b[38;5;{};48;5;{}m{}\x1b[0m", text_colour, background, text);
}

std::string bold(const Terminal& terminal, std::string_view text) {
  if (!terminal.colour) return std::string(text);
  return fmt::format("\x1b[1m{}\x1b[0m", text);
}

int series_colour(std::size_t series) {
  static constexpr std::array<int, 8> kColours = {32, 208, 36, 175, 178, 74, 245, 130};
  return kColours[series % kColours.size()];
}

}  // namespace tapestry::kit
