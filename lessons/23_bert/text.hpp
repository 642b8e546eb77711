// Texts in two languages as rows of ids, and batches of these rows.
#pragma once

#include <vector>

#include "core/tensor/indices.hpp"
#include "core/tensor/mask.hpp"
#include "lessons/kit/text/text.hpp"
#include "lessons/kit/translation/grammar.hpp"
#include "nn/text/vocabulary.hpp"

namespace tapestry::lesson23 {

using kit::GrammarSentence;
using kit::Random;
using kit::Words;

constexpr std::int64_t kNone = -1;             // the loss ignores this position
constexpr std::int64_t kFirstWord = kEnd + 1;  // the special tokens come first

/// A text. Each position has a word, its segment (0 English, 1 French), and its answer, which is kNone if the
/// word is not hidden.
struct Row {
  Ids words, segments, answers;
};

/// The words of both languages, with [mask] as the last entry. A word that is spelled alike in both, such as
/// zone, has two entries: the French one is written zone/fr.
struct Dictionary {
  Dictionary();

  /// Returns the row "<start> English <end> French <end>" with nothing hidden. One of the two halves may be
  /// empty.
  Row read(const Words& english, const Words& french) const;
  /// Returns the words of a row, separated by spaces.
  std::string text(const Row& row) const;

  Vocabulary words;
  std::int64_t mask = 0;
};

/// Rows as a batch, padded to the longest row.
struct Batch {
  Indices words, segments, answers;  // (B, T)
  ValidLengths lengths;              // (B)
};
Batch batch_of(const std::vector<Row>& rows);

}  // namespace tapestry::lesson23
