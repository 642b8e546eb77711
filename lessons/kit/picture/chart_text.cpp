// Charts as terminal text: braille lines, or glyphs if several curves must be distinguished without colour.
#include <algorithm>
#include <array>
#include <cmath>

#include "lessons/kit/picture/axis.hpp"
#include "lessons/kit/picture/canvas.hpp"
#include "lessons/kit/picture/picture.hpp"
#include "lessons/kit/text/utf8.hpp"

namespace tapestry::kit {
namespace {

constexpr int kPlotRows = 15;
constexpr int kMostPlotColumns = 76;
constexpr std::array<const char*, 7> kHeavy = {"●", "○", "▲", "△", "■", "□", "◆"};
constexpr std::array<const char*, 4> kLight = {"·", "+", "×", "~"};
constexpr int kGap = 2;  // in columns; dots join the points of a line that are further apart

class Plot {
 public:
  Plot(const Chart& chart, const Terminal& terminal)
      : chart_(chart),
        terminal_(terminal),
        x_(chart.x_scale, values(chart, true), std::clamp(terminal.columns / 14, 2, 6)),
        y_(chart.y_scale, values(chart, false), 4) {
    for (const Tick& tick : y_.ticks()) labels_ = std::max(labels_, display_width(tick.label));
    columns_ = std::clamp(terminal.columns - labels_ - 6, 1, kMostPlotColumns);
    braille_ = terminal.colour || chart.series.size() < 2;
    const auto is_line = [](const Series& series) { return series.mark == Mark::line; };
    mixed_ = std::any_of(chart.series.begin(), chart.series.end(), is_line) &&
             !std::all_of(chart.series.begin(), chart.series.end(), is_line);
  }

  std::string draw() const {
    Canvas canvas(labels_ + 2 + columns_ + 2, kPlotRows + 2);
    draw_axes(canvas);
    for (const Level& level : chart_.levels) draw_level(canvas, level);
    if (!braille_) {
      for (std::size_t i = 0; i < chart_.series.size(); ++i) join_series(canvas, i);
    }
    for (const Mark mark : {Mark::line, Mark::points})  // points are drawn on top
      for (std::size_t i = 0; i < chart_.series.size(); ++i)
        if (chart_.series[i].mark == mark) draw_series(canvas, i);
    std::string out = "  " + bold(terminal_, fitted(chart_.title)) + "\n" + legend();
    if (!chart_.y_label.empty()) out += "  " + fitted(chart_.y_label) + "\n";
    out += canvas.text(terminal_, 2);
    if (!chart_.x_label.empty()) {
      const std::string label = fitted(chart_.x_label);
      const int before = std::max(0, labels_ + 2 + (columns_ - display_width(label)) / 2);
      out += cut_to(std::string(static_cast<std::size_t>(before) + 2, ' ') + label, terminal_.columns) + "\n";
    }
    return out;
  }

 private:
  static std::vector<double> values(const Chart& chart, bool of_x) {
    std::vector<double> all;
    for (const Series& series : chart.series) {
      const std::vector<double>& from = of_x ? series.x : series.y;
      all.insert(all.end(), from.begin(), from.end());
    }
    for (const Level& level : chart.levels) {
      if (!of_x) all.push_back(level.value);
    }
    return all;
  }

  std::string fitted(const std::string& words) const {
    return cut_to(printable(words), terminal_.columns - 2);
  }

  std::string legend() const {
    if (chart_.series.size() < 2) return "";
    std::string out = " ";
    int used = 1;
    for (std::size_t i = 0; i < chart_.series.size(); ++i) {
      const std::string name = cut_to(printable(chart_.series[i].name), terminal_.columns - 6);
      const int wide = display_width(name) + 4;
      if (used + wide > terminal_.columns && used > 1) {
        out += "\n ";
        used = 1;
      }
      const bool line = braille_ && chart_.series[i].mark == Mark::line;
      out += " " +
             paint(terminal_, series_colour(i),
                   line       ? "━"
                   : braille_ ? "•"
                              : glyph(i)) +
             " " + name + " ";
      used += wide;
    }
    return out + "\n";
  }

  int left() const { return labels_ + 2; }
  int row_of(double share) const { return static_cast<int>(std::lround((1 - share) * (kPlotRows - 1))); }
  int column_of(double share) const { return left() + static_cast<int>(std::lround(share * (columns_ - 1))); }

  /// Returns the glyph of a series in a terminal without colours. If a chart mixes lines and points, lines get light
  /// glyphs, so that the points are easy to see.
  const char* glyph(std::size_t number) const {
    if (!mixed_) return kHeavy[number % kHeavy.size()];
    const Mark mark = chart_.series[number].mark;
    const auto before = static_cast<std::size_t>(
        std::count_if(chart_.series.begin(), chart_.series.begin() + static_cast<std::ptrdiff_t>(number),
                      [mark](const Series& series) { return series.mark == mark; }));
    return mark == Mark::line ? kLight[before % kLight.size()] : kHeavy[before % kHeavy.size()];
  }

