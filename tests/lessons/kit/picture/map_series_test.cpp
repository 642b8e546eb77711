// A series of maps as a file: which map is which, values in hundredths, and what is refused.
#include "lessons/kit/picture/map_series.hpp"

#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "tests/catch.hpp"
#include "tests/lessons/kit/printed.hpp"
#include "tests/lessons/kit/scratch.hpp"

namespace tapestry::kit {
namespace {

MapSeries two_steps() {
  return {.title = "maps",
          .columns = {"a", "b", "c"},
          .rows = {"x"},
          .choices = {{"step", {"1", "10"}, true}, {"head", {"1"}}},
          .maps = {{0, 0.25, 0.755}, {1, 0.004, 0}}};
}

TEST_CASE("a series is written map by map, in hundredths, and said", "[picture]") {
  const Scratch scratch;
  const auto file = scratch.path("maps.json");
  std::string said;
  {
    const Printed printed(STDOUT_FILENO);
    save(two_steps(), file);
    said = printed.text();
  }
  CHECK(said == "  maps: " + file.string() + "\n");
  std::ifstream in(file);
  const auto read = nlohmann::json::parse(in);
  CHECK(read["maps"] == nlohmann::json::parse("[[0, 25, 76], [100, 0, 0]]"));
  CHECK(read["choices"][0]["of"] == nlohmann::json::parse(R"(["1", "10"])"));
  CHECK(read["choices"][0]["grows"] == true);
  CHECK(read["choices"][1]["grows"] == false);
  CHECK(read["columns"].size() == 3);
}

TEST_CASE("maps of one choice may have rows and columns of their own", "[picture]") {
  const Scratch scratch;
  const auto file = scratch.path("maps.json");
  MapSeries series{.title = "maps", .choices = {{"letters", {"1", "2"}}, {"step", {"0", "5"}, true}}};
  series.choices[0].rows = {{"x"}, {"x", "y"}};
  series.choices[0].columns = {{"a", "b"}, {"a", "b"}};
  series.most = 0.5;
  series.maps = {{0, 0}, {0, 0.5}, {0, 0, 0, 0}, {0, 0, 0, 0.5}};
  {
    const Printed printed(STDOUT_FILENO);
    save(series, file);
  }
  std::ifstream in(file);
  const auto read = nlohmann::json::parse(in);
  CHECK(read["most"] == 0.5);
  CHECK(read["choices"][0]["rows"] == nlohmann::json::parse(R"([["x"], ["x", "y"]])"));
  CHECK_FALSE(read["choices"][1].contains("rows"));
  CHECK(read["maps"][3] == nlohmann::json::parse("[0, 0, 0, 50]"));
  std::swap(series.maps[1], series.maps[2]);
  CHECK_THROWS_WITH(save(series, file), "a map of series 'maps' must have 2 values, got 4");
}

TEST_CASE("a film keeps maps at shares of a training's steps, and those of one step together", "[picture]") {
  TrainingRecorder film(
      {.title = "maps", .columns = {"a"}, .rows = {"x"}, .choices = {{"model", {"one", "two"}}}}, 200,
      {0, 0.05, 1});
  std::vector<Size> asked;
  for (const double model : {0.1, 0.2})
    for (Size step = 0; step <= 200; ++step)
      film.after(step, [&] {
        asked.push_back(step);
        return std::vector<std::vector<double>>{{model + static_cast<double>(step)}};
      });
  CHECK(asked == std::vector<Size>{0, 10, 200, 0, 10, 200});
  const MapSeries series = film.series();
  REQUIRE(series.choices.size() == 2);
  CHECK(series.choices[0].name == "step");
  CHECK(series.choices[0].of == std::vector<std::string>{"0", "10", "200"});
  CHECK(series.choices[0].grows);
  CHECK(series.choices[1].name == "model");
  CHECK(series.maps == std::vector<std::vector<double>>{{0.1}, {0.2}, {10.1}, {10.2}, {200.1}, {200.2}});
}

TEST_CASE("a film of a short training has each step once, and its end", "[picture]") {
  TrainingRecorder film({.title = "maps"}, 3, {0.01, 0.05, 0.5, 1});
  CHECK(film.series().choices[0].of == std::vector<std::string>{"1", "2", "3"});
}

TEST_CASE("a series that lacks a map or a value is refused", "[picture]") {
  const Scratch scratch;
  MapSeries series = two_steps();
  series.choices[1].of.emplace_back("2");
  CHECK_THROWS_WITH(save(series, scratch.path("a.json")),
                    "series 'maps' must have one map for each of 4 combinations, got 2");
  series = two_steps();
  series.maps[1].pop_back();
  CHECK_THROWS_WITH(save(series, scratch.path("a.json")), "a map of series 'maps' must have 3 values, got 2");
}

}  // namespace
}  // namespace tapestry::kit
