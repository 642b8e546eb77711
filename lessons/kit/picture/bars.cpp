// Bar charts as SVG and as terminal text.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "lessons/kit/picture/axis.hpp"
#include "lessons/kit/picture/picture.hpp"
#include "lessons/kit/picture/svg.hpp"
#include "lessons/kit/text/utf8.hpp"

namespace tapestry::kit {
namespace {

Axis axis_of(const Bars& bars, int ticks) {
  std::vector<double> values = {0};
  for (const Bar& bar : bars.bars) values.push_back(bar.value);
  if (bars.level) values.push_back(bars.level->value);
  return Axis(Scale::linear, values, ticks);
}

/// Returns a bar whose length is `eighths` eighths of a column.
std::string blocks(int eighths) {
  static constexpr std::array<const char*, 8> kPart = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  std::string out;
  for (int i = 0; i < eighths / 8; ++i) out += "█";
  return out + kPart[static_cast<std::size_t>(eighths % 8)];
}

}  // namespace

std::string svg(const Bars& bars) {
  constexpr double kWidth = 760, kStep = 34, kThick = 22;
  const Axis axis = axis_of(bars, 6);
  double labels = 0;
  for (const Bar& bar : bars.bars) labels = std::max(labels, text_width(bar.label, 13));
  labels = std::min(labels, kWidth / 2);
  const int most = static_cast<int>(kWidth / 2 / text_width(" ", 13));
  const double left = 24 + labels + 12, width = kWidth - 70 - left;
  const double top = bars.level ? 74 : 58, bottom = top + kStep * static_cast<double>(bars.bars.size()) + 4;
  const auto x = [&](double value) { return left + axis.place(value) * width; };

  Svg out(kWidth, bottom + (bars.x_label.empty() ? 36 : 58), bars.title);
  out.text(24, 32, bars.title, {17, kInk, Anchor::start, true});
  for (const Tick& tick : axis.ticks()) {
    out.line(x(tick.value), top - 6, x(tick.value), bottom, kGrid);
    out.text(x(tick.value), bottom + 20, tick.label, {12, kSoftInk, Anchor::middle});
  }
  out.text(left + width / 2, bottom + 44, bars.x_label, {12, kSoftInk, Anchor::middle});
  if (bars.level && axis.drawable(bars.level->value)) {
    const double at = x(bars.level->value);
    out.line(at, top - 8, at, bottom, kSoftInk, 1.3, true);
    const double half = text_width(bars.level->label, 12) / 2;
    out.text(std::min(at, kWidth - 8 - half), top - 14, bars.level->label, {12, kSoftInk, Anchor::middle});
  }
  double y = top;
  for (const Bar& bar : bars.bars) {
    out.text(left - 12, y + kThick / 2 + 5, cut_to(bar.label, most), {13, kInk, Anchor::end});
    if (axis.drawable(bar.value)) {
      const double from = std::min(x(0), x(bar.value)), to = std::max(x(0), x(bar.value));
      out.rect(from, y, to - from, kThick, svg_series_colour(0), 2);
      const bool below = bar.value < 0;
      out.text(below ? from - 8 : to + 8, y + kThick / 2 + 4, fmt::format("{:.4g}", bar.value),
               {12, kInk, below ? Anchor::end : Anchor::start, false, 0, true});
    }
    y += kStep;
  }
  out.line(x(0), top - 6, x(0), bottom, "#9aa5b1", 1.2);
  return out.document();
}

std::string text(const Bars& bars, const Terminal& terminal) {
  int labels = 0;
  for (const Bar& bar : bars.bars) labels = std::max(labels, display_width(printable(bar.label)));
  labels = std::min(labels, terminal.columns / 3);
  const int room = std::clamp(terminal.columns - labels - 16, 4, 60);
  double largest = 0;
  for (const Bar& bar : bars.bars) {
    if (std::isfinite(bar.value)) largest = std::max(largest, std::abs(bar.value));
  }
  std::string out = "  " + bold(terminal, cut_to(printable(bars.title), terminal.columns - 2)) + "\n";
  for (const Bar& bar : bars.bars) {
    const bool drawable = std::isfinite(bar.value) && largest > 0;
    const int eighths =
        drawable ? static_cast<int>(std::lround(std::abs(bar.value) / largest * room * 8)) : 0;
    const int colour = series_colour(bar.value < 0 ? 1 : 0);
    out += fmt::format("  {} │{} {:.4g}\n", pad_left(cut_to(printable(bar.label), labels), labels),
                       paint(terminal, colour, blocks(eighths)), bar.value);
  }
  std::string note = printable(bars.x_label);
  if (bars.level) {
    note += fmt::format("{}{}: {:.4g}", note.empty() ? "" : "   ", printable(bars.level->label),
                        bars.level->value);
  }
  if (!note.empty()) out += "  " + cut_to(note, terminal.columns - 2) + "\n";
  return out;
}

}  // namespace tapestry::kit