  /// Joins the points of a line in a terminal without colours. If the chart also has point series, the line's own glyph
  /// is used. Otherwise dots join only points that are more than kGap columns apart.
  void join_series(Canvas& canvas, std::size_t number) const {
    const Series& series = chart_.series[number];
    if (series.mark != Mark::line) return;
    for (std::size_t i = 1; i < std::min(series.x.size(), series.y.size()); ++i) {
      if (!x_.drawable(series.x[i - 1]) || !y_.drawable(series.y[i - 1]) || !x_.drawable(series.x[i]) ||
          !y_.drawable(series.y[i]))
        continue;
      const double x0 = x_.place(series.x[i - 1]), y0 = y_.place(series.y[i - 1]);
      const double x1 = x_.place(series.x[i]), y1 = y_.place(series.y[i]);
      const int wide = std::abs(column_of(x1) - column_of(x0)), high = std::abs(row_of(y1) - row_of(y0));
      if (!mixed_ && wide <= kGap) continue;
      const int cells = std::max({wide, high, 1});
      for (int cell = 0; cell <= cells; ++cell) {
        const double part = static_cast<double>(cell) / cells;
        canvas.put(column_of(x0 + part * (x1 - x0)), row_of(y0 + part * (y1 - y0)),
                   mixed_ ? glyph(number) : "·");
      }
    }
  }

  void draw_axes(Canvas& canvas) const {
    for (int row = 0; row < kPlotRows; ++row) canvas.put(labels_ + 1, row, "│", kGrey);
    canvas.put(labels_ + 1, kPlotRows, "└", kGrey);
    for (int column = 0; column < columns_; ++column) canvas.put(left() + column, kPlotRows, "─", kGrey);
    for (const Tick& tick : y_.ticks()) {
      const int row = row_of(y_.place(tick.value));
      canvas.put(0, row, pad_left(tick.label, labels_));
      canvas.put(labels_ + 1, row, "┤", kGrey);
    }
    int free_from = 0;  // labels that would overlap are left out
    for (const Tick& tick : x_.ticks()) {
      const int column = column_of(x_.place(tick.value));
      canvas.put(column, kPlotRows, "┴", kGrey);
      const int wide = display_width(tick.label);
      const int start = std::min(column - wide / 2, canvas.columns() - wide);
      if (start < free_from) continue;
      canvas.put(start, kPlotRows + 1, tick.label);
      free_from = start + wide + 1;
    }
  }

  void draw_level(Canvas& canvas, const Level& level) const {
    if (!y_.drawable(level.value)) return;
    const int row = row_of(y_.place(level.value));
    for (int column = 0; column < columns_; column += 2) canvas.put(left() + column, row, "╌", kGrey);
    const std::string label = cut_to(printable(level.label), columns_ / 2);
    canvas.put(left() + columns_ - display_width(label), row == 0 ? 1 : row - 1, label, kGrey);
  }

  void draw_series(Canvas& canvas, std::size_t number) const {
    const Series& series = chart_.series[number];
    const int colour = series_colour(number);
    bool joined = false;
    int last_x = 0, last_y = 0;
    for (std::size_t i = 0; i < std::min(series.x.size(), series.y.size()); ++i) {
      if (!x_.drawable(series.x[i]) || !y_.drawable(series.y[i])) {
        joined = false;
        continue;
      }
      const double sx = x_.place(series.x[i]), sy = y_.place(series.y[i]);
      if (!braille_) {
        canvas.put(column_of(sx), row_of(sy), glyph(number));
        continue;
      }
      const int x = 2 * left() + static_cast<int>(std::lround(sx * (2 * columns_ - 1)));
      const int y = static_cast<int>(std::lround((1 - sy) * (4 * kPlotRows - 4))) + 1;
      if (joined && series.mark == Mark::line) {
        canvas.dots(last_x, last_y, x, y, colour);
      } else {
        canvas.dot(x, y, colour);
      }
      joined = true;
      last_x = x;
      last_y = y;
    }
  }

  const Chart& chart_;
  const Terminal& terminal_;
  Axis x_;
  Axis y_;
  int labels_ = 0;
  int columns_ = 0;
  bool braille_ = true;
  bool mixed_ = false;  // the chart has both lines and points
};

}  // namespace

std::string text(const Chart& chart, const Terminal& terminal) { return Plot(chart, terminal).draw(); }

}  // namespace tapestry::kit
