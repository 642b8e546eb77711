// The numbers of a recipe as options: each is what is usual, unless the command line says otherwise.
//
//     constexpr RecipeNumber<Recipe> kNumbers[] = {{"--layers", &Recipe::layers, "blocks", 1, 24}, …};
//     offer(program, kNumbers, recipe, toy, real, "with --data");
//     …                                                                in the lesson's body:
//     follow(program, kNumbers, options.data.empty() ? toy : real, recipe);
#pragma once

#include <fmt/format.h>

#include <map>
#include <string>
#include <type_traits>
#include <variant>

#include "lessons/kit/program/options.hpp"
#include "lessons/kit/program/usage_error.hpp"
#include "lessons/kit/train/saved_size.hpp"
#include "optim/training_state.hpp"

namespace tapestry::kit {

/// A number of a recipe, a struct of sizes and other numbers.
template <class Recipe>
struct RecipeNumber {
  const char* name;  ///< the option: "--layers"
  std::variant<Size Recipe::*, double Recipe::*> value;
  const char* help;
  double least, most;

  /// Without the dashes.
  std::string word() const { return name + 2; }
};

/// Calls f(number, value) for each, with the value of `recipe`, a Size or a double.
template <class Numbers, class Recipe, class F>
void for_each_number(const Numbers& numbers, Recipe& recipe, const F& f) {
  for (const auto& number : numbers)
    std::visit([&](const auto& member) { f(number, recipe.*member); }, number.value);
}

/// Adds an option for each number. `recipe` becomes the usual one; the help says too what is usual `where`
/// things are otherwise ("with --data").
template <class Numbers, class Recipe>
void offer(Lesson& program, const Numbers& numbers, Recipe& recipe, const Recipe& usual,
           const Recipe& otherwise, const std::string& where) {
  recipe = usual;
  for_each_number(numbers, recipe, [&](const auto& number, auto& value) {
    using Number = std::remove_reference_t<decltype(value)>;
    const Number other = otherwise.*std::get<Number Recipe::*>(number.value);
    std::string help = number.help;
    if (other != value) help += fmt::format("; {} {}", other, where);
    program.add(number.name, value, help, static_cast<Number>(number.least),
                static_cast<Number>(number.most));
  });
}

/// Takes from `usual` what the command line did not give; for use in the lesson's body.
template <class Numbers, class Recipe>
void follow(const Lesson& program, const Numbers& numbers, const Recipe& usual, Recipe& recipe) {
  for_each_number(numbers, recipe, [&](const auto& number, auto& value) {
    using Number = std::remove_reference_t<decltype(value)>;
    if (!program.given(number.name)) value = usual.*std::get<Number Recipe::*>(number.value);
  });
}

/// "layers 4, heads 4, rate 0.002": for the name of a run, which another number makes another run.
template <class Numbers, class Recipe>
std::string text_of(const Numbers& numbers, const Recipe& recipe) {
  std::string text;
  for_each_number(numbers, recipe, [&](const auto& number, const auto& value) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", number.word(), value);
  });
  return text;
}

/// The sizes as texts for a checkpoint, and back: what it takes to build a model again.
template <class Numbers, class Recipe>
std::map<std::string, std::string> sizes_as_texts(const Numbers& numbers, const Recipe& recipe) {
  std::map<std::string, std::string> texts;
  for_each_number(numbers, recipe, [&](const auto& number, const auto& value) {
    if constexpr (std::is_integral_v<std::decay_t<decltype(value)>>)
      texts[number.word()] = fmt::format("{}", value);
  });
  return texts;
}
/// Throws Error for a size that is missing, or that the option would refuse.
template <class Numbers, class Recipe>
void read_sizes(const TrainingState& saved, const Numbers& numbers, Recipe& recipe) {
  for_each_number(numbers, recipe, [&](const auto& number, auto& value) {
    if constexpr (std::is_integral_v<std::decay_t<decltype(value)>>)
      value =
          saved_size(saved, number.word(), static_cast<Size>(number.least), static_cast<Size>(number.most));
  });
}

/// Refuses heads that do not divide the width, before any work is done.
template <class Recipe>
void check_heads(const Recipe& recipe) {
  if (recipe.width % recipe.heads != 0)
    throw UsageError(fmt::format("--heads {} do not divide a --width of {}", recipe.heads, recipe.width));
}

}  // namespace tapestry::kit
