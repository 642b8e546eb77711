// A series of maps as a file: which map is which, values in hundredths, and what is refused.
#include "lessons/kit/picture/map_series.hpp"

#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

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

TEST_CASE("a series that lacks a map or a value is refused", "[picture]") {
  const Scratch scratch;
  MapSeries series = two_steps();
  series.choices[1].of.emplace_back("2");
  CHECK_THROWS_WITH(save(series, scratch.path("a.json")), "series 'maps' has 2 maps for 4 combinations");
  series = two_steps();
  series.maps[1].pop_back();
  CHECK_THROWS_WITH(save(series, scratch.path("a.json")), "series 'maps' has a map of 2 values for 3 cells");
}

}  // namespace
}  // namespace tapestry::kit
