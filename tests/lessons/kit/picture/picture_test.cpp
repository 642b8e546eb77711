// Pictures: well-formed SVG, terminal drawings of the right width, and the right things at the right places.
#include "lessons/kit/picture/picture.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "lessons/kit/picture/axis.hpp"
#include "lessons/kit/picture/graph_layout.hpp"
#include "lessons/kit/picture/heatmap_grid.hpp"
#include "lessons/kit/picture/svg.hpp"
#include "lessons/kit/random.hpp"
#include "lessons/kit/text/utf8.hpp"
#include "tests/catch.hpp"
#include "tests/lessons/kit/picture/lines_of.hpp"
#include "tests/lessons/kit/scratch.hpp"

namespace tapestry::kit {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// A small XML reader: tags nest, attributes are quoted, entities are known. Returns what is wrong, or "".
std::string xml_fault(const std::string& text) {
  std::vector<std::string> open;
  bool rooted = false;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '&') {
      const std::string entity = text.substr(at, text.find(';', at) - at + 1);
      const bool known = entity == "&lt;" || entity == "&gt;" || entity == "&amp;" || entity == "&quot;" ||
                         entity == "&#39;";
      if (!known) return "entity " + entity.substr(0, 12);
      at += entity.size();
      continue;
    }
    if (text[at] != '<') {
      const bool blank = text[at] == '\n' || text[at] == ' ';
      if (open.empty() && !blank) return "text outside the root";
      if (static_cast<unsigned char>(text[at]) < 0x20 && !blank) return "control character";
      ++at;
      continue;
    }
    const std::size_t end = text.find('>', at);
    if (end == std::string::npos) return "a tag is not closed";
    std::string tag = text.substr(at + 1, end - at - 1);
    at = end + 1;
    if (tag.find('<') != std::string::npos) return "< inside a tag";
    if (tag[0] == '/') {
      if (open.empty() || open.back() != tag.substr(1)) return "wrong end " + tag;
      open.pop_back();
      continue;
    }
    if (std::count(tag.begin(), tag.end(), '"') % 2 != 0) return "quotes in " + tag;
    if (open.empty() && rooted) return "two roots";
    rooted = true;
    if (tag.back() != '/') open.push_back(tag.substr(0, tag.find(' ')));
  }
  return open.empty() && rooted ? "" : "the document ends too early";
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

std::string without_colours(const std::string& text) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\x1b') {
      at = text.find('m', at);
    } else {
      out += text[at];
    }
  }
  return out;
}

/// All that holds for any picture at any width, with and without colours.
template <typename Picture>
void check_sound(const Picture& picture) {
  const std::string document = svg(picture);
  CHECK(xml_fault(document) == "");
  CHECK_FALSE(invalid_utf8_at(document).has_value());
  for (const char* bad : {"nan", "inf", "e+", "e-0"}) CHECK(count(document, std::string("=\"") + bad) == 0);
  for (const bool colour : {false, true}) {
    for (const int columns : {20, 50, 100, 200}) {
      const Terminal terminal{colour, colour, columns};
      const std::string drawing = text(picture, terminal);
      CHECK((colour || drawing.find('\x1b') == std::string::npos));
      for (const std::string& line : lines_of(without_colours(drawing))) {
        CAPTURE(columns, line);
        CHECK(display_width(line) <= columns);
      }
    }
  }
}

Chart curves() {
  Chart chart{"Loss & <error>", "step", "loss", {}, {{0.5, "target \"half\""}}, Scale::linear, Scale::linear};
  for (int k = 1; k <= 3; ++k) {
    Series series{"curve " + std::to_string(k), {}, {}, Mark::line};
    for (int i = 0; i <= 100; ++i) {
      series.x.push_back(i);
      series.y.push_back(k * std::exp(-0.05 * i));
    }
    chart.series.push_back(series);
  }
  return chart;
}

Heatmap alignment() {
  Heatmap map{"the zone of international control",
              {"the", "zone", "of", "international", "control"},
              {"la", "zone", "de", "contrôle", "international"},
              std::vector<double>(25, 0.01),
              0,
              1,
              false};
  const std::size_t looks_at[] = {0, 1, 2, 4, 3};
  for (std::size_t row = 0; row < 5; ++row) map.values[row * 5 + looks_at[row]] = 0.97;
  return map;
}

}  // namespace

