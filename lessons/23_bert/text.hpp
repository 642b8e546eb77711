// Texts in two languages as rows of ids, and batches of them.
#pragma once

#include <vector>

#include "core/tensor/values.hpp"
#include "lessons/kit/text/text.hpp"
#include "lessons/kit/translation/grammar.hpp"
#include "nn/text/vocabulary.hpp"

namespace tapestry::lesson23 {

using kit::GrammarSentence;
using kit::Random;
using kit::Words;

constexpr std::int64_t kNone = -1;             // no answer is asked for here
constexpr std::int64_t kFirstWord = kEnd + 1;  // the specials come before

/// A text: for each place a word, its segment (0 English, 1 French), and the word that is asked for, or
/// kNone.
struct Row {
  Ids words, segments, answers;
};

/// The words of both languages, with [mask] as the last. What both spell alike (zone) has two places: the
/// French one is written zone/fr.
struct Dictionary {
  Dictionary();

  /// "<start> English <end> French <end>", both halves or one, the other being empty; nothing hidden.
  Row read(const Words& english, const Words& french) const;
  /// Its words, with spaces between.
  std::string text(const Row& row) const;

  Vocabulary words;
  std::int64_t mask = 0;
};

/// Rows as a batch, padded to the longest.
struct Batch {
  Indices words, segments, answers;  // (B, T)
  ValidLengths lengths;              // (B)
};
Batch batch_of(const std::vector<Row>& rows);

}  // namespace tapestry::lesson23
