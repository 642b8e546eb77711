// SVG writer with the shapes, text and colours that the pictures use.
#include "lessons/kit/picture/svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "lessons/kit/text/utf8.hpp"

namespace tapestry::kit {
namespace {

/// Formats a coordinate with at most two decimals and without trailing zeros.
std::string number(double value) {
  if (!std::isfinite(value)) return "0";
  std::string text = fmt::format("{:.2f}", value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

bool allowed_in_xml(char32_t point) {
  if (point < 0x20) return point == '\t' || point == '\n' || point == '\r';
  return point != 0xFFFE && point != 0xFFFF;
}

}  // namespace

std::string xml_escape(std::string_view text) {
  std::string out;
  for (const char32_t point : code_points(text)) {
    switch (point) {
      case U'<':
        out += "&lt;";
        break;
      case U'>':
        out += "&gt;";
        break;
      case U'&':
        out += "&amp;";
        break;
      case U'"':
        out += "&quot;";
        break;
      case U'\'':
        out += "&#39;";
        break;
      default:
        append_utf8(out, allowed_in_xml(point) ? point : U'\uFFFD');
    }
  }
  return out;
}

double text_width(std::string_view text, double size) { return 0.61 * size * display_width(text); }

std::string_view svg_series_colour(std::size_t series) {
  static constexpr std::array<std::string_view, 8> kColours = {"#0072b2", "#d55e00", "#009e73", "#b5588f",
                                                               "#c98a00", "#3b9fd6", "#616e7c", "#7a4a21"};
  return kColours[series % kColours.size()];
}

double widest(const std::vector<std::string>& texts, double size) {
  double wide = 0;
  for (const std::string& text : texts) wide = std::max(wide, text_width(text, size));
  return wide;
}

namespace {

struct Colour {
  double red, green, blue;
};

/// Interpolates linearly between the stops, which divide [0, 1] evenly.
template <std::size_t n>
std::string mixed(const std::array<Colour, n>& stops, double share) {
  const double place = std::clamp(std::isnan(share) ? 0.0 : share, 0.0, 1.0) * (n - 1);
  const auto low = std::min(static_cast<std::size_t>(place), n - 2);
  const double part = place - static_cast<double>(low);
  const auto mix = [part](double a, double b) { return static_cast<int>(std::lround(a + part * (b - a))); };
  const Colour &a = stops[low], &b = stops.at(low + 1);
  return fmt::format("#{:02x}{:02x}{:02x}", mix(a.red, b.red), mix(a.green, b.green), mix(a.blue, b.blue));
}

}  // namespace

std::string svg_heat_colour(double share) {
  static constexpr std::array<Colour, 6> kStops = {
      {{246, 248, 251}, {212, 228, 241}, {150, 195, 222}, {80, 150, 198}, {28, 98, 161}, {8, 45, 99}}};
  return mixed(kStops, share);
}

std::string svg_signed_colour(double share) {
  static constexpr std::array<Colour, 7> kStops = {{{99, 45, 4},
                                                    {179, 98, 22},
                                                    {236, 178, 110},
                                                    {246, 248, 251},
                                                    {150, 195, 222},
                                                    {28, 98, 161},
                                                    {8, 45, 99}}};
  return mixed(kStops, share);
}

Svg::Svg(double width, double height, std::string_view title)
    : width_(std::ceil(width)), height_(std::ceil(height)), title_(xml_escape(title)) {}

void Svg::rect(double x, double y, double width, double height, std::string_view fill, double radius,
               std::string_view stroke) {
  body_ += fmt::format(R"(<rect x="{}" y="{}" width="{}" height="{}" fill="{}")", number(x), number(y),
                       number(std::max(width, 0.0)), number(std::max(height, 0.0)), fill);
  if (radius > 0) body_ += fmt::format(R"( rx="{}")", number(radius));
  if (!stroke.empty()) body_ += fmt::format(R"( stroke="{}" stroke-width="1.4")", stroke);
  body_ += "/>\n";
}

void Svg::line(double x1, double y1, double x2, double y2, std::string_view stroke, double width,
               bool dashed) {
  body_ += fmt::format(R"(<line x1="{}" y1="{}" x2="{}" y2="{}" stroke="{}" stroke-width="{}"{}/>)",
                       number(x1), number(y1), number(x2), number(y2), stroke, number(width),
                       dashed ? R"( stroke-dasharray="6 4")" : "");
  body_ += '\n';
}

void Svg::polyline(const std::vector<Point>& points, std::string_view stroke, double width, int dashes) {
  std::string list;
  for (const auto& [x, y] : points)
    list += fmt::format("{}{},{}", list.empty() ? "" : " ", number(x), number(y));
  body_ += fmt::format(R"(<polyline points="{}" fill="none" stroke="{}" stroke-width="{}")", list, stroke,
                       number(width));
  if (dashes > 0)
    body_ += fmt::format(R"( stroke-dasharray="12 24" stroke-dashoffset="{}")", number(-12 * (dashes - 1)));
  body_ += fmt::format(" stroke-linejoin=\"round\" stroke-linecap=\"{}\"/>\n", dashes > 0 ? "butt" : "round");
}

void Svg::circle(double x, double y, double radius, std::string_view fill) {
  body_ += fmt::format(R"(<circle cx="{}" cy="{}" r="{}" fill="{}" stroke="{}" stroke-width="0.8"/>)",
                       number(x), number(y), number(radius), fill, kPaper);
  body_ += '\n';
}

void Svg::arrow(const std::vector<Point>& points, std::string_view stroke, bool up) {
  if (points.size() < 2) return;
  constexpr double kHead = 7;
  std::vector<Point> line = points;  // stops where the arrow head begins
  const auto [x, y] = up ? points.front() : points.back();
  const double down = up ? -1 : 1;
  (up ? line.front() : line.back()).second -= down * kHead;
  std::string path = fmt::format("M{} {}", number(line[0].first), number(line[0].second));
  for (std::size_t i = 1; i < line.size(); ++i) {
    const auto [x0, y0] = line[i - 1];
    const auto [x1, y1] = line[i];
    const double bend = (y1 - y0) / 2;
    path += fmt::format(" C{} {} {} {} {} {}", number(x0), number(y0 + bend), number(x1), number(y1 - bend),
                        number(x1), number(y1));
  }
  body_ += fmt::format(R"(<path d="{}" fill="none" stroke="{}" stroke-width="1.4"/>)", path, stroke);
  const double wide_end = y - down * (kHead + 0.5);
  body_ += fmt::format(R"(<path d="M{} {} L{} {} L{} {} Z" fill="{}"/>)", number(x), number(y), number(x - 4),
                       number(wide_end), number(x + 4), number(wide_end), stroke);
  body_ += '\n';
}

void Svg::text(double x, double y, std::string_view content, const TextStyle& style) {
  static constexpr std::array<std::string_view, 3> kAnchors = {"start", "middle", "end"};
  body_ += fmt::format(R"(<text x="{}" y="{}" font-size="{}" fill="{}")", number(x), number(y),
                       number(style.size), style.colour);
  if (style.anchor != Anchor::start) {
    body_ += fmt::format(R"( text-anchor="{}")", kAnchors[static_cast<std::size_t>(style.anchor)]);
  }
  if (style.halo) body_ += fmt::format(R"( paint-order="stroke" stroke="{}" stroke-width="6")", kPaper);
  if (style.bold) body_ += " font-weight=\"600\"";
  if (style.rotate != 0) {
    body_ += fmt::format(" transform=\"rotate({} {} {})\"", number(style.rotate), number(x), number(y));
  }
  body_ += fmt::format(">{}</text>\n", xml_escape(content));
}

std::string Svg::document() const {
  std::string out = fmt::format(
      R"(<svg xmlns="http://www.w3.org/2000/svg" width="{0}" height="{1}" viewBox="0 0 {0} {1}" role="img")",
      number(width_), number(height_));
  out += " font-family=\"Inter, 'Helvetica Neue', Helvetica, Arial, 'DejaVu Sans', sans-serif\">\n";
  out += fmt::format("<title>{}</title>\n", title_);
  out += fmt::format(R"(<rect width="{}" height="{}" fill="{}"/>)", number(width_), number(height_), kPaper);
  return out + '\n' + body_ + "</svg>\n";
}

}  // namespace tapestry::kit