TEST_CASE("charts are sound", "[kit]") {
  check_sound(curves());
  Chart odd = curves();
  odd.title = "a\x01\x1b[31m b\xFF ]]> 日本語";
  odd.series[0].y[3] = kNan;
  odd.series[0].y[4] = kInfinity;
  odd.series[1].y[5] = -kInfinity;
  odd.series[1].x[6] = kNan;
  odd.series[2].y.resize(7);
  odd.series[1].x.resize(7);
  check_sound(odd);
  odd.x_scale = odd.y_scale = Scale::log;
  check_sound(odd);
  odd.series[0].mark = Mark::points;
  check_sound(odd);
}

TEST_CASE("without colour a line of two points can be seen", "[kit]") {
  const auto drawn = [](const std::vector<Series>& series) {
    return text({"", "", "", series, {}, Scale::linear, Scale::linear}, Terminal{false, false, 60});
  };
  const Series line{"line", {0, 10}, {0, 4}, Mark::line}, other{"other", {0, 10}, {4, 0}, Mark::line};
  const Series cloud{"cloud", {1, 5, 9}, {3, 3.5, 3}, Mark::points};
  const std::string lines_only = drawn({line, other}), mixed = drawn({cloud, line, other});
  CHECK(count(lines_only, "●") == 3);  // the legend and both ends
  CHECK(count(lines_only, "○") == 3);
  CHECK(count(lines_only, "·") > 60);  // the way between
  CHECK(count(mixed, "●") == 4);       // points keep their glyph, and lie on top
  CHECK(count(mixed, "·") > 30);
  CHECK(count(mixed, "+") > 30);
  Series broken = line;
  broken.x = {0, 5, 10}, broken.y = {0, kNan, 4};
  CHECK(count(drawn({broken, other}), "·") < count(lines_only, "·") * 2 / 3);
  Series dense{"dense", {}, {}, Mark::line};
  for (int i = 0; i <= 100; ++i) dense.x.push_back(i), dense.y.push_back(i % 7);
  CHECK(count(drawn({dense, dense}), "·") == 0);
}

TEST_CASE("a legend's names that fill a row exactly stand in one", "[kit]") {
  const auto rows = [](int columns) {
    const Series one{"twelve chars", {0, 1}, {0, 1}, Mark::line};
    const std::string drawn = text(Chart{"", "", "", {one, one}}, Terminal{false, false, columns});
    return std::count(drawn.begin(), drawn.end(), '\n');
  };
  // A blank, and of each name a mark, three blanks and its 12 columns.
  CHECK(rows(1 + 2 * 16) == rows(60));
  CHECK(rows(1 + 2 * 16 - 1) == rows(60) + 1);
}

TEST_CASE("charts of little or strange data are legal", "[kit]") {
  check_sound(Chart{});
  const auto data = GENERATE(std::vector<double>{}, std::vector<double>{0}, std::vector<double>{kNan, kNan},
                             std::vector<double>{5, 5, 5}, std::vector<double>{1e300, -1e300, 1e308},
                             std::vector<double>{1e-320, 0, 1e-310}, std::vector<double>{1e12, 1e12 + 1},
                             std::vector<double>{-1e-9, 1e9}, std::vector<double>{0.1, 0.1 + 1e-16});
  for (const Scale scale : {Scale::linear, Scale::log}) {
    Chart chart{"t", "x", "y", {{"s", data, data, Mark::line}}, {{1, "one"}}, scale, scale};
    check_sound(chart);
    chart.series[0].mark = Mark::points;
    check_sound(chart);
  }
}

TEST_CASE("a missing value breaks a line", "[kit]") {
  Chart chart{
      "", "", "", {{"s", {0, 1, 2, 3, 4}, {1, 2, kNan, 2, 1}, Mark::line}}, {}, Scale::linear, Scale::linear};
  CHECK(count(svg(chart), "<polyline") == 2);
  CHECK(count(svg(chart), "dasharray") == 0);
  chart.series[0].dashes = 2;
  CHECK(count(svg(chart), "dasharray") > 0);
  CHECK(count(svg(chart), "<circle") == 4);
}

