// Lesson 31's checks of the parts that are built by hand, and its training runs.
#pragma once

#include <string>
#include <vector>

#include "lessons/31_addressing/tasks.hpp"

namespace tapestry::lesson31 {

/// Returns a row (1, N), f64.
Tensor row(const std::vector<double>& x);
/// Returns the weight on slot 20 after the twenty steps of section 1's question, for a head that starts on
/// slot 0 of 32.
double weight_after_shifts(double sharpness);
/// Checks a row (1, N) of a worked example.
void check_row(kit::Report& report, const char* name, const Tensor& row, const std::vector<double>& written);

/// Gradient-checks a layer by hand on one string x (T, in), and compares it with nn/'s layer that has the same
/// parameters.
void check_machine(Tensor (*by_hand)(const Tensor& x, const NeuralTuringMachine& machine), std::uint64_t seed,
                   kit::Report& report);
void check_lstmn(Tensor (*by_hand)(const Tensor& x, const LSTMN& net), std::uint64_t seed,
                 kit::Report& report);

/// Right answers at the longest training length and at twice that length: letters and whole strings, in %.
struct Accuracy {
  double letters = 0, strings = 0, letters_twice = 0, strings_twice = 0;
};

// Each function below trains its models on the same strings, prints a table, and compares the results with the targets.
// The first two also draw pictures. `machine` sets the sizes of memory and controller, and the heads' initial biases.

struct CopyAccuracy {
  Accuracy machine, content, lstm, lstmn;
};
CopyAccuracy train_copy(const NeuralTuringMachineOptions& machine, const kit::Options& options,
                        kit::Report& report);
/// Accuracy on strings of ten letters, in %: of whole strings (machine), and of letters (the other two). The initial
/// biases let the read head step on.
struct ContinueAccuracy {
  double machine = 0, shift = 0, content = 0;
};
ContinueAccuracy train_continue(NeuralTuringMachineOptions machine, const kit::Options& options,
                                kit::Report& report);
/// Percentage of marked letters named. One of the first five of 40 letters is marked, so at least 35 letters come after
/// it.
struct MarkedAccuracy {
  double lstmn = 0, lstm = 0;
};
MarkedAccuracy train_marked(const kit::Options& options, kit::Report& report);

}  // namespace tapestry::lesson31
