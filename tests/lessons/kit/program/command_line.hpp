// What a command line makes of a program's settings.
#pragma once

#include <string>
#include <vector>

#include "lessons/kit/program/options.hpp"
#include "tests/catch.hpp"
#include "tests/lessons/kit/scratch.hpp"

namespace tapestry::kit {

/// Runs a program with these arguments; add_options(program) adds its options, body(program, options) is its work.
template <class Offer, class Body>
int run_with(std::vector<const char*> arguments, const Offer& offer_options, const Body& body) {
  const Scratch scratch;
  const std::string out = scratch.folder().string();
  arguments.insert(arguments.begin(), "lesson");
  arguments.insert(arguments.end(), {"--out", out.c_str()});
  Lesson program("99_test", "a test");
  offer_options(program);
  return program.run(static_cast<int>(arguments.size()), arguments.data(),
                     [&](const Options& options, Report&) { body(program, options); });
}

/// The settings that `arguments` give a program whose usual recipes are `toy` and, with --data, `real`, when
/// it follows `recipe`.
template <class Settings, class Recipe>
Settings settings_from(const std::vector<const char*>& arguments, const Recipe& toy, const Recipe& real,
                       const Recipe& recipe) {
  Settings settings;
  const int code = run_with(
      arguments, [&](Lesson& program) { add_options(program, settings, toy, real); },
      [&](const Lesson& program, const Options&) { apply_recipe(program, recipe, settings); });
  REQUIRE(code == kMet);
  return settings;
}

/// That a program takes a number from `least` to `most` for an option, as it is written, and none beyond.
template <class Offer>
void check_range(const Offer& offer_options, const char* name, const char* least, const char* most,
                 const char* below, const char* above) {
  const auto code = [&](const char* value) {
    return run_with({name, value}, offer_options, [](const Lesson&, const Options&) {});
  };
  CAPTURE(name);
  CHECK(code(least) == kMet);
  CHECK(code(most) == kMet);
  CHECK(code(below) == kUsage);
  CHECK(code(above) == kUsage);
}

/// "--steps 5 --tied"; "(none)".
inline std::string joined(const std::vector<const char*>& arguments) {
  std::string line;
  for (const char* argument : arguments) line += (line.empty() ? "" : " ") + std::string(argument);
  return line.empty() ? "(none)" : line;
}

}  // namespace tapestry::kit
