// Heatmaps as SVG, JSON and terminal text.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "lessons/kit/picture/picture.hpp"
#include "lessons/kit/picture/shade.hpp"
#include "lessons/kit/picture/svg.hpp"
#include "lessons/kit/text/utf8.hpp"

namespace tapestry::kit {
namespace {

void check(const Heatmap& map) {
  if (map.values.size() != map.rows.size() * map.columns.size()) {
    throw std::invalid_argument(
        fmt::format("heatmap '{}' must have rows × columns values, got {} for {} × {}", map.title,
                    map.values.size(), map.rows.size(), map.columns.size()));
  }
}

std::string short_value(double value) {
  std::string digits = fmt::format("{:.2f}", value);
  const std::size_t sign = digits[0] == '-' ? 1 : 0;
  if (digits.compare(sign, 2, "0.") == 0) digits.erase(sign, 1);
  return digits;
}

/// Draws the colour key, a strip from least to most.
void draw_key(Svg& out, const Heatmap& map, double x, double y, double height) {
  constexpr int kSteps = 48;
  for (int i = 0; i < kSteps; ++i) {
    const double part = static_cast<double>(i) / (kSteps - 1);
    out.rect(x, y + (kSteps - 1 - i) * height / kSteps, 10, height / kSteps + 0.6, svg_shade(map, part));
  }
  out.text(x + 16, y + 9, fmt::format("{:.3g}", map.most), {11, kSoftInk});
  if (map.is_signed()) out.text(x + 16, y + height / 2 + 4, "0", {11, kSoftInk});
  out.text(x + 16, y + height, fmt::format("{:.3g}", map.least), {11, kSoftInk});
}

}  // namespace

std::vector<std::string> numbered(Size count, Size first) {
  std::vector<std::string> labels;
  for (Size i = 0; i < count; ++i) labels.push_back(std::to_string(first + i));
  return labels;
}

double Heatmap::share(std::size_t row, std::size_t column) const {
  const double value = values[row * columns.size() + column];
  if (!std::isfinite(value) || !(most > least)) return std::nan("");
  return std::clamp((value - least) / (most - least), 0.0, 1.0);
}

std::string svg(const Heatmap& map) {
  check(map);
  const auto rows = static_cast<double>(map.rows.size()), columns = static_cast<double>(map.columns.size());
  const double cell = std::clamp(620 / std::max({rows, columns, 1.0}), 12.0, 46.0);
  const double size = std::clamp(cell * 0.42, 10.0, 14.0);
  const double label = widest(map.columns, size);
  const bool slanted = label > cell - 4;
  const double left = 24 + (map.row_axis.empty() ? 0 : 18) + widest(map.rows, size) + 10;
  const double top = 50 + (map.column_axis.empty() ? 0 : 18) + (slanted ? label * 0.75 + size : size + 8);
  const double overhang = slanted ? label * 0.66 : 0;
  const double key = left + columns * cell + 22, key_height = std::clamp(rows * cell, 40.0, 160.0);
  const double width =
      std::max({key + 56, left + columns * cell + overhang + 16, 48 + text_width(map.title, 17)});

  Svg out(width, top + std::max(rows * cell, key_height) + 24, map.title);
  out.text(24, 32, map.title, {17, kInk, Anchor::start, true});
  if (!map.column_axis.empty())
    out.text(left + columns * cell / 2, 56, map.column_axis, {12, kSoftInk, Anchor::middle});
  if (!map.row_axis.empty())
    out.text(30, top + rows * cell / 2, map.row_axis, {12, kSoftInk, Anchor::middle, false, -90});
  for (std::size_t c = 0; c < map.columns.size(); ++c) {
    const double x = left + (static_cast<double>(c) + 0.5) * cell;
    if (slanted) {
      out.text(x + size * 0.3, top - 7, map.columns[c], {size, kInk, Anchor::start, false, -48});
    } else {
      out.text(x, top - 8, map.columns[c], {size, kInk, Anchor::middle});
    }
  }
  for (std::size_t r = 0; r < map.rows.size(); ++r) {
    const double y = top + static_cast<double>(r) * cell;
    out.text(left - 9, y + cell / 2 + size * 0.36, map.rows[r], {size, kInk, Anchor::end});
    for (std::size_t c = 0; c < map.columns.size(); ++c) {
      const double part = map.share(r, c);
      if (std::isnan(part)) continue;
      const double x = left + static_cast<double>(c) * cell;
      out.rect(x + 0.75, y + 0.75, cell - 1.5, cell - 1.5, svg_shade(map, part), cell > 20 ? 2.5 : 0);
      if (!map.numbers) continue;
      out.text(x + cell / 2, y + cell / 2 + 3.5, short_value(map.values[r * map.columns.size() + c]),
               {std::min(11.0, cell * 0.3), is_dark(map, part) ? kPaper : kSoftInk, Anchor::middle});
    }
  }
  draw_key(out, map, key, top, key_height);
  return out.document();
}

std::string json(const Heatmap& map) {
  using Json = nlohmann::ordered_json;
  check(map);
  Json values = Json::array();
  for (std::size_t r = 0; r < map.rows.size(); ++r) {
    Json row = Json::array();
    for (std::size_t c = 0; c < map.columns.size(); ++c) {
      const double value = map.values[r * map.columns.size() + c];
      row.push_back(std::isfinite(value) ? Json(std::round(1000 * value) / 1000) : Json());
    }
    values.push_back(std::move(row));
  }
  return Json({{"title", map.title},
               {"rows", map.rows},
               {"columns", map.columns},
               {"row_axis", map.row_axis},
               {"column_axis", map.column_axis},
               {"least", map.least},
               {"most", map.most},
               {"signed", map.is_signed()},
               {"numbers", map.numbers},
               {"values", values}})
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}

namespace {

/// Layout of a heatmap's cells in the terminal.
struct Layout {
  int labels = 0;          // width of the row labels
  std::vector<int> cells;  // width of each column that is shown
  bool upright = false;    // column labels are vertical
};

Layout layout_of(const Heatmap& map, const Terminal& terminal) {
  Layout layout;
  for (const std::string& row : map.rows)
    layout.labels = std::max(layout.labels, display_width(printable(row)));
  layout.labels = std::min(layout.labels, terminal.columns / 3);
  const int room = std::max(terminal.columns - layout.labels - 4, 2);
  int sum = 0;
  for (const std::string& name : map.columns) {
    layout.cells.push_back(std::max(display_width(printable(name)), map.numbers ? 4 : 2) + 1);
    sum += layout.cells.back();
  }
  if (sum <= room) return layout;
  layout.upright = true;
  const int cell = std::clamp(room / static_cast<int>(map.columns.size()), 2, map.numbers ? 5 : 3);
  layout.cells.assign(std::min(map.columns.size(), static_cast<std::size_t>(room / cell)), cell);
  return layout;
}

std::string cell_text(const Heatmap& map, std::size_t row, std::size_t column, int width,
                      const Terminal& terminal) {
  const double part = map.share(row, column);
  if (std::isnan(part)) return std::string(static_cast<std::size_t>(width), ' ');
  const std::string number = short_value(map.values[row * map.columns.size() + column]);
  const bool fits = map.numbers && static_cast<int>(number.size()) < width;
  if (terminal.colour) return terminal_shade(map, part, pad_right(fits ? " " + number : "", width), terminal);
  if (fits) return pad_left(number, width);
  const std::string shade = plain_shade(map, part, width - 1);
  if (shade.rfind("·", 0) != 0) return shade + " ";
  return pad_right(std::string(static_cast<std::size_t>((width - 2) / 2), ' ') + "·",
                   width);  // a wide cell gets one dot
}

/// Returns the line "  queries ↓  keys →" for above the labels, or nothing if no axis has a name.
std::string axes(const Heatmap& map, const Layout& layout, const Terminal& terminal) {
  if (map.column_axis.empty() && map.row_axis.empty()) return "";
  const std::string rows = map.row_axis.empty() ? "" : printable(map.row_axis) + " ↓";
  const std::string columns = map.column_axis.empty() ? "" : printable(map.column_axis) + " →";
  return cut_to("  " + pad_right(rows, layout.labels) + "  " + columns, terminal.columns) + "\n";
}

std::string column_labels(const Heatmap& map, const Layout& layout) {
  const std::string indent(static_cast<std::size_t>(layout.labels) + 4, ' ');
  std::string out;
  if (!layout.upright) {
    for (std::size_t c = 0; c < layout.cells.size(); ++c) {
      const std::string name = printable(map.columns[c]);
      const int before = std::max(0, (layout.cells[c] - display_width(name)) / 2);
      out += pad_right(std::string(static_cast<std::size_t>(before), ' ') + name, layout.cells[c]);
    }
    return indent + out + "\n";
  }
  // Vertical labels, each of which ends above its column.
  std::vector<std::vector<std::string>> letters;
  std::size_t tallest = 0;
  for (std::size_t c = 0; c < layout.cells.size(); ++c) {
    letters.emplace_back();
    for (const char32_t point : code_points(cut_to(printable(map.columns[c]), 14))) {
      if (display_width(point) > 0) letters.back().emplace_back();
      if (!letters.back().empty()) append_utf8(letters.back().back(), point);
    }
    tallest = std::max(tallest, letters.back().size());
  }
  for (std::size_t line = 0; line < tallest; ++line) {
    out += indent;
    for (const std::vector<std::string>& label : letters) {
      const std::size_t above = tallest - label.size();
      out += pad_right(line < above ? "" : label[line - above], layout.cells.front());
    }
    out += "\n";
  }
  return out;
}

}  // namespace

std::string text(const Heatmap& map, const Terminal& terminal) {
  check(map);
  const Layout layout = layout_of(map, terminal);
  std::string out = "  " + bold(terminal, cut_to(printable(map.title), terminal.columns - 2)) + "\n";
  out += axes(map, layout, terminal) + column_labels(map, layout);
  for (std::size_t r = 0; r < map.rows.size(); ++r) {
    out += "  " + pad_left(cut_to(printable(map.rows[r]), layout.labels), layout.labels) + "  ";
    for (std::size_t c = 0; c < layout.cells.size(); ++c)
      out += cell_text(map, r, c, layout.cells[c], terminal);
    out += "\n";
  }
  if (layout.cells.size() < map.columns.size()) {
    const std::size_t missing = map.columns.size() - layout.cells.size();
    out += cut_to(fmt::format("  … and {} more columns in the SVG", missing), terminal.columns) + "\n";
  }
  return out;
}

}  // namespace tapestry::kit
