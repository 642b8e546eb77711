// The gallery for a page of the book: which numbers can be turned there, and maps to compare its own with.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "lessons/26_programmable/mechanism.hpp"

namespace lesson26 {

/// A number of a mechanism: its name, what it may be, and what the list has.
struct Knob {
  std::string name;
  double least = 0, most = 1, step = 1, usual = 1;
};

/// A mechanism by element with all its numbers. make() takes one for each knob, in their order.
struct Turnable {
  std::vector<Knob> knobs;
  std::function<tapestry::kit::Mechanism(const std::vector<double>&)> make;

  std::vector<double> usual() const;
};
const std::vector<Turnable>& turnables();

/// Writes for 20 places, as JSON: scores of random queries and keys (head 0's, for all heads); of each mechanism
/// of gallery() what the list says, its knobs, what it learns, and maps of its weights: by element of the usual
/// numbers, and of others, with random scores and with scores of 0, for one head each; otherwise one map of
/// random queries and keys. Weights are in ten-thousandths. UsageError if it cannot be written.
void save_gallery(const std::filesystem::path& file, std::uint64_t seed);

}  // namespace lesson26
