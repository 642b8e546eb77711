// What lesson 15 does around its chapter: the table's search by nn/, training, tests and pictures on the
// grammar and on real text, and sentences of somebody's own.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lessons/15_translate/length_curves.hpp"
#include "lessons/15_translate/options.hpp"
#include "lessons/15_translate/train_each.hpp"
#include "lessons/kit/kit.hpp"
#include "lessons/kit/translation/bleu.hpp"
#include "lessons/kit/translation/grammar_corpus.hpp"
#include "nn/decode.hpp"

namespace tapestry::lesson15 {

using kit::Words;

/// The recipes: what is usual on the grammar, and what was best on Multi30k's validation sentences. Each
/// field is an option too: --help says what it does.
inline const kit::TranslatorRecipe kGrammarRecipe = {
    .embedding = 64, .hidden = 96, .batch = 64, .dropout = 0.1, .rate = 4e-3, .joined = 0.25};
inline const kit::TranslatorRecipe kMulti30kRecipe = {.embedding = 256,
                                                      .hidden = 256,
                                                      .batch = 64,
                                                      .epochs = 16,
                                                      .dropout = 0.3,
                                                      .rate = 1e-3,
                                                      .hold = 0.4,
                                                      .average = 0.98,
                                                      .tied = true};

/// In lesson.cpp: each <unk> becomes the source word that it looked at most.
using Translations = std::vector<kit::Translation>;
Translations copy_unknown(Translations translations);

/// The chapter's table: kNext[w] has the probabilities of the words <begin>, <end>, a, b, c, d after w.
inline const std::vector<std::vector<double>> kNext = {{0, 0, .6, .4, 0, 0},  {0, 1, 0, 0, 0, 0},
                                                       {0, .2, 0, 0, .4, .4}, {0, .1, 0, 0, .9, 0},
                                                       {0, .9, .1, 0, 0, 0},  {0, .5, .5, 0, 0, 0}};
inline constexpr std::size_t kFirst = 0, kLast = 1;
/// Whether nn/decode.hpp's search of that table, without length normalisation, ends at these words, <begin>
/// and <end> among them, with this log-probability.
bool nn_finds(const std::vector<std::size_t>& words, double log_probability, Size beam);

/// The chapter's "tom sees marie", checked.
void check_copying(kit::Report& report);

/// What a run of the program is about, and what came of it.
struct Work {
  const kit::Options& options;
  kit::TranslatorSettings settings;
  kit::Report& report;
  std::string folder;  // of its checkpoints and pictures, in options.out
  kit::Corpus corpus = {};
  std::vector<kit::TrainedTranslator> all = {};
  std::vector<kit::Translation> written = {};  // what the chosen one wrote for the test set of real text

  bool real() const { return !options.data.empty(); }
  /// The one that --score asked for.
  const kit::TrainedTranslator& chosen() const;
  std::vector<kit::Translation> translate(const std::vector<kit::GrammarSentence>& sentences) const;
  void show(const kit::Translation& translation, const std::string& file) const;
};

/// Prints how many weights cells and output layer of a large translator have; returns how many times as many
/// the output layer has as a plain RNN's cell, and as a GRU's.
std::pair<double, double> output_against_cells();

/// The questions that are put before training, where this run answers them: on the grammar, to one that
/// attends; the second if one without attention is trained beside the usual one.
struct Asked {
  std::optional<kit::Question> never_seen, longest;
};
Asked ask_before_training(const Work& work);

/// On the grammar or on real text, as the options say: trains; tests on new sentences; draws BLEU by length;
/// draws alignments.
void train(Work& work);
void test(Work& work, const Asked& asked);
void test_lengths(const Work& work, const Asked& asked);
void show_looks(const Work& work);

/// The parts of these that belong to real text.
void train_on_real_text(Work& work);
void test_on_real_text(Work& work);
void lengths_of_real_text(const Work& work);
void looks_on_real_text(const Work& work);

/// What a model writes for the curves' sentences, unknown words copied; it becomes a curve.
std::vector<kit::Words> add_curve(kit::LengthCurves& curves, const kit::TranslatorConfig& config,
                                  SequenceModel& model, const kit::Lexicon& source,
                                  const kit::Lexicon& target);

/// Takes the recipe that belongs to the options. Where --translate or --translate-file is given, translates
/// with the model of a checkpoint and returns false: there is nothing to train.
bool prepare(const kit::Lesson& program, const kit::Options& options, kit::TranslatorSettings& settings);
/// The folder of this run's checkpoints and pictures, in options.out.
std::string folder_of_run(const kit::Options& options, const kit::TranslatorSettings& settings);

}  // namespace tapestry::lesson15
