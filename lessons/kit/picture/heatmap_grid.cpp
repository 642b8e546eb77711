#include "lessons/kit/picture/heatmap_grid.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "lessons/kit/picture/shade.hpp"
#include "lessons/kit/picture/svg.hpp"
#include "lessons/kit/text/utf8.hpp"

namespace tapestry::kit {
namespace {

void check(const HeatmapGrid& grid) {
  if (grid.maps.empty() || grid.across < 1)
    throw std::invalid_argument(
        fmt::format("grid '{}' must have at least one map and one column of maps", grid.title));
  const Heatmap& first = grid.maps.front();
  for (const Heatmap& map : grid.maps)
    if (map.rows != first.rows || map.columns != first.columns ||
        map.values.size() != map.rows.size() * map.columns.size())
      throw std::invalid_argument(
          fmt::format("maps of grid '{}' must agree in rows, columns and number of values; '{}' differs",
                      grid.title, map.title));
}

}  // namespace

std::string svg(const HeatmapGrid& grid) {
  check(grid);
  const Heatmap& first = grid.maps.front();
  const auto rows = static_cast<double>(first.rows.size()),
             columns = static_cast<double>(first.columns.size());
  const std::size_t across = std::min(static_cast<std::size_t>(grid.across), grid.maps.size());
  const std::size_t lines = (grid.maps.size() + across - 1) / across;
  const double cell =
      std::clamp(900 / (static_cast<double>(across) * std::max({rows, columns, 1.0})), 5.0, 24.0);
  const double size = std::clamp(cell * 0.75, 8.0, 12.0), gap = 16, name = 16;
  const bool labelled = cell >= 8;
  const double label = labelled ? widest(first.columns, size) : 0;
  const double left = 24 + (labelled ? widest(first.rows, size) + 8 : 0), top = 52 + label * 0.75;
  const double wide = columns * cell + gap, high = rows * cell + gap + name;

  Svg out(
      std::max(left + static_cast<double>(across) * wide + label * 0.66 + 8, 48 + text_width(grid.title, 17)),
      top + static_cast<double>(lines) * high + 8, grid.title);
  out.text(24, 32, grid.title, {17, kInk, Anchor::start, true});
  for (std::size_t i = 0; i < grid.maps.size(); ++i) {
    const Heatmap& map = grid.maps[i];
    const double x0 = left + static_cast<double>(i % across) * wide,
                 y0 = top + static_cast<double>(i / across) * high + name;
    if (labelled && i < across)
      for (std::size_t c = 0; c < map.columns.size(); ++c)
        out.text(x0 + (static_cast<double>(c) + 0.6) * cell, y0 - name - 2, map.columns[c],
                 {size, kSoftInk, Anchor::start, false, -48});
    out.text(x0, y0 - 4, map.title, {11, kInk, Anchor::start, true});
    out.rect(x0, y0, columns * cell, rows * cell, svg_shade(first, 0));
    for (std::size_t r = 0; r < map.rows.size(); ++r) {
      const double y = y0 + static_cast<double>(r) * cell;
      if (labelled && i % across == 0)
        out.text(x0 - 6, y + cell / 2 + size * 0.36, map.rows[r], {size, kSoftInk, Anchor::end});
      for (std::size_t c = 0; c < map.columns.size(); ++c)
        if (const double part = map.share(r, c); part != 0)
          out.rect(x0 + static_cast<double>(c) * cell, y, cell, cell,
                   std::isnan(part) ? std::string(kPaper) : svg_shade(map, part));
    }
  }
  return out.document();
}

std::string text(const HeatmapGrid& grid, const Terminal& terminal) {
  check(grid);
  const Heatmap& first = grid.maps.front();
  int labels = 0;
  for (const std::string& row : first.rows) labels = std::max(labels, display_width(printable(row)));
  labels = std::min(labels, terminal.columns / 4);
  // One character per cell if two do not fit.
  const int columns = static_cast<int>(first.columns.size());
  const auto fit = [&](int cell) { return (terminal.columns - labels - 4) / (columns * cell + 2); };
  const int wanted = static_cast<int>(std::min<Size>(grid.across, static_cast<Size>(grid.maps.size())));
  const int cell = fit(2) >= wanted ? 2 : 1;
  const auto across = static_cast<std::size_t>(std::clamp(fit(cell), 1, wanted));

  std::string out = "  " + bold(terminal, cut_to(printable(grid.title), terminal.columns - 2)) + "\n";
  for (std::size_t begin = 0; begin < grid.maps.size(); begin += across) {
    const std::size_t end = std::min(grid.maps.size(), begin + across);
    out += std::string(static_cast<std::size_t>(labels) + 4, ' ');
    for (std::size_t i = begin; i < end; ++i)
      out += pad_right(cut_to(printable(grid.maps[i].title), columns * cell), columns * cell + 2);
    out += "\n";
    for (std::size_t r = 0; r < first.rows.size(); ++r) {
      out += "  " + pad_left(cut_to(printable(first.rows[r]), labels), labels) + "  ";
      for (std::size_t i = begin; i < end; ++i) {
        for (std::size_t c = 0; c < first.columns.size(); ++c) {
          const double part = grid.maps[i].share(r, c);
          const std::string blank(static_cast<std::size_t>(cell), ' ');
          if (std::isnan(part)) {
            out += blank;
          } else if (terminal.colour) {
            out += terminal_shade(grid.maps[i], part, blank, terminal);
          } else {
            out += plain_shade(grid.maps[i], part, cell);
          }
        }
        out += "  ";
      }
      out += "\n";
    }
    out += "\n";
  }
  return out;
}

}  // namespace tapestry::kit
