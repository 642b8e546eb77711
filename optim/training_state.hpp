// A training run in one file: weights, optimiser, random state, place in the data. What is loaded goes on bit
// for bit.
//
//     TrainingState saved;
//     saved.sections = {{"model", model.state()}, {"optimiser", adam.state()}};
//     saved.set_random("random", random_state());
//     saved.set_whole("step", step);
//     saved.save(path);
//     …
//     const TrainingState saved = TrainingState::load(path);
//     saved.restore({{"model", model.state()}, {"optimiser", adam.state()}});
//     step = saved.whole("step");
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "core/io/safetensors.hpp"
#include "core/tensor/random.hpp"

namespace tapestry {

/// Sections of tensors by name, and values by name. As a file it is a safetensors file, whose tensors are
/// called "section/name": other programs can read the weights.
class TrainingState {
 public:
  /// The version of the file's layout that save() writes and load() reads.
  static constexpr int kVersion = 1;

  /// By section, whose name holds no "/". Living tensors may stand here; save() reads them.
  std::map<std::string, State> sections;

  /// set_whole(), set_number(), set_text() and set_random() put a value under a name, in place of one that
  /// has it.
  void set_whole(const std::string& name, std::uint64_t value);
  void set_number(const std::string& name, double value);
  void set_text(const std::string& name, std::string value);
  void set_random(const std::string& name, const RandomState& value);

  /// whole(), number(), text() and random() give back exactly what was set. They throw Error, naming the
  /// file, if there is no such value or it has another form.
  std::uint64_t whole(const std::string& name) const;
  double number(const std::string& name) const;
  const std::string& text(const std::string& name) const;
  RandomState random(const std::string& name) const;
  /// Whether there is a value of that name.
  bool has(const std::string& name) const { return values_.count(name) != 0; }

  /// Replaces the file at once or not at all.
  void save(const std::filesystem::path& path) const;
  /// Throws Error with the path: damaged, no training state, or of another version.
  static TrainingState load(const std::filesystem::path& path);

  /// Writes the tensors of all sections into the living ones. All names that are missing, unknown or
  /// misshapen in any section are listed in one Error, and then nothing was written.
  void restore(const std::map<std::string, State>& living) const;

 private:
  std::map<std::string, std::string> values_;
  std::string where_ = "the training state";
};

}  // namespace tapestry
