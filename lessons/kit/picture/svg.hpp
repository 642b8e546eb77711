// The few SVG shapes that the pictures need, in one style.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tapestry::kit {

using Point = std::pair<double, double>;

/// Text safe inside XML: < > & " ' as entities; what XML 1.0 forbids, and invalid UTF-8, as U+FFFD.
std::string xml_escape(std::string_view text);

/// About how wide `text` is in the pictures' font at `size` pixels; errs on the wide side.
double text_width(std::string_view text, double size);
/// The same of the widest of some texts.
double widest(const std::vector<std::string>& texts, double size);

/// The pictures' colours: dark enough on white, and apart for colour-blind readers (after Okabe and Ito).
std::string_view svg_series_colour(std::size_t series);

/// A pale-to-deep blue for a share in [0, 1]; values outside are clamped. "#rrggbb".
std::string svg_heat_colour(double share);
/// The same of a signed map: deep brown at 0, pale at a half, deep blue at 1 (both halves equally dark).
std::string svg_signed_colour(double share);

inline constexpr std::string_view kInk = "#1f2933";
inline constexpr std::string_view kSoftInk = "#52606d";
inline constexpr std::string_view kGrid = "#e4e7eb";
inline constexpr std::string_view kPaper = "#ffffff";

enum class Anchor { start, middle, end };

/// A document under construction. Coordinates are pixels from the top left; numbers that are not finite are
/// written as 0.
class Svg {
 public:
  struct TextStyle {
    double size = 12;
    std::string_view colour = kSoftInk;
    Anchor anchor = Anchor::start;
    bool bold = false;
    double rotate = 0;  ///< degrees, clockwise, about the text's own place
    bool halo = false;  ///< a rim of paper, for text on top of lines
  };

  Svg(double width, double height, std::string_view title);

  void rect(double x, double y, double width, double height, std::string_view fill, double radius = 0,
            std::string_view stroke = "");
  void line(double x1, double y1, double x2, double y2, std::string_view stroke, double width = 1,
            bool dashed = false);
  /// `dashes` 1 and 2 leave gaps, each where the other has none.
  void polyline(const std::vector<Point>& points, std::string_view stroke, double width, int dashes = 0);
  void circle(double x, double y, double radius, std::string_view fill);
  /// A smooth line through the points, mostly downwards, with an arrow head at its end; `up`: at its start.
  void arrow(const std::vector<Point>& points, std::string_view stroke, bool up = false);
  void text(double x, double y, std::string_view content, const TextStyle& style);

  /// The finished document.
  std::string document() const;

 private:
  std::string body_;
  double width_;
  double height_;
  std::string title_;
};

}  // namespace tapestry::kit
