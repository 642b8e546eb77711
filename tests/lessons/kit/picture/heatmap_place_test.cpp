// Where a heat map puts its cells: rows downwards, columns across, in the terminal, in colours, in numbers,
// in the SVG, and in a grid of maps. The maps are not square and nothing in them is symmetric.
#include <cmath>
#include <map>
#include <regex>

#include "lessons/kit/picture/heatmap_grid.hpp"
#include "lessons/kit/picture/picture.hpp"
#include "lessons/kit/text/utf8.hpp"
#include "tests/catch.hpp"
#include "tests/lessons/kit/picture/lines_of.hpp"

namespace tapestry::kit {
namespace {

/// Three rows of two; in fifths of a shade: 0 1 / 2 3 / 4 0.
Heatmap map() { return {"map", {"ca", "cb"}, {"r1", "r2", "r3"}, {0, 0.25, 0.5, 0.75, 1, 0}, 0, 1, false}; }

/// The line that begins with this label.
std::string row_of(const std::string& drawn, const std::string& label) {
  for (const std::string& line : lines_of(drawn))
    if (line.find(label) != std::string::npos) return line.substr(line.find(label) + label.size());
  FAIL("no row " << label);
  return {};
}

/// The shades of a line, one for each cell: a cell's characters are alike.
std::vector<std::string> shades(const std::string& line) {
  std::vector<std::string> found;
  static const std::regex shade("(?:·)+|(?:░)+|(?:▒)+|(?:▓)+|(?:█)+");
  for (std::sregex_iterator at(line.begin(), line.end(), shade), end; at != end; ++at)
    found.push_back(at->str().substr(0, at->str().rfind("·", 0) == 0 ? 2 : 3));
  return found;
}

using Shades = std::vector<std::string>;

}  // namespace

TEST_CASE("a terminal's heat map has its rows and columns where they belong", "[kit]") {
  const std::string drawn = text(map(), Terminal{false, false, 80});
  CHECK(shades(row_of(drawn, "r1")) == Shades{"·", "░"});
  CHECK(shades(row_of(drawn, "r2")) == Shades{"▒", "▓"});
  CHECK(shades(row_of(drawn, "r3")) == Shades{"█", "·"});
  const std::string names = lines_of(drawn).at(1);
  CHECK(names.find("ca") < names.find("cb"));
  // Across, too: each shade stands under its column's name.
  const std::string third = lines_of(drawn).at(4);
  CHECK(display_width(third.substr(0, third.find("█"))) == display_width(names.substr(0, names.find("ca"))));
}

TEST_CASE("a heat map's shades go from its least value to its most", "[kit]") {
  const Heatmap signs{"signs", {"a", "b", "c"}, {"r"}, {-2, 1, 7}, -2, 4, false};
  CHECK(signs.share(0, 0) == 0);
  CHECK(signs.share(0, 1) == 0.5);
  CHECK(signs.share(0, 2) == 1);  // beyond the most
  CHECK(shades(row_of(text(signs, Terminal{false, false, 80}), "r")) == Shades{"·", "▒", "█"});
}

TEST_CASE("a heat map's numbers and colours stand where its shades do", "[kit]") {
  Heatmap numbered = map();
  numbered.numbers = true;
  const std::string drawn = text(numbered, Terminal{false, false, 80});
  const auto in_order = [](const std::string& line, const std::vector<std::string>& pieces) {
    std::size_t from = 0;
    for (const std::string& piece : pieces) {
      from = line.find(piece, from);
      if (from == std::string::npos) return false;
      from += piece.size();
    }
    return true;
  };
  CHECK(in_order(row_of(drawn, "r1"), {".00", ".25"}));
  CHECK(in_order(row_of(drawn, "r2"), {".50", ".75"}));
  CHECK(in_order(row_of(drawn, "r3"), {"1.00", ".00"}));
  const std::string coloured = text(map(), Terminal{true, true, 80});
  CHECK(in_order(row_of(coloured, "r1"), {"48;5;235m", "48;5;24m"}));
  CHECK(in_order(row_of(coloured, "r2"), {"48;5;37m", "48;5;114m"}));
  CHECK(in_order(row_of(coloured, "r3"), {"48;5;229m", "48;5;235m"}));
}

TEST_CASE("an SVG's heat map writes each value into its cell", "[kit]") {
  Heatmap numbered = map();
  numbered.numbers = true;
  numbered.values[5] = 0.1;
  const std::string document = svg(numbered);
  std::map<std::string, std::pair<double, double>> at;  // x and y of each text
  static const std::regex label(R"rx(<text x="([-\d.]+)" y="([-\d.]+)"[^>]*>([^<]*)<)rx");
  for (std::sregex_iterator it(document.begin(), document.end(), label), end; it != end; ++it)
    at[(*it)[3]] = {std::stod((*it)[1]), std::stod((*it)[2])};
  const std::vector<std::vector<std::string>> cells{{".00", ".25"}, {".50", ".75"}, {"1.00", ".10"}};
  for (std::size_t r = 0; r < 3; ++r)
    for (std::size_t c = 0; c < 2; ++c) {
      CAPTURE(r, c);
      REQUIRE(at.count(cells[r][c]) == 1);
      CHECK(std::abs(at[cells[r][c]].second - at[numbered.rows[r]].second) < 8);   // in its row
      CHECK(std::abs(at[cells[r][c]].first - at[numbered.columns[c]].first) < 8);  // and its column
    }
  CHECK(at["r1"].second < at["r2"].second);
  CHECK(at["ca"].first < at["cb"].first);
}

TEST_CASE("a grid of heat maps keeps each map's rows and columns", "[kit]") {
  Heatmap other = map();
  other.title = "other";
  other.values = {1, 0.75, 0.25, 0, 0.5, 1};
  const std::string drawn = text(HeatmapGrid{"grid", {map(), other}, 2}, Terminal{false, false, 80});
  CHECK(shades(row_of(drawn, "r1")) == Shades{"·", "░", "█", "▓"});
  CHECK(shades(row_of(drawn, "r2")) == Shades{"▒", "▓", "░", "·"});
  CHECK(shades(row_of(drawn, "r3")) == Shades{"█", "·", "▒", "█"});
}

}  // namespace tapestry::kit
