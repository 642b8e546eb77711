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

/// What shows a mechanism's places alone: queries and keys of 0, or all alike, or nothing does.
enum class Blank { zeros, alike, none };

/// A mechanism of gallery() with all its numbers. make() takes one for each knob, in their order.
struct Turnable {
  std::vector<Knob> knobs;
  std::function<tapestry::kit::Mechanism(const std::vector<double>&)> make;
  Blank blank = Blank::zeros;
  bool own_words = false;  ///< whether each head has queries and keys of its own

  std::vector<double> usual() const;
};
const std::vector<Turnable>& turnables();

/// Writes for 20 places, as JSON: queries and keys of each head at random; of each mechanism of gallery() what the
/// list says, its knobs, what it learns, and maps of its weights: of the usual numbers, and of others, with random
/// queries and keys, and with those of its `blank`, for one head each. All heads have head 0's queries and keys,
/// unless `own_words`. Weights are in ten-thousandths, all else in millionths. UsageError if it cannot be written.
void save_gallery(const std::filesystem::path& file, std::uint64_t seed);

}  // namespace lesson26
