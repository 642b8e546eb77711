// Options of the program. In addition to the chapter, it offers a chat, one answer, the ids of a text, the loss on a
// file, and its speed.
#pragma once

#include <filesystem>
#include <string>

#include "core/quantised/matrix.hpp"
#include "lessons/kit/kit.hpp"
#include "nn/sample.hpp"

namespace tapestry::lesson38 {

/// Settings of the command line.
struct ChatSettings {
  std::filesystem::path weights;    ///< a GGUF file; empty: the tiny model
  std::filesystem::path text_file;  ///< of --score
  std::string text;                 ///< of --answer
  std::string to_tokenize;          ///< of --tokenize
  std::string system;               ///< system message; without --system, the template's own
  bool has_system = false;          ///< --system was given
  bool chat = false, chapter = false, bench = false, greedy = false, ids = false;
  std::int64_t most = 512;   ///< tokens of an answer
  std::int64_t context = 0;  ///< tokens in the cache; 0: as many as the model allows
  std::int64_t threads = 0;  ///< 0: as usual
  std::string arithmetic = "auto";
  SamplingOptions sampling = {.temperature = 0.7, .top_k = 40, .top_p = 0.95};

  /// Returns the arithmetic to use; `exact` decides for "auto".
  QuantisedArithmetic arithmetic_of(bool exact) const;
  /// Returns the file to read: --weights, or the tiny model.
  std::filesystem::path model_file() const;
};

/// Adds the options.
void add_options(kit::Lesson& program, ChatSettings& settings);
/// Does what the options ask for and returns true, or returns false if they ask for the chapter. Throws UsageError for
/// options that contradict each other.
bool does_without_chapter(const kit::Lesson& program, const kit::Options& options, ChatSettings& settings);

}  // namespace tapestry::lesson38
