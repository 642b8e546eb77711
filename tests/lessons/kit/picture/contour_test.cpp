// Contours of functions whose lines are known, and the stopwatch's rounds.
#include "lessons/kit/picture/contour.hpp"

#include <cmath>
#include <stdexcept>

#include "lessons/kit/program/stopwatch.hpp"
#include "tests/catch.hpp"

namespace tapestry::kit {

TEST_CASE("a contour lies on the line", "[kit]") {
  const SquareGrid grid{-2, 2, 81};
  const std::vector<double> points = grid.points();
  REQUIRE(points.size() == 2 * 81 * 81);
  CHECK(points[0] == -2);
  CHECK(points[2] == Approx(-1.95));  // x runs first
  CHECK(points.back() == 2);
  std::vector<double> radius, slope;
  for (std::size_t i = 0; i < points.size(); i += 2) {
    radius.push_back(std::hypot(points[i], points[i + 1]));
    slope.push_back(points[i + 1] - 0.5 * points[i]);
  }
  const Series circle = contour("circle", grid, radius, 1.5);
  double length = 0;
  Size pieces = 0;
  for (std::size_t i = 0; i + 2 < circle.x.size(); i += 3) {
    CHECK(std::hypot(circle.x[i], circle.y[i]) == Approx(1.5).margin(1e-3));
    CHECK(std::isnan(circle.x[i + 2]));
    length += std::hypot(circle.x[i] - circle.x[i + 1], circle.y[i] - circle.y[i + 1]);
    ++pieces;
  }
  CHECK(pieces > 100);
  CHECK(length == Approx(2 * 3.14159265 * 1.5).epsilon(1e-3));  // all of it, and none twice
  const Series line = contour("line", grid, slope, 0.3);
  for (std::size_t i = 0; i < line.x.size(); ++i)
    if (!std::isnan(line.x[i])) CHECK(line.y[i] == Approx(0.3 + 0.5 * line.x[i]).margin(1e-12));
  CHECK(contour("nowhere", grid, radius, 9).x.empty());
  CHECK_THROWS_AS(contour("short", grid, {1, 2}, 0), std::invalid_argument);
}

TEST_CASE("who takes turns is run three times a turn, and its best run counts", "[kit]") {
  int often = 0, seldom = 0;
  Timed one{1, [&] { ++often; }}, other{2, [&] { ++seldom; }, 4};
  take_turns({&one, &other}, 10);
  CHECK(often == 30);
  CHECK(seldom == 9);  // rounds 0, 4 and 8
  CHECK(one.best > 0);
  const double before = one.best;
  take_turns({&one}, 1);
  CHECK(one.best >= before);
}

}  // namespace tapestry::kit
