// The translators of lesson 22: command line, training, new sentences, and the weights of their heads.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "lessons/22_transformer/options.hpp"
#include "lessons/kit/kit.hpp"
#include "lessons/kit/translation/corpus.hpp"

namespace tapestry::lesson22 {

struct Settings : kit::TransformerSettings {
  std::string decoder = "transformer", preset = "usual";

  /// Returns the name of the folder for real text, without the decoder.
  std::string task() const { return "multi30k-" + direction + (preset == "long" ? "-long" : ""); }
};

/// Adds all options to the program. The defaults are the recipe for the grammar, and the best recipe for
/// Multi30k's validation sentences.
void add_options(kit::Lesson& program, Settings& settings);

/// Fills the values that the command line did not give from the recipe. With --translate or --translate-file,
/// translates with the model of a checkpoint and returns true; the program then has nothing more to do.
bool translates(const kit::Lesson& program, const kit::Options& options, Settings& settings);

/// A trained translator, and a sentence that it translated.
struct Outcome {
  kit::Corpus corpus;
  std::filesystem::path folder;
  std::unique_ptr<SequenceModel> model;
  kit::Translation shown;
  bool all_met = true;  ///< whether the targets on new sentences are met
};

/// On the grammar, trains a translator with each decoder and counts exact translations of new sentences. Some
/// pairs of adjective and noun never occur in the training sentences. Returns the transformer, with "the zone
/// of international control". On --data, trains the chosen translator and reports BLEU. It then shows a short
/// sentence with crossing alignments.
Outcome train_and_test(const kit::Options& options, const Settings& settings, kit::Report& report);

/// Prints the sentence and its translation, and draws the weights of each head (or of the recurrent decoder) in
/// heads.svg in its folder. Then reports how often two heads have their largest weight on the same source word.
void show_heads(const Outcome& learned, kit::Report& report);

}  // namespace tapestry::lesson22
