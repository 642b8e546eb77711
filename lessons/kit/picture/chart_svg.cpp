// Charts as SVG.
#include <algorithm>
#include <cmath>

#include "lessons/kit/picture/axis.hpp"
#include "lessons/kit/picture/picture.hpp"
#include "lessons/kit/picture/svg.hpp"

namespace tapestry::kit {
namespace {

constexpr double kWidth = 760;
constexpr double kPlotHeight = 320, kPlaneWidth = 480;
constexpr double kRightMargin = 28;
constexpr std::size_t kMostPoints = 2000;  // more are not visible and make the file large

std::vector<double> all_values(const Chart& chart, bool of_x) {
  std::vector<double> values;
  for (const Series& series : chart.series) {
    const std::vector<double>& from = of_x ? series.x : series.y;
    values.insert(values.end(), from.begin(), from.end());
  }
  for (const Level& level : chart.levels) {
    if (!of_x) values.push_back(level.value);
  }
  return values;
}

/// Drawable points of one series, split into runs at the gaps.
class Runs {
 public:
  Runs(const Series& series, const Axis& x, const Axis& y) {
    bool open = false;
    for (std::size_t i = 0; i < std::min(series.x.size(), series.y.size()); ++i) {
      if (!x.drawable(series.x[i]) || !y.drawable(series.y[i])) {
        open = false;
        continue;
      }
      if (!open) runs_.emplace_back();
      open = true;
      runs_.back().emplace_back(x.place(series.x[i]), y.place(series.y[i]));
      ++points_;
    }
  }
  const std::vector<std::vector<Point>>& runs() const { return runs_; }
  std::size_t points() const { return points_; }

 private:
  std::vector<std::vector<Point>> runs_;
  std::size_t points_ = 0;
};

/// Thins a long run to the lowest and the highest point of each piece, so that no spike is lost.
std::vector<Point> thinned(const std::vector<Point>& run) {
  if (run.size() <= kMostPoints) return run;
  std::vector<Point> kept;
  const std::size_t pieces = kMostPoints / 2;
  for (std::size_t piece = 0; piece < pieces; ++piece) {
    const auto begin = run.begin() + static_cast<std::ptrdiff_t>(piece * run.size() / pieces);
    const auto end = run.begin() + static_cast<std::ptrdiff_t>((piece + 1) * run.size() / pieces);
    auto [low, high] = std::minmax_element(begin, end, [](Point a, Point b) { return a.second < b.second; });
    if (high < low) std::swap(low, high);
    kept.push_back(*low);
    if (high != low) kept.push_back(*high);
  }
  return kept;
}

struct Frame {
  double left, top, width, height = kPlotHeight;
  double x(double share) const { return left + share * width; }
  double y(double share) const { return top + (1 - share) * height; }
};

void draw_series(Svg& out, const Series& series, std::size_t number, const Frame& frame, const Axis& x,
                 const Axis& y) {
  const std::string_view colour = svg_series_colour(number);
  const Runs runs(series, x, y);
  for (const std::vector<Point>& run : runs.runs()) {
    std::vector<Point> points = series.mark == Mark::line ? thinned(run) : run;
    for (auto& [px, py] : points) {
      px = frame.x(px);
      py = frame.y(py);
    }
    if (series.mark == Mark::line && points.size() > 1) out.polyline(points, colour, 2.2, series.dashes);
    const bool few = runs.points() > 2 && runs.points() <= 40;
    const bool dots = series.mark == Mark::points || few || run.size() == 1;
    if (!dots) continue;
    for (const auto& [px, py] : points) out.circle(px, py, 3.4, colour);
  }
}

/// Draws the legend in as many rows as it needs, unless there is only one series. Returns its height.
double draw_legend(Svg& out, const Chart& chart, double top) {
  if (chart.series.size() < 2) return 0;
  double x = 24, y = top + 12;
  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    const Series& series = chart.series[i];
    const double wide = 26 + text_width(series.name, 12) + 18;
    if (x > 24 && x + wide > kWidth - kRightMargin) {
      x = 24;
      y += 20;
    }
    if (series.mark == Mark::line) {
      out.line(x, y - 4, x + 20, y - 4, svg_series_colour(i), 2.6);
    } else {
      out.circle(x + 10, y - 4, 4, svg_series_colour(i));
    }
    out.text(x + 26, y, series.name, {12, kInk});
    x += wide;
  }
  return y + 10 - top;
}

double legend_height(const Chart& chart) {
  Svg nowhere(1, 1, "");
  return draw_legend(nowhere, chart, 0);
}

}  // namespace

std::string svg(const Chart& chart) {
  const Axis x_axis(chart.x_scale, all_values(chart, true), 7);
  const Axis y_axis(chart.y_scale, all_values(chart, false), 5);
  double label_width = 0;
  for (const Tick& tick : y_axis.ticks()) label_width = std::max(label_width, text_width(tick.label, 12));

  const double heading = 44 + legend_height(chart);
  Frame frame{24 + label_width + 10, heading + (chart.y_label.empty() ? 12 : 30), 0};
  frame.width = kWidth - kRightMargin - frame.left;
  if (chart.same_units) {
    const auto unit = [](const Axis& axis) { return axis.place(1) - axis.place(0); };
    frame.width = kPlaneWidth;
    frame.height = frame.width * unit(x_axis) / unit(y_axis);
  }
  const double bottom = frame.y(0);
  Svg out(kWidth, bottom + (chart.x_label.empty() ? 36 : 58), chart.title);

  out.text(24, 32, chart.title, {17, kInk, Anchor::start, true});
  draw_legend(out, chart, 44);
  out.text(24, frame.top - 14, chart.y_label, {12, kSoftInk});
  out.text(frame.x(0.5), bottom + 44, chart.x_label, {12, kSoftInk, Anchor::middle});

  for (const Tick& tick : y_axis.ticks()) {
    const double y = frame.y(y_axis.place(tick.value));
    out.line(frame.x(0), y, frame.x(1), y, kGrid);
    out.text(frame.left - 10, y + 4, tick.label, {12, kSoftInk, Anchor::end});
  }
  out.line(frame.x(0), bottom, frame.x(1), bottom, "#9aa5b1", 1.2);
  for (const Tick& tick : x_axis.ticks()) {
    const double x = frame.x(x_axis.place(tick.value));
    out.line(x, bottom, x, bottom + 5, "#9aa5b1", 1.2);
    out.text(x, bottom + 20, tick.label, {12, kSoftInk, Anchor::middle});
  }
  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    draw_series(out, chart.series[i], i, frame, x_axis, y_axis);
  }
  for (const Level& level : chart.levels) {
    if (!y_axis.drawable(level.value)) continue;
    const double share = y_axis.place(level.value);
    const double y = frame.y(share);
    out.line(frame.x(0), y, frame.x(1), y, kSoftInk, 1.3, true);
    out.text(frame.x(1), y + (share > 0.9 ? 16 : -6), level.label,
             {12, kSoftInk, Anchor::end, false, 0, true});
  }
  return out.document();
}

}  // namespace tapestry::kit
