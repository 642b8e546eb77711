// A checkpoint of a training run in one file: weights, optimiser state, random state and position in the data. A
// resumed run continues bit for bit.
//
//     TrainingState saved;
//     saved.sections = {{"model", model.state()}, {"optimiser", adam.state()}};
//     saved.set_random("random", random_state());
//     saved.set_integer("step", step);
//     saved.save(path);
//     …
//     const TrainingState saved = TrainingState::load(path);
//     saved.restore({{"model", model.state()}, {"optimiser", adam.state()}});
//     step = saved.integer("step");
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "core/io/safetensors.hpp"
#include "core/tensor/random.hpp"

namespace tapestry {

/// Sections of named tensors, and named values. The file is a safetensors file with tensors called "section/name", so
/// other programs can read the weights.
class TrainingState {
 public:
  /// Version of the file layout that save() writes and load() reads.
  static constexpr int kVersion = 1;

  /// Tensors by section and name. A section's name must be nonempty and contain no "/". The tensors may share memory
  /// with a model or optimiser; save() reads their current values.
  std::map<std::string, State> sections;

  /// set_integer(), set_number(), set_text() and set_random() store a value under a name and replace an earlier one.
  void set_integer(const std::string& name, std::uint64_t value);
  void set_number(const std::string& name, double value);
  void set_text(const std::string& name, std::string value);
  void set_random(const std::string& name, const RandomState& value);

  /// integer(), number(), text() and random() return exactly the value that was set. They throw Error with the file's
  /// path if there is no value of this name, or if it cannot be read as this type.
  std::uint64_t integer(const std::string& name) const;
  double number(const std::string& name) const;
  const std::string& text(const std::string& name) const;
  RandomState random(const std::string& name) const;
  /// Returns true if there is a value of this name.
  bool has(const std::string& name) const { return values_.count(name) != 0; }

  /// Writes the file atomically: an existing file is replaced completely or not at all. Throws Error if a section's
  /// name is invalid or the file cannot be written.
  void save(const std::filesystem::path& path) const;
  /// Reads a file. Throws Error with the path if the file is damaged, is not a training state, or has another version.
  static TrainingState load(const std::filesystem::path& path);

  /// Copies the tensors of all sections into `living`, tensors of models and optimisers by section and name. If names
  /// are missing or unknown, or shapes differ, throws one Error that lists them all and writes nothing.
  void restore(const std::map<std::string, State>& living) const;

 private:
  std::map<std::string, std::string> values_;
  std::string where_ = "the training state";
};

}  // namespace tapestry
