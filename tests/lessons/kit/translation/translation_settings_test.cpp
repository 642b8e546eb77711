// What every program that trains translators can be asked: epochs, and what is for real sentences alone.
#include "lessons/15_translate/options.hpp"
#include "lessons/kit/translation/options.hpp"
#include "tests/catch.hpp"
#include "tests/lessons/kit/program/command_line.hpp"

namespace tapestry::kit {
namespace {

using Catch::Matchers::ContainsSubstring;

/// The message of expect_real_text for a program of these arguments.
std::string refusal(const std::vector<const char*>& arguments, const std::filesystem::path& data) {
  TranslationSettings settings;
  bool own = false;
  std::string message;
  run_with(
      arguments,
      [&](Lesson& program) {
        add_options(program, settings);
        program.add_flag("--own", own, "an option of the program's");
      },
      [&](const Lesson& program, Options options) {
        options.data = data;
        message = usage_error([&] { expect_real_text(program, options, settings, {"--own"}); });
      });
  return message;
}

}  // namespace

TEST_CASE("what is for real sentences wants --data", "[kit]") {
  CHECK(refusal({}, {}) == "(nothing thrown)");
  CHECK(refusal({"--fresh"}, {}) == "(nothing thrown)");
  for (const std::vector<const char*>& arguments :
       std::vector<std::vector<const char*>>{{"--direction", "fr-en"},
                                             {"--at-least", "3"},
                                             {"--beam", "3"},
                                             {"--length-power", "1"},
                                             {"--own"}})
    CHECK_THAT(refusal(arguments, {}), ContainsSubstring(arguments.front()) && ContainsSubstring("--data"));
  CHECK_THAT(refusal({}, "no/such/folder"), ContainsSubstring("no/such/folder"));
}

TEST_CASE("training takes steps or epochs", "[kit]") {
  const TranslatorRecipe recipe = {.batch = 64, .epochs = 7};
  Options options;
  options.steps = 600;
  TranslationSettings settings;
  CHECK(training_by(options, settings, recipe, 0).steps == 600);
  const TranslatorTraining epochs = training_by(options, settings, recipe, 640 + 1);
  CHECK(epochs.steps == 7 * 11);
  CHECK(epochs.steps_per_look == 11);
  settings.steps_given = true;
  CHECK(training_by(options, settings, recipe, 641).steps == 600);
  options.smoke = true;
  options.steps = 8;
  CHECK(training_by(options, settings, recipe, 641).steps_per_look == 8);
}

}  // namespace tapestry::kit
