// What the place we print to can show: a terminal or not, colours or not, how wide.
#pragma once

#include <string>
#include <string_view>

namespace tapestry::kit {

/// A description of an output. A plain value, so that tests can make one up.
struct Terminal {
  bool interactive = false;  ///< a person is watching: lines may be redrawn
  bool colour = false;       ///< interactive, NO_COLOR is unset or empty, and TERM is not "dumb"
  int columns = 100;

  /// Looks at the file descriptor (1 standard output, 2 standard error) and the environment.
  static Terminal of(int descriptor);
};

/// `text` in one of the 256 standard colours; unchanged where there are no colours.
std::string paint(const Terminal& terminal, int colour, std::string_view text);

/// `text` on a background of one of the 256 standard colours; unchanged where there are no colours.
std::string paint_background(const Terminal& terminal, int text_colour, int background,
                             std::string_view text);

/// `text` in bold; unchanged where there are no colours.
std::string bold(const Terminal& terminal, std::string_view text);

/// Colours of the 256 that tell series apart for colour-blind readers and stand out on dark and light.
int series_colour(std::size_t series);

inline constexpr int kGreen = 35;
inline constexpr int kRed = 167;
inline constexpr int kGrey = 245;

}  // namespace tapestry::kit
