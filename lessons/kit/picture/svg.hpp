// SVG writer with the shapes, text and colours that the pictures use.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tapestry::kit {

using Point = std::pair<double, double>;

/// Escapes text for XML: < > & " ' become entities. Invalid UTF-8 and characters that XML 1.0 forbids become U+FFFD.
std::string xml_escape(std::string_view text);

/// Estimates the width of `text` in pixels at font size `size`. The estimate is rather too wide than too narrow.
double text_width(std::string_view text, double size);
/// Returns the largest text_width() of `texts`.
double widest(const std::vector<std::string>& texts, double size);

/// Returns the colour of a series, one of eight. They are dark enough on white and distinguishable for colour-blind
/// readers (after Okabe and Ito).
std::string_view svg_series_colour(std::size_t series);

/// Returns a blue "#rrggbb", from pale at share 0 to dark at 1. Shares outside [0, 1] are clamped.
std::string svg_heat_colour(double share);
/// Returns the colour for a signed map: dark brown at 0, pale at 0.5, dark blue at 1. Both halves are equally dark.
std::string svg_signed_colour(double share);

inline constexpr std::string_view kInk = "#1f2933";
inline constexpr std::string_view kSoftInk = "#52606d";
inline constexpr std::string_view kGrid = "#e4e7eb";
inline constexpr std::string_view kPaper = "#ffffff";

enum class Anchor { start, middle, end };

/// Builder of an SVG document. Coordinates are pixels from the top left. Numbers that are not finite are written as 0.
class Svg {
 public:
  struct TextStyle {
    double size = 12;
    std::string_view colour = kSoftInk;
    Anchor anchor = Anchor::start;
    bool bold = false;
    double rotate = 0;  ///< degrees clockwise about (x, y) of the text
    bool halo = false;  ///< outline in the background colour, for text on top of lines
  };

  Svg(double width, double height, std::string_view title);

  void rect(double x, double y, double width, double height, std::string_view fill, double radius = 0,
            std::string_view stroke = "");
  void line(double x1, double y1, double x2, double y2, std::string_view stroke, double width = 1,
            bool dashed = false);
  /// Draws a polyline. `dashes` is 0 for a solid line; the gaps of styles 1 and 2 do not coincide.
  void polyline(const std::vector<Point>& points, std::string_view stroke, double width, int dashes = 0);
  void circle(double x, double y, double radius, std::string_view fill);
  /// Draws a smooth, mostly vertical line through the points, with an arrow head at its end, or at its start if `up`.
  void arrow(const std::vector<Point>& points, std::string_view stroke, bool up = false);
  void text(double x, double y, std::string_view content, const TextStyle& style);

  /// Returns the complete document.
  std::string document() const;

 private:
  std::string body_;
  double width_;
  double height_;
  std::string title_;
};

}  // namespace tapestry::kit
