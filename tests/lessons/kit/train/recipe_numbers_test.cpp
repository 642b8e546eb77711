// A recipe's numbers as options, as the text of a run, and as texts of a checkpoint.
#include "lessons/kit/train/recipe_numbers.hpp"

#include <iostream>
#include <sstream>

#include "tests/catch.hpp"
#include "tests/lessons/kit/scratch.hpp"

namespace tapestry::kit {
namespace {

using Catch::Matchers::ContainsSubstring;

struct Recipe {
  Size layers = 1, width = 4;
  double rate = 0.5;
};
constexpr RecipeNumber<Recipe> kNumbers[] = {
    {"--layers", &Recipe::layers, "blocks", 1, 9},
    {"--width", &Recipe::width, "numbers", 2, 64},
    {"--rate", &Recipe::rate, "of learning", 0, 1},
};
const Recipe kToy = {.layers = 2, .width = 8, .rate = 0.25}, kReal = {.layers = 3, .width = 8, .rate = 0.125};

/// What a command line makes of a recipe when `usual` is followed, and its exit code.
std::pair<Recipe, int> run(std::vector<const char*> arguments, const Recipe& usual) {
  const Scratch scratch;
  const std::string out = scratch.folder().string();
  arguments.insert(arguments.begin(), "lesson");
  arguments.insert(arguments.end(), {"--out", out.c_str()});
  Lesson program("99_test", "a test");
  Recipe recipe;
  add_options(program, kNumbers, recipe, kToy, kReal, "with --data");
  const int code =
      program.run(static_cast<int>(arguments.size()), arguments.data(),
                  [&](const Options&, Report&) { apply_recipe(program, kNumbers, usual, recipe); });
  return {recipe, code};
}

}  // namespace

TEST_CASE("numbers are what is usual unless they are given", "[kit]") {
  CHECK(text_of(kNumbers, run({}, kToy).first) == "layers 2, width 8, rate 0.25");
  CHECK(text_of(kNumbers, run({}, kReal).first) == "layers 3, width 8, rate 0.125");
  // Given, although it is the toy's value.
  CHECK(text_of(kNumbers, run({"--rate", "0.25"}, kReal).first) == "layers 3, width 8, rate 0.25");
  CHECK(text_of(kNumbers, run({"--layers=9", "--width=64"}, kReal).first) ==
        "layers 9, width 64, rate 0.125");
  CHECK(run({"--layers", "9"}, kToy).second == kMet);
  for (const char* bad : {"--layers=0", "--layers=10", "--layers=2.5", "--rate=1.5", "--rate=x", "--width=1"})
    CHECK(run({bad}, kToy).second == kUsage);
}

TEST_CASE("the help says what is usual elsewhere", "[kit]") {
  std::ostringstream shown;
  std::streambuf* const out = std::cout.rdbuf(shown.rdbuf());
  const int code = run({"--help"}, kToy).second;
  std::cout.rdbuf(out);
  CHECK(code == kMet);
  CHECK_THAT(shown.str(), ContainsSubstring("blocks; 3 with --data") &&
                              ContainsSubstring("of learning; 0.125 with --data") &&
                              !ContainsSubstring("numbers; 8"));  // the same everywhere
}

TEST_CASE("sizes travel as texts", "[kit]") {
  const auto texts = sizes_as_texts(kNumbers, kReal);
  CHECK(texts == std::map<std::string, std::string>{{"layers", "3"}, {"width", "8"}});
  TrainingState saved;
  for (const auto& [name, text] : texts) saved.set_text(name, text);
  Recipe read;
  read_sizes(saved, kNumbers, read);
  CHECK(text_of(kNumbers, read) == "layers 3, width 8, rate 0.5");
  for (const char* least_or_most : {"2", "64"}) {
    saved.set_text("width", least_or_most);
    read_sizes(saved, kNumbers, read);
    CHECK(fmt::format("{}", read.width) == least_or_most);
  }
  for (const char* bad : {"wide", "", "8x", "-8", "1", "65", "1000000", "18446744073709551615"}) {
    saved.set_text("width", bad);
    CAPTURE(bad);
    CHECK_THROWS_WITH(read_sizes(saved, kNumbers, read), ContainsSubstring("\"width\""));
  }
  CHECK_THROWS_WITH(read_sizes(TrainingState(), kNumbers, read), ContainsSubstring("layers"));
}

}  // namespace tapestry::kit
