// What a translation lesson needs around its model: a corpus, translating many sentences, and pictures of
// alignments.
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

struct Corpus {
  Lexicon source, target;
  std::vector<Pair> train;
  ParallelText valid, test;
  /// What was left out because it is too long (kMostPieces): a sentence for each file.
  std::vector<std::string> notes = {};

  /// "29000 pairs to train on, dictionaries of 5917 words and 6478 words"; then the notes, a line each.
  std::string text() const;
};

/// How a corpus is made from files.
struct CorpusOptions {
  /// Words, or pieces of them, seen at least so often get a place in the vocabularies.
  Size at_least = 2;
  /// Byte pairs to learn from each language's training text, which cut words into pieces; 0: words stay
  /// whole.
  Size merges = 0;
  /// So many sentences more to train on, as a share, joined in twos and threes.
  double joined = 0;
  /// Validation and test sentences that are read at most.
  std::size_t most_tests = std::numeric_limits<std::size_t>::max();
};

/// Throws UsageError, naming what is missing, unless the folder has the six files that read_multi30k reads.
void expect_multi30k(const std::filesystem::path& folder, const std::string& from, const std::string& to);

/// folder/{train,val,test_2016_flickr}.{en,fr}, from one language to the other. Pairs to train on of which a
/// side has more than kMostPieces words or pieces are left out, and joined ones too; validation and test keep
/// every sentence (translate() cuts). Throws UsageError for what read_parallel refuses, and when nothing is
/// left to train on.
Corpus read_multi30k(const std::filesystem::path& folder, const std::string& from, const std::string& to,
                     const CorpusOptions& options = {});

/// A sentence as the model wrote it.
struct Translation {
  Words source, words;  // what was read, and written
  /// For each word written, a weight for each source word and for the source's end; empty if the model does
  /// not look. Of words in pieces: the sum over the pieces read, and its mean over the pieces written.
  std::vector<std::vector<double>> alignment;
  bool cut_off = false;  // by TranslateOptions::max_length
};

struct TranslateOptions {
  Size beam = 1;         // 1: greedy
  Size max_length = 60;  // of what the model writes, words or pieces
  Size batch = 100;
  double length_power = 0.6;  // as in SearchOptions
};

/// Translates sentences in batches of similar length; results are in the order of `sentences`, and in words
/// even where the model writes pieces of them. Of a longer sentence the first kMostPieces words or pieces are
/// read; one without words becomes one without words. The model is in eval mode meanwhile.
std::vector<Translation> translate(SequenceModel& model, const Lexicon& source, const Lexicon& target,
                                   const std::vector<Words>& sentences, const TranslateOptions& options = {});

/// The words of each.
std::vector<Words> words_of(const std::vector<Translation>& translations);

/// Sentences that are as wanted, in per cent.
double exact_match(const std::vector<Words>& written, const std::vector<Words>& wanted);

/// Source words across, target words down.
Heatmap alignment_picture(const Translation& translation, const std::string& title);

/// The source word that target word `word` looked at most.
Size looked_at(const Translation& translation, Size word);

/// Places j where target words j and j + 1 look at source words i + 1 and i: a noun and its adjective,
/// exchanged.
std::vector<Size> crossings(const Translation& translation);

}  // namespace tapestry::kit
