// What a translation lesson needs around its model: a corpus, translating many sentences, and pictures of
// alignments.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "lessons/kit/batches.hpp"
#include "lessons/kit/picture.hpp"
#include "lessons/kit/text.hpp"
#include "lessons/kit/vocabulary.hpp"
#include "nn/seq2seq.hpp"

namespace tapestry::kit {

struct Corpus {
  Vocabulary source, target;
  std::vector<Pair> train;
  ParallelText valid, test;
};

/// folder/{train,val,test_2016_flickr}.{en,fr}, from one language to the other; words seen at least
/// `at_least` times.
Corpus read_multi30k(const std::filesystem::path& folder, const std::string& from, const std::string& to,
                     Size at_least = 2);

/// A sentence as the model wrote it.
struct Translation {
  Words source, words;
  /// For each word written, a weight for each source word and for the source's end.
  std::vector<std::vector<double>> alignment;
};

struct TranslateOptions {
  Size beam = 1;  // 1: greedy
  Size max_length = 60;
  Size batch = 100;
};

/// Translates sentences in batches of similar length; results are in the order of `sentences`. The model is
/// in eval mode meanwhile.
std::vector<Translation> translate(Translator& model, const Vocabulary& source, const Vocabulary& target,
                                   const std::vector<Words>& sentences, const TranslateOptions& options = {});

/// The words of each.
std::vector<Words> words_of(const std::vector<Translation>& translations);

/// Source words across, target words down.
Heatmap alignment_picture(const Translation& translation, const std::string& title);

/// The source word that target word `word` looked at most.
Size looked_at(const Translation& translation, Size word);

/// Places j where target words j and j + 1 look at source words i + 1 and i: a noun and its adjective,
/// exchanged.
std::vector<Size> crossings(const Translation& translation);

}  // namespace tapestry::kit
