// The gallery for a page of the book: the adjustable numbers, and maps with which the page compares its own.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "lessons/26_programmable/mechanism.hpp"

namespace lesson26 {

/// An adjustable number of a mechanism: its name, range and step, and its usual value, which the list has.
struct AdjustableNumber {
  std::string name;
  double least = 0, most = 1, step = 1, usual = 1;
};

/// Queries and keys without content, with which a map shows the effect of positions alone: zeros, or all equal.
/// `none` if the mechanism has no such map.
enum class BlankInputs { zeros, equal, none };

/// A mechanism of gallery() with its adjustable numbers. make() takes one value for each of them, in the
/// same order.
struct AdjustableMechanism {
  std::vector<AdjustableNumber> numbers;
  std::function<tapestry::kit::Mechanism(const std::vector<double>&)> make;
  BlankInputs blank = BlankInputs::zeros;
  bool per_head_inputs = false;  ///< each head has its own queries and keys

  std::vector<double> usual() const;
};
const std::vector<AdjustableMechanism>& adjustable_mechanisms();

/// Writes a JSON file for 20 positions. It contains random queries and keys for each head. For each mechanism
/// of gallery() it contains the entry of the list, the adjustable numbers, the learned tensors, and maps of the weights
/// for one head each: with the usual numbers and with others, for random queries and keys and for those of
/// `blank`. All heads use head 0's queries and keys, unless `per_head_inputs` is set.
///
/// Weights are stored in units of 1/10,000, all other numbers in millionths. Throws UsageError if the file
/// cannot be written.
void save_gallery(const std::filesystem::path& file, std::uint64_t seed);

}  // namespace lesson26
