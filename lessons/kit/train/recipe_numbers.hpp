// Hyperparameters of a recipe as command-line options with defaults that depend on the task.
//
//     constexpr RecipeNumber<Recipe> kNumbers[] = {{"--layers", &Recipe::layers, "blocks", 1, 24}, …};
//     add_options(program, kNumbers, recipe, toy, real, "with --data");
//     …                                                                in the lesson's body:
//     apply_recipe(program, kNumbers, options.data.empty() ? toy : real, recipe);
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

/// Option for one number of a recipe, where a recipe is a struct of hyperparameters.
template <class Recipe>
struct RecipeNumber {
  const char* name;  ///< the option: "--layers"
  std::variant<Size Recipe::*, double Recipe::*> value;
  const char* help;
  double least, most;

  /// Returns the name without the dashes.
  std::string word() const { return name + 2; }
};

/// Calls f(number, value) for each number, where value is the member of `recipe`, a Size or a double.
template <class Numbers, class Recipe, class F>
void for_each_number(const Numbers& numbers, Recipe& recipe, const F& f) {
  for (const auto& number : numbers)
    std::visit([&](const auto& member) { f(number, recipe.*member); }, number.value);
}

/// Adds an option for each number and sets `recipe` to the defaults `usual`. The help also shows the default of
/// `otherwise`, if it differs, followed by `where` ("with --data").
template <class Numbers, class Recipe>
void add_options(Lesson& program, const Numbers& numbers, Recipe& recipe, const Recipe& usual,
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

/// Sets each number that is not on the command line to its value in `usual`. For use in the lesson's body.
template <class Numbers, class Recipe>
void apply_recipe(const Lesson& program, const Numbers& numbers, const Recipe& usual, Recipe& recipe) {
  for_each_number(numbers, recipe, [&](const auto& number, auto& value) {
    using Number = std::remove_reference_t<decltype(value)>;
    if (!program.given(number.name)) value = usual.*std::get<Number Recipe::*>(number.value);
  });
}

/// Returns "layers 4, heads 4, rate 0.002", as part of a run's name: runs with different numbers have different names.
template <class Numbers, class Recipe>
std::string text_of(const Numbers& numbers, const Recipe& recipe) {
  std::string text;
  for_each_number(numbers, recipe, [&](const auto& number, const auto& value) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", number.word(), value);
  });
  return text;
}

/// Returns the integer numbers as texts of a checkpoint, from which read_sizes() restores them to rebuild the model.
template <class Numbers, class Recipe>
std::map<std::string, std::string> sizes_as_texts(const Numbers& numbers, const Recipe& recipe) {
  std::map<std::string, std::string> texts;
  for_each_number(numbers, recipe, [&](const auto& number, const auto& value) {
    if constexpr (std::is_integral_v<std::decay_t<decltype(value)>>)
      texts[number.word()] = fmt::format("{}", value);
  });
  return texts;
}
/// Reads the sizes from a checkpoint. Throws Error for a size that is missing or outside the option's range.
template <class Numbers, class Recipe>
void read_sizes(const TrainingState& saved, const Numbers& numbers, Recipe& recipe) {
  for_each_number(numbers, recipe, [&](const auto& number, auto& value) {
    if constexpr (std::is_integral_v<std::decay_t<decltype(value)>>)
      value =
          saved_size(saved, number.word(), static_cast<Size>(number.least), static_cast<Size>(number.most));
  });
}

/// Throws UsageError unless the heads divide the width. Call it before any work is done.
template <class Recipe>
void check_heads(const Recipe& recipe) {
  if (recipe.width % recipe.heads != 0)
    throw UsageError(fmt::format("--heads ({}) must divide --width ({})", recipe.heads, recipe.width));
}

}  // namespace tapestry::kit
