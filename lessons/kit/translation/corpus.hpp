// Corpora, batched translation, and alignment pictures for the translation lessons.
#pragma once

#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "lessons/kit/picture/picture.hpp"
#include "lessons/kit/text/lexicon.hpp"
#include "lessons/kit/text/text.hpp"
#include "lessons/kit/translation/batches.hpp"
#include "nn/seq2seq/translator.hpp"

namespace tapestry::kit {

/// Parallel corpus with a lexicon for each language.
struct Corpus {
  Lexicon source, target;
  std::vector<Pair> train;
  ParallelText valid, test;
  /// Notes about sentences that exceed kMostPieces, one per file and consequence.
  std::vector<std::string> notes = {};

  /// Returns "29000 sentence pairs for training; vocabularies of 5917 words and 6478 words", then one line per note.
  std::string text() const;
};

/// Options for reading a corpus from files.
struct CorpusOptions {
  /// Smallest number of occurrences of a word or piece in the vocabularies.
  Size at_least = 2;
  /// Number of byte-pair merges to learn from each language's training text; 0: whole words.
  Size merges = 0;
  /// Number of joined sentences (see with_joined()), as a share of the training sentences.
  double joined = 0;
  /// Largest number of validation and of test sentences.
  std::size_t most_tests = std::numeric_limits<std::size_t>::max();
};

/// Throws UsageError with the first missing file unless the folder has the six files that read_multi30k() reads.
void expect_multi30k(const std::filesystem::path& folder, const std::string& from, const std::string& to);

/// Reads folder/{train,val,test_2016_flickr}.{en,fr}, from one language to the other. Training pairs, including joined
/// ones, with more than kMostPieces words or pieces on a side are left out. Validation and test keep all sentences;
/// translate() truncates them. Throws UsageError like read_parallel(), and if no training pair is left.
Corpus read_multi30k(const std::filesystem::path& folder, const std::string& from, const std::string& to,
                     const CorpusOptions& options = {});

/// Translation of one sentence.
struct Translation {
  Words source, words;  // words of the source (truncated if too long) and of the translation
  /// Attention weights (target words, source words + 1), the last column for the source's <end>; empty without
  /// attention. With pieces, a weight is the sum over a source word's pieces and the mean over a target word's pieces.
  std::vector<std::vector<double>> alignment;
  bool cut_off = false;  // stopped at TranslateOptions::max_length
};

struct TranslateOptions {
  Size beam = 1;         // beam width; 1: greedy
  Size max_length = 60;  // of a translation, in words or pieces
  Size batch = 100;
  double length_power = 0.6;  // see SearchOptions
};

/// Translates sentences in batches of similar length. Results are in the order of `sentences`, in whole words. A longer
/// sentence is truncated to the first kMostPieces words or pieces. An empty sentence has an empty translation. The
/// model is in eval mode during the call.
std::vector<Translation> translate(SequenceModel& model, const Lexicon& source, const Lexicon& target,
                                   const std::vector<Words>& sentences, const TranslateOptions& options = {});

/// Returns the words of each translation.
std::vector<Words> words_of(const std::vector<Translation>& translations);

/// Returns the percentage of sentences that equal the reference.
double exact_match(const std::vector<Words>& written, const std::vector<Words>& wanted);

/// Returns a heatmap of the alignment: columns are source words and <end>, rows are target words.
Heatmap alignment_picture(const Translation& translation, const std::string& title);

/// Returns the index of the source word with the largest weight for target word `word`.
Size looked_at(const Translation& translation, Size word);

/// Returns each j for which target words j and j + 1 attend most to source words i + 1 and i, such as a noun and its
/// adjective in exchanged order.
std::vector<Size> crossings(const Translation& translation);

}  // namespace tapestry::kit