TEST_CASE("without colour a missing place or value breaks the dots of a line, on either side", "[kit]") {
  const auto dots = [](const std::vector<double>& x, const std::vector<double>& y) {
    const Series line{"line", x, y, Mark::line}, other{"too short for dots", {0, 0.1}, {4, 4}, Mark::line};
    return count(text(Chart{"", "", "", {line, other}}, Terminal{false, false, 60}), "·");
  };
  const std::size_t whole = dots({0, 5, 10}, {0, 4, 0});
  CHECK(whole > 20);
  for (const std::vector<double>& x : {std::vector<double>{kNan, 5, 10}, {0, 5, kNan}}) {
    CHECK(dots(x, {0, 4, 0}) < whole);
    CHECK(dots(x, {0, 4, 0}) > 0);
  }
  for (const std::vector<double>& y : {std::vector<double>{kNan, 4, 0}, {0, 4, kNan}}) {
    CHECK(dots({0, 5, 10}, y) < whole);
    CHECK(dots({0, 5, 10}, y) > 0);
  }
  CHECK(dots({0, kNan, 10}, {0, 4, 0}) == 0);
  CHECK(dots({0, 5, 10}, {0, kNan, 0}) == 0);
}

TEST_CASE("a long curve keeps its spikes and a small file", "[kit]") {
  Chart chart{"", "", "", {{"s", {}, {}, Mark::line}}, {}, Scale::linear, Scale::linear};
  for (int i = 0; i < 200'000; ++i) {
    chart.series[0].x.push_back(i);
    chart.series[0].y.push_back(i == 123'456 ? 10 : 0);
  }
  const std::string document = svg(chart);
  CHECK(document.size() < 60'000);
  const std::string list = document.substr(document.find("<polyline"));
  CHECK(count(list.substr(0, list.find("/>")), ",56 ") == 1);  // one point at the plot's upper edge
}

TEST_CASE("ticks are round numbers", "[kit]") {
  const auto labels = [](Scale scale, const std::vector<double>& values, int wanted) {
    std::vector<std::string> all;
    const Axis axis(scale, values, wanted);
    for (const Tick& tick : axis.ticks()) all.push_back(tick.label);
    return all;
  };
  using Labels = std::vector<std::string>;
  CHECK(labels(Scale::linear, {0.3, 97}, 5) == Labels{"0", "20", "40", "60", "80", "100"});
  CHECK(labels(Scale::linear, {-0.2, 0.31}, 3) == Labels{"−0.2", "0", "0.2", "0.4"});
  CHECK(labels(Scale::linear, {0.4, 1.0000001}, 4) ==
        Labels{"0.4", "0.6", "0.8", "1.0"});  // f32's sum of weights
  CHECK(labels(Scale::linear, {0.4, 1.001}, 4).back() == "1.2");
  CHECK(labels(Scale::linear, {0, 4999}, 5) == Labels{"0", "1,000", "2,000", "3,000", "4,000", "5,000"});
  CHECK(labels(Scale::log, {1e-6, 1}, 3) == Labels{"10⁻⁶", "10⁻⁴", "10⁻²", "10⁰"});
  CHECK(labels(Scale::log, {20, 900}, 5) == Labels{"20", "50", "100", "200", "500", "1,000"});
  CHECK(labels(Scale::log, {16, 1024}, 5) == Labels{"10", "20", "50", "100", "200", "500", "1,000", "2,000"});
  CHECK(labels(Scale::log, {16, 1024}, 2) == Labels{"10", "1,000"});  // or none: 2 and 5 only of each decade
  CHECK(labels(Scale::log, {0.01, 1}, 5) == Labels{"0.01", "0.02", "0.05", "0.1", "0.2", "0.5", "1"});
  CHECK(labels(Scale::log, {0.001, 1e4}, 9) ==
        Labels{"0.001", "0.01", "0.1", "1", "10", "100", "1,000", "10,000"});
  CHECK(labels(Scale::log, {0.001, 1e5}, 9).front() == "10⁻³");
  CHECK(labels(Scale::linear, {0, 2.5e6}, 5) == Labels{"0", "500,000", "10⁶", "1.5×10⁶", "2×10⁶", "2.5×10⁶"});
  CHECK(labels(Scale::linear, {-2e-5, 1.5e-5}, 4) == Labels{"−2×10⁻⁵", "−10⁻⁵", "0", "10⁻⁵", "2×10⁻⁵"});
  CHECK(labels(Scale::log, {3, 3}, 5) == Labels{"2", "5"});
  CHECK(labels(Scale::log, {10, 10}, 5) == Labels{"10", "20"});
  const Axis axis(Scale::log, {1, 100}, 4);
  CHECK(axis.place(10) == Approx(0.5));
  CHECK_FALSE(axis.drawable(0));
  CHECK_FALSE(axis.drawable(-1));
}

TEST_CASE("heatmaps are sound", "[kit]") {
  check_sound(Heatmap{});
  Heatmap map = alignment();
  check_sound(map);
  map.numbers = true;
  check_sound(map);
  map.values[3] = kNan;
  map.values[4] = kInfinity;
  map.rows[0] = "<\"&'>\x02";
  map.columns[1] = "日本語のとても長い言葉";
  check_sound(map);
  map.most = map.least;
  check_sound(map);
  Heatmap wide{"wide", std::vector<std::string>(300, "word"), {"row"}, std::vector<double>(300, 0.5), 0, 1,
               false};
  check_sound(wide);
  CHECK(text(wide, {false, false, 80}).find("more columns in the SVG") != std::string::npos);
  map.values.pop_back();
  CHECK_THROWS_AS(svg(map), std::invalid_argument);
  CHECK_THROWS_AS(text(map, Terminal{}), std::invalid_argument);
}

TEST_CASE("a grid is as wide as its title", "[kit]") {
  const Heatmap small{"", {"a"}, {"b"}, {0.5}};
  const auto width = [&](const std::string& title) {
    const std::string drawn = svg(HeatmapGrid{title, {small}, 1});
    return std::stod(drawn.substr(drawn.find("width=\"") + 7));
  };
  const std::string title(60, 'm');
  CHECK(width(title) >= 24 + text_width(title, 17));
  CHECK(width("m") < width(title) / 2);
}

TEST_CASE("a page gets a heatmap's names and values", "[kit]") {
  Heatmap map{"a \"map\"", {"x", "y"}, {"r\xff"}, {0.12345, kNan}, -1, 1, true, "keys", "queries"};
  CHECK(json(map) == R"({"title":"a \"map\"","rows":["r�"],"columns":["x","y"],"row_axis":"queries",)"
                     R"("column_axis":"keys","least":-1.0,"most":1.0,"signed":true,"numbers":true,)"
                     R"("values":[[0.123,null]]})");
  map.values.pop_back();
  CHECK_THROWS_AS(json(map), std::invalid_argument);
}

TEST_CASE("the crossing of an alignment can be seen in the terminal", "[kit]") {
  const std::vector<std::string> drawn = lines_of(text(alignment(), Terminal{}));
  REQUIRE(drawn.size() == 7);  // title, source words, five target words
  const auto dark_at = [&](std::size_t row) {
    const std::size_t byte = drawn[row].find("█");
    REQUIRE(byte != std::string::npos);
    return display_width(drawn[row].substr(0, byte));
  };
  CHECK(dark_at(2) < dark_at(3));
  CHECK(dark_at(3) < dark_at(4));
  CHECK(dark_at(5) > dark_at(6));  // contrôle looks at "control", right of what international looks at
  CHECK(dark_at(6) == display_width(drawn[1].substr(0, drawn[1].find("international"))));
  CHECK(dark_at(5) == display_width(drawn[1].substr(0, drawn[1].find("control"))));
}

TEST_CASE("bars are sound", "[kit]") {
  check_sound(Bars{});
  Bars bars{"Steps to 99 %",
            "steps",
            {{"dot", 1200}, {"scaled <dot>", -300}, {"none", kNan}},
            Level{500, "target"}};
  check_sound(bars);
  bars.bars.push_back({"endless", kInfinity});
  bars.bars.push_back({std::string(300, 'x'), 0});
  check_sound(bars);
  const std::string drawing = text(bars, {false, false, 60});
  CHECK(drawing.find("dot │████") != std::string::npos);
}

TEST_CASE("graphs are sound, whatever their edges", "[kit]") {
  check_sound(Graph{});
  Graph graph{"tape <1>",
              {{"w", "(1)", 1}, {"x", "(50)", 2}, {"mul", "", 0}, {"mean", "()", 3}},
              {{0, 2}, {1, 2}, {2, 3}}};
  check_sound(graph);
  CHECK(count(svg(graph), "<path d=\"M") == 6);  // three edges, three heads
  Graph square{"", {{"x", "", 1}, {"mul", "", 0}}, {{0, 1}, {0, 1}}};
  CHECK(count(svg(square), "<path d=\"M") == 2);
  CHECK(count(svg(square), "×2") == 1);
  CHECK(count(text(square, {false, false, 60}), "×2") == 1);
  graph.edges.insert(graph.edges.end(), {{3, 0}, {1, 1}, {0, 99}, {-1, 2}, {0, 2}, {0, 3}});
  check_sound(graph);
  Random random(3);
  for (int trial = 0; trial < 20; ++trial) {
    Graph any{"any", {}, {}};
    for (Size n = random.between(1, 14); n > 0; --n) any.nodes.push_back({"n" + std::to_string(n), "", 7});
    const auto nodes = static_cast<Size>(any.nodes.size());
    for (Size e = random.between(0, 20); e > 0; --e)
      any.edges.emplace_back(random.below(nodes), random.below(nodes));
    check_sound(any);
  }
}

TEST_CASE("a layout puts edges downwards and nodes apart", "[kit]") {
  const std::vector<std::pair<Size, Size>> edges = {{0, 2}, {1, 2}, {2, 3}, {0, 3}, {3, 4}, {1, 4}};
  const std::vector<double> widths = {10, 20, 30, 10, 10};
  const GraphLayout layout = lay_out(5, edges, widths, 4, 2);
  CHECK(layout.layers.size() == 4);
  std::size_t nodes = 0;
  for (const auto& layer : layout.layers) {
    for (std::size_t i = 0; i < layer.size(); ++i) {
      nodes += layer[i].node >= 0 ? 1 : 0;
      if (i == 0) continue;
      const auto width = [&](const Slot& slot) {
        return slot.node < 0 ? 2.0 : widths[static_cast<std::size_t>(slot.node)];
      };
      CHECK(layer[i].x - layer[i - 1].x >= (width(layer[i]) + width(layer[i - 1])) / 2 + 4 - 1e-9);
    }
  }
  CHECK(nodes == 5);
  for (const auto& path : layout.paths) {
    for (std::size_t i = 1; i < path.size(); ++i) CHECK(path[i].first == path[i - 1].first + 1);
  }
  // (w · x + b − y)²: what a node reads stands in the order of its edges, whatever the nodes' numbers.
  const GraphLayout formula = lay_out(8, {{0, 4}, {1, 4}, {4, 5}, {2, 5}, {5, 6}, {3, 6}, {6, 7}, {6, 7}},
                                      std::vector<double>(8, 9), 4, 2);
  for (const auto& [layer, first, second] :
       std::vector<std::array<Size, 3>>{{0, 0, 1}, {1, 4, 2}, {2, 5, 3}}) {
    CHECK(formula.layers[static_cast<std::size_t>(layer)][0].node == first);
    CHECK(formula.layers[static_cast<std::size_t>(layer)][1].node == second);
  }
  // A chain stands straight.
  const GraphLayout chain = lay_out(3, {{0, 1}, {1, 2}}, {10, 20, 14}, 4, 2);
  CHECK(chain.layers[0][0].x == Approx(chain.layers[2][0].x));
  // 5,000 nodes in a row need no deep stack.
  std::vector<std::pair<Size, Size>> long_chain;
  for (Size n = 0; n + 1 < 5'000; ++n) long_chain.emplace_back(n, n + 1);
  CHECK(lay_out(5'000, long_chain, std::vector<double>(5'000, 1), 1, 1).layers.size() == 5'000);
}

TEST_CASE("text is safe inside XML", "[kit]") {
  CHECK(xml_escape("<a href=\"x\">'&'</a>") == "&lt;a href=&quot;x&quot;&gt;&#39;&amp;&#39;&lt;/a&gt;");
  CHECK(xml_escape("é\x01\xFF") == "é\uFFFD\uFFFD");
  CHECK(svg_heat_colour(0) == "#f6f8fb");
  CHECK(svg_heat_colour(2) == svg_heat_colour(1));
  CHECK(svg_heat_colour(kNan) == svg_heat_colour(0));
}

TEST_CASE("an SVG is written whole or not at all", "[kit]") {
  const Scratch scratch;
  save_svg(svg(curves()), scratch.path("a.svg"));
  CHECK(scratch.read("a.svg") == svg(curves()));
  save_svg(svg(alignment()), scratch.path("a.svg"));
  CHECK(scratch.read("a.svg") == svg(alignment()));
  CHECK(scratch.files() == 1);
  const std::string error = usage_error([&] { save_svg("x", scratch.path("no/a.svg")); });
  CHECK(error.find("no/a.svg") != std::string::npos);
  std::filesystem::create_directory(scratch.path("folder"));
  CHECK(usage_error([&] { save_svg("x", scratch.path("folder")); }) != "");
  CHECK(scratch.files() == 2);
}

}  // namespace tapestry::kit
