// The transformer translators' command line: recipes, folders, and names of runs.
#include <array>
#include <set>

#include "lessons/22_transformer/options.hpp"
#include "tests/catch.hpp"
#include "tests/lessons/kit/kept.hpp"
#include "tests/lessons/kit/program/command_line.hpp"

namespace tapestry::kit {
namespace {

const TransformerRecipe kToy = {.layers = 1, .width = 8, .heads = 2, .hidden = 16, .rate = 0.01};
const TransformerRecipe kReal = {
    .layers = 4, .width = 32, .epochs = 7, .merges = 50, .dropout = 0.5, .length_power = 2};

TransformerSettings settings_of(const std::vector<const char*>& arguments, const TransformerRecipe& recipe) {
  return settings_from<TransformerSettings>(arguments, kToy, kReal, recipe);
}

}  // namespace

TEST_CASE("a transformer's recipe holds where the command line says nothing", "[kit]") {
  const TransformerSettings usual = settings_of({}, kReal);
  CHECK(usual.config.layers == 4);
  CHECK(usual.config.width == 32);
  CHECK(usual.config.dropout == 0.5);
  CHECK(usual.recipe.merges == 50);
  CHECK(usual.length_power == 2);
  const TransformerSettings toy = settings_of({}, kToy);
  CHECK(toy.config.hidden == 16);
  CHECK(toy.config.heads == 2);
  CHECK(toy.recipe.rate == 0.01);
  CHECK(toy.length_power == kToy.length_power);

  const TransformerSettings given =
      settings_of({"--layers", "1", "--word-dropout", "0.25", "--length-power", "0.5"}, kReal);
  CHECK(given.config.layers == 1);  // although it is the toy's usual value
  CHECK(given.config.word_dropout == 0.25);
  CHECK(given.length_power == 0.5);
  CHECK(given.recipe.epochs == 7);
}

TEST_CASE("a transformer's recipe that says nothing is the usual config", "[kit]") {
  const TransformerConfig config = settings_of({}, {}).config, usual;
  CHECK(texts_of(config) == texts_of(usual));
  CHECK(config.layers == 3);
  CHECK(config.width == 192);
  CHECK(config.heads == 4);
  CHECK(config.hidden == 384);
  CHECK(config.dropout == usual.dropout);
  CHECK(config.word_dropout == usual.word_dropout);
}

TEST_CASE("a transformer is trained for --steps where it is given, and for its epochs elsewhere", "[kit]") {
  const auto steps = [](const std::vector<const char*>& arguments) {
    const TransformerSettings settings = settings_of(arguments, kReal);
    Options options;
    options.steps = 33;
    return training_of(options, settings, "task", settings.config, 1000).steps;
  };
  CHECK(steps({}) == 7 * 16);  // 1,000 pairs in batches of 64
  CHECK(steps({"--epochs", "2"}) == 2 * 16);
  CHECK(steps({"--steps", "33"}) == 33);
}

TEST_CASE("heads that do not divide the width are refused before any work", "[kit]") {
  TransformerSettings settings;
  bool begun = false;
  const int code = run_with(
      {"--heads", "3"}, [&](Lesson& program) { add_options(program, settings, kToy, kReal); },
      [&](const Lesson& program, const Options&) {
        apply_recipe(program, kReal, settings);
        begun = true;
      });
  CHECK(code == kUsage);
  CHECK_FALSE(begun);
}

TEST_CASE("transformers' runs that differ have folders or names that differ", "[kit]") {
  TransformerConfig config = settings_of({}, kToy).config;
  CHECK(folder_of("out", "task", config) == std::filesystem::path("out/task"));
  config.recurrent_decoder = true;
  CHECK(folder_of("out", "task", config) != std::filesystem::path("out/task"));

  std::set<std::string> names;
  std::string lines;
  const std::vector<std::vector<const char*>> command_lines = {{},
                                                               {"--layers", "2"},
                                                               {"--width", "16"},
                                                               {"--heads", "4"},
                                                               {"--hidden", "18"},
                                                               {"--batch", "9"},
                                                               {"--merges", "9"},
                                                               {"--rate", "0.5"},
                                                               {"--rise", "0.5"},
                                                               {"--dropout", "0.5"},
                                                               {"--word-dropout", "0.5"},
                                                               {"--smoothing", "0.2"},
                                                               {"--average", "0.5"},
                                                               {"--at-least", "1"}};
  for (const auto& line : command_lines) {
    const TransformerSettings settings = settings_of(line, kToy);
    names.insert(training_of({}, settings, "task", settings.config).name);
    lines += joined(line) + "\n    " + training_of({}, settings, "task", settings.config).name + "\n";
  }
  CHECK(difference("22_transformer/names.txt", lines) == "");
  CHECK(names.size() == command_lines.size());
  // How it is searched makes no other run.
  const TransformerSettings searched = settings_of({"--beam", "9", "--length-power", "1"}, kToy);
  CHECK(names.count(training_of({}, searched, "task", searched.config).name) == 1);
}

TEST_CASE("numbers of a transformer have their ranges", "[kit]") {
  for (const auto& [name, least, most, below, above] :
       std::vector<std::array<const char*, 5>>{{"--layers", "1", "24", "0", "25"},
                                               {"--width", "1", "16384", "0", "16385"},
                                               {"--heads", "1", "64", "0", "65"},
                                               {"--hidden", "1", "16384", "0", "16385"},
                                               {"--dropout", "0", "0.9", "-0.1", "0.91"},
                                               {"--word-dropout", "0", "0.9", "-0.1", "0.91"},
                                               {"--batch", "1", "16384", "0", "16385"},
                                               {"--epochs", "1", "1000", "0", "1001"},
                                               {"--merges", "0", "1000000", "-1", "1000001"},
                                               {"--rate", "1e-6", "1", "9e-7", "1.01"},
                                               {"--rise", "0", "0.9", "-0.1", "0.91"},
                                               {"--smoothing", "0", "0.9", "-0.1", "0.91"},
                                               {"--average", "0", "0.9999", "-0.1", "1"}})
    check_range(
        [](Lesson& program) {
          static TransformerSettings settings;
          add_options(program, settings, kToy, kReal);
        },
        name, least, most, below, above);
}

}  // namespace tapestry::kit
