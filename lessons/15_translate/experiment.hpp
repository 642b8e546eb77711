// The parts of lesson 15 that are not in its chapter: a check of nn/'s search, training, tests and pictures on
// the grammar and on real text, and the translation of your own sentences.
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

/// Recipes: the default for the grammar, and the one that was best on Multi30k's validation sentences. Each
/// field is also an option, which --help explains.
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

/// Replaces each <unk> with the source word that has its largest weight. Defined in lesson.cpp.
using Translations = std::vector<kit::Translation>;
Translations copy_unknown(Translations translations);

/// The chapter's table: kNext[w] has the probabilities of the words <begin>, <end>, a, b, c, d after w.
inline const std::vector<std::vector<double>> kNext = {{0, 0, .6, .4, 0, 0},  {0, 1, 0, 0, 0, 0},
                                                       {0, .2, 0, 0, .4, .4}, {0, .1, 0, 0, .9, 0},
                                                       {0, .9, .1, 0, 0, 0},  {0, .5, .5, 0, 0, 0}};
inline constexpr std::size_t kFirst = 0, kLast = 1;
/// Returns whether nn/decode.hpp's search of this table, without length normalisation, finds these words with
/// this log-probability. `words` includes <begin> and <end>.
bool nn_finds(const std::vector<std::size_t>& words, double log_probability, Size beam);

/// Checks the chapter's example "tom sees marie".
void check_copying(kit::Report& report);

/// The options of a run, its data and its results.
struct Work {
  const kit::Options& options;
  kit::TranslatorSettings settings;
  kit::Report& report;
  std::string folder;  // for checkpoints and pictures, in options.out
  kit::Corpus corpus = {};
  std::vector<kit::TrainedTranslator> all = {};
  std::vector<kit::Translation> written = {};  // the chosen translator's output for the test set of real text

  bool real() const { return !options.data.empty(); }
  /// Returns the translator with the score given by --score.
  const kit::TrainedTranslator& chosen() const;
  std::vector<kit::Translation> translate(const std::vector<kit::GrammarSentence>& sentences) const;
  void show(const kit::Translation& translation, const std::string& file) const;
};

/// Prints the numbers of weights in the cells and in the output layer of a large translator. Returns the ratio
/// of the output layer's number to a plain RNN cell's, and to a GRU cell's.
std::pair<double, double> output_against_cells();

/// The questions asked before training, if this run can answer them. Both need the grammar and a translator
/// with attention. The second also needs a translator without attention for comparison.
struct Asked {
  std::optional<kit::Question> never_seen, longest;
};
Asked ask_before_training(const Work& work);

/// Train the translators, test them on new sentences, draw BLEU by length, and draw alignments. Each function
/// works on the grammar or on real text, depending on the options.
void train(Work& work);
void test(Work& work, const Asked& asked);
void test_lengths(const Work& work, const Asked& asked);
void show_looks(const Work& work);

/// The versions of these functions for real text.
void train_on_real_text(Work& work);
void test_on_real_text(Work& work);
void lengths_of_real_text(const Work& work);
void looks_on_real_text(const Work& work);

/// Translates the curves' sentences with a model, copies unknown words, and adds the result as a curve.
std::vector<kit::Words> add_curve(kit::LengthCurves& curves, const kit::TranslatorConfig& config,
                                  SequenceModel& model, const kit::Lexicon& source,
                                  const kit::Lexicon& target);

/// Applies the recipe that belongs to the options. With --translate or --translate-file, translates with the
/// model from a checkpoint and returns false, because there is nothing to train.
bool prepare(const kit::Lesson& program, const kit::Options& options, kit::TranslatorSettings& settings);
/// Returns the folder for this run's checkpoints and pictures, in options.out.
std::string folder_of_run(const kit::Options& options, const kit::TranslatorSettings& settings);

}  // namespace tapestry::lesson15
