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
double walked(double sharpness);
/// Checks a row (1, N) of a worked example.
void check_row(kit::Report& report, const char* name, const Tensor& row, const std::vector<double>& written);

/// Compares one string x (T, in), computed by hand with the layer's parameters, with nn/'s layer; runs
/// gradcheck.
void check_machine(Tensor (*by_hand)(const Tensor& x, const NeuralTuringMachine& machine), std::uint64_t seed,
                   kit::Report& report);
void check_lstmn(Tensor (*by_hand)(const Tensor& x, const LSTMN& net), std::uint64_t seed,
                 kit::Report& report);

/// Right answers at the longest training length and at twice that length: letters and whole strings, in %.
struct Right {
  double letters = 0, strings = 0, letters_twice = 0, strings_twice = 0;
};

/// Each function trains its models on the same strings, prints a table, draws plots, and compares with the
/// targets. `machine` sets the sizes of the memory and the controller, and the initial biases of the heads.
struct Copied {
  Right machine, content, lstm, lstmn;
};
Copied train_copy(const NeuralTuringMachineOptions& machine, const kit::Options& options,
                  kit::Report& report);
/// Here the read head's initial biases say "step on", because it must not wait.
struct GoneOn {
  double machine = 0;             // whole strings, of ten letters
  double shift = 0, content = 0;  // letters, in strings of ten
};
GoneOn train_go_on(NeuralTuringMachineOptions machine, const kit::Options& options, kit::Report& report);
/// One of the first five of 40 letters is marked, so at least 35 letters come after it.
struct Marked {
  double lstmn = 0, lstm = 0;
};
Marked train_marked(const kit::Options& options, kit::Report& report);

}  // namespace tapestry::lesson31
