// The language models' command line: recipes, and names of runs.
#include <array>

#include "core/core.hpp"
#include "lessons/20_gpt/train_on_text.hpp"
#include "optim/training_state.hpp"
#include "tests/catch.hpp"
#include "tests/lessons/kit/kept.hpp"
#include "tests/lessons/kit/printed.hpp"
#include "tests/lessons/kit/program/command_line.hpp"

namespace tapestry::kit {
namespace {

using lesson20::LanguageRecipe, lesson20::LanguageTraining;

const LanguageRecipe kUsual = {
    .layers = 1, .heads = 2, .width = 8, .context = 6, .batch = 3, .steps = 2, .dropout = 0.1, .rate = 0.01};

/// The recipe of a program with these arguments, whose usual one is kUsual.
LanguageRecipe recipe_of(const std::vector<const char*>& arguments, const LanguageRecipe& usual = kUsual) {
  LanguageRecipe recipe;
  const int code = run_with(
      arguments,
      [&](Lesson& program) { add_options(program, recipe, kUsual, LanguageRecipe(), "elsewhere"); },
      [&](const Lesson& program, const Options&) { apply_recipe(program, usual, recipe); });
  REQUIRE(code == kMet);
  return recipe;
}

}  // namespace

TEST_CASE("a language model's recipe holds where the command line says nothing", "[kit]") {
  LanguageRecipe offered;
  Lesson program("99_test", "a test");
  add_options(program, offered, kUsual, LanguageRecipe(), "elsewhere");
  CHECK(offered.width == 8);  // before any command line is read

  const LanguageRecipe other = recipe_of({}, LanguageRecipe());
  CHECK(other.width == 128);
  CHECK(other.positions == "learned");
  const LanguageRecipe given = recipe_of({"--width", "8", "--positions", "rotary"}, LanguageRecipe());
  CHECK(given.width == 8);
  CHECK(given.layers == 4);
  CHECK(given.positions == "rotary");
}

TEST_CASE("each option of a language model is in the name of its run", "[kit]") {
  const Scratch scratch;
  std::string text;
  for (int i = 0; i < 40; ++i) text += "to be, or not to be?\n";
  const CharCorpus corpus = read_characters(scratch.write("text.txt", text));
  std::string lines;
  for (const auto& line : std::vector<std::vector<const char*>>{{},
                                                                {"--layers", "2"},
                                                                {"--heads", "1"},
                                                                {"--width", "16"},
                                                                {"--context", "7"},
                                                                {"--batch", "4"},
                                                                {"--dropout", "0.2"},
                                                                {"--rate", "0.02"},
                                                                {"--positions", "rotary"}}) {
    LanguageTraining how;
    how.recipe = recipe_of(line);
    how.out = scratch.path("run");
    how.fresh = true;
    how.stop_after = 1;
    how.steps_per_look = 2;
    LanguageModel model(language_model_options(how.recipe, corpus.characters.size()));
    model.initialise(1);
    std::string progress;
    {
      const Printed printed(STDERR_FILENO);
      train_language_model(model, corpus, how);
      progress = printed.text();
    }
    CHECK_THAT(progress, Catch::Matchers::ContainsSubstring("1/2  50 %  loss "));
    lines += joined(line) + "\n    " +
             std::string(load_checkpoint(how.out / "checkpoint.safetensors").text("run")) + "\n";
  }
  CHECK(difference("20_gpt/names.txt", lines) == "");
}

TEST_CASE("numbers of a language model have their ranges", "[kit]") {
  for (const auto& [name, least, most, below, above] :
       std::vector<std::array<const char*, 5>>{{"--layers", "1", "100", "0", "101"},
                                               {"--heads", "1", "128", "0", "129"},
                                               {"--width", "1", "4096", "0", "4097"},
                                               {"--context", "2", "4096", "1", "4097"},
                                               {"--batch", "1", "4096", "0", "4097"},
                                               {"--dropout", "0", "0.9", "-0.1", "0.91"},
                                               {"--rate", "1e-6", "1", "9e-7", "1.01"}})
    check_range(
        [](Lesson& program) {
          static LanguageRecipe recipe;
          add_options(program, recipe, kUsual, LanguageRecipe(), "elsewhere");
        },
        name, least, most, below, above);
}

}  // namespace tapestry::kit
