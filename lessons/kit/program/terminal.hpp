// Capabilities of an output: interactive or not, colours, width.
#pragma once

#include <string>
#include <string_view>

namespace tapestry::kit {

/// Description of an output. It is a plain value, so that tests can construct any terminal.
struct Terminal {
  bool interactive = false;  ///< a terminal that is not "dumb": lines may be redrawn
  bool colour = false;       ///< interactive, NO_COLOR is unset or empty, and TERM is not "dumb"
  int columns = 100;

  /// Detects the capabilities of a file descriptor (1 standard output, 2 standard error) from it and the environment.
  static Terminal of(int descriptor);
};

/// Returns `text` in one of the 256 standard colours, or unchanged if the terminal has no colours.
std::string paint(const Terminal& terminal, int colour, std::string_view text);

/// Returns `text` on a background of one of the 256 standard colours, or unchanged if the terminal has no colours.
std::string paint_background(const Terminal& terminal, int text_colour, int background,
                             std::string_view text);

/// Returns `text` in bold, or unchanged if the terminal has no colours.
std::string bold(const Terminal& terminal, std::string_view text);

/// Returns the colour of a series, one of eight of the 256 standard colours. They are distinguishable for colour-blind
/// readers and visible on dark and light backgrounds.
int series_colour(std::size_t series);

inline constexpr int kGreen = 35;
inline constexpr int kRed = 167;
inline constexpr int kGrey = 245;

}  // namespace tapestry::kit
