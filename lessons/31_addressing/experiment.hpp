// Lesson 31's checks of what is built by hand, and its training.
#pragma once

#include <string>
#include <vector>

#include "lessons/31_addressing/tasks.hpp"

namespace tapestry::lesson31 {

/// (1, N), f64
Tensor row(const std::vector<double>& x);
/// How much of a head that begins on slot 0 of 32 stands on slot 20 after the twenty steps that part 1 asks
/// about.
double walked(double sharpness);
/// Figures of a row (1, N) as with a pencil.
void check_row(kit::Report& report, const char* name, const Tensor& row, const std::vector<double>& written);

/// One string x (T, in), by hand with the layer's weights: gradcheck, and nn/'s beside it.
void check_machine(Tensor (*by_hand)(const Tensor& x, const NeuralTuringMachine& machine), std::uint64_t seed,
                   kit::Report& report);
void check_lstmn(Tensor (*by_hand)(const Tensor& x, const LSTMN& net), std::uint64_t seed,
                 kit::Report& report);

/// What is said rightly at the longest trained length, and at twice that: letters and whole strings, in per
/// cent.
struct Right {
  double letters = 0, strings = 0, letters_twice = 0, strings_twice = 0;
};

/// Each trains its readers with the same strings, prints a table and pictures, and judges them. `machine`
/// says how large the memory and its controller are, and how its heads start.
struct Copied {
  Right machine, content, lstm, lstmn;
};
Copied train_copy(const NeuralTuringMachineOptions& machine, const kit::Options& options,
                  kit::Report& report);
/// The reading head starts with stepping on: here it is not to wait.
struct GoneOn {
  double machine = 0;             // whole strings of ten
  double shift = 0, content = 0;  // letters of ten
};
GoneOn train_go_on(NeuralTuringMachineOptions machine, const kit::Options& options, kit::Report& report);
/// A letter is marked, and 35 others or more come after it.
struct Marked {
  double lstmn = 0, lstm = 0;
};
Marked train_marked(const kit::Options& options, kit::Report& report);

}  // namespace tapestry::lesson31
