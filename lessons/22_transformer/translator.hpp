// The translators of lesson 22 and what it does with them: the command line, training, new sentences, heads.
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

  /// Of real text: the name of its folder, but for the decoder.
  std::string task() const { return "multi30k-" + direction + (preset == "long" ? "-long" : ""); }
};

/// Adds all options to the program. The recipes are what is usual on the grammar, and what was best on
/// Multi30k's validation sentences.
void offer(kit::Lesson& program, Settings& settings);

/// Takes from the recipe what the command line did not give. For --translate and --translate-file it does
/// that, with the model of a checkpoint, and returns true; then there is nothing more to do.
bool translates(const kit::Lesson& program, const kit::Options& options, Settings& settings);

/// A translator that has learned, and a sentence that it wrote.
struct Outcome {
  kit::Corpus corpus;
  std::filesystem::path folder;
  std::unique_ptr<SequenceModel> model;
  kit::Translation shown;
  bool all_met = true;  ///< the targets of new sentences
};

/// On the grammar, in which some pairs of adjective and noun are never shown, it trains a translator with
/// each decoder, and counts exact translations of new sentences; returns the transformer, with "the zone of
/// international control". On --data it trains the one that was asked for, and reports BLEU; then a short
/// sentence is shown in which something crosses.
Outcome train_and_test(const kit::Options& options, const Settings& settings, kit::Report& report);

/// The sentence, its translation, and where each head (or the recurrent decoder) looked; to heads.svg in its
/// folder. Then how often two heads have their largest weight on the same word of the source.
void show_heads(const Outcome& learned, kit::Report& report);

}  // namespace tapestry::lesson22
