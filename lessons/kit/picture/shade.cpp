// Shades of heatmap cells: colours for SVG and terminals, characters for terminals without colours.
#include "lessons/kit/picture/shade.hpp"

#include <array>
#include <cmath>

#include "lessons/kit/picture/svg.hpp"

namespace tapestry::kit {
namespace {

// From near-black over blue and green to pale yellow, with monotonically increasing brightness.
constexpr std::array<int, 9> kHeat = {235, 23, 24, 31, 37, 72, 114, 186, 229};
// From bright orange over near-black (zero) to bright blue.
constexpr std::array<int, 9> kSigned = {215, 208, 130, 94, 235, 24, 31, 39, 117};
constexpr std::array<const char*, 5> kShades = {"·", "░", "▒", "▓", "█"};

template <std::size_t n>
std::size_t step(double share) {
  return static_cast<std::size_t>(std::lround(share * (n - 1)));
}

/// Returns the intensity of a share: 0 at the palest colour, 1 at the darkest. For a signed map, both ends are 1.
double strength(const Heatmap& map, double share) {
  return map.is_signed() ? std::abs(2 * share - 1) : share;
}

}  // namespace

std::string svg_shade(const Heatmap& map, double share) {
  return map.is_signed() ? svg_signed_colour(share) : svg_heat_colour(share);
}

bool is_dark(const Heatmap& map, double share) { return strength(map, share) > 0.5; }

std::string terminal_shade(const Heatmap& map, double share, const std::string& inside,
                           const Terminal& terminal) {
  const std::size_t place = step<kHeat.size()>(share);
  if (map.is_signed())
    return paint_background(terminal, strength(map, share) > 0.5 ? 16 : 252, kSigned[place], inside);
  return paint_background(terminal, place > 4 ? 16 : 252, kHeat[place], inside);
}

std::string plain_shade(const Heatmap& map, double share, int width) {
  const std::size_t level = step<kShades.size()>(strength(map, share));
  const bool minus = map.is_signed() && share < 0.5 && level > 0 && width > 1;
  std::string out = minus ? "-" : "";
  for (int i = minus ? 1 : 0; i < width; ++i) out += kShades[level];
  return out;
}

}  // namespace tapestry::kit
