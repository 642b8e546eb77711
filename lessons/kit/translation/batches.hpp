// Sentence pairs as padded batches, in an order that a seed fixes and that a place can go back to.
#pragma once

#include <cstdint>
#include <vector>

#include "core/simd/view.hpp"
#include "lessons/kit/text/lexicon.hpp"
#include "lessons/kit/text/text.hpp"

namespace tapestry::kit {

/// A sentence and its translation as ids; or any two sequences, one to be made from the other.
struct Pair {
  Ids source;  ///< … <end>
  Ids target;  ///< <start> … <end>
};

/// Words, or pieces of them, that a sentence may have to be worked with. What a translator keeps for a pair
/// grows with the product of both lengths, so a single line could take all memory.
inline constexpr Size kMostPieces = 500;
/// Places of one side that a batch has at most, padding too, for each of the sentences it was meant to have:
/// one that would have more is cut in two or more. Sentences of ordinary length never have so many.
inline constexpr Size kPlacesPerSentence = 128;

/// Rows of different lengths in one matrix, filled with kPad on the right.
struct Padded {
  Ids ids;      ///< rows × columns, row after row
  Ids lengths;  ///< rows
  Size rows = 0;
  Size columns = 0;

  std::int64_t at(Size row, Size column) const {
    return ids[static_cast<std::size_t>(row * columns + column)];
  }
};

/// Pads to the longest row.
Padded pad(const std::vector<Ids>& rows);

/// What a decoder is fed and what it must answer under teacher forcing: y₀ … yₙ₋₁ and y₁ … yₙ.
struct Forcing {
  Padded input;
  Padded output;
  Size words = 0;  ///< positions to predict, <end> included, padding not
};
Forcing teacher_forcing(const Padded& target);

struct Batch {
  Padded source;
  Padded target;
  std::vector<Size> pairs;  ///< which pair each row is
};
/// Its rows from `begin` to before `end`, padded to the longest of these.
Batch rows_of(const Batch& batch, Size begin, Size end);

/// Where in the data a training run stands: the next batch is number `index` of `epoch`.
struct Place {
  Size epoch = 0;
  Size index = 0;
  bool operator==(const Place& other) const { return epoch == other.epoch && index == other.index; }
};

/// An endless stream of batches. The pairs are shuffled anew each epoch, sorted by target length, then by
/// source length, inside pools of `pool` batches so that little is padding (of Multi30k's words 2 and 10 % at
/// the default, 4 and 24 % when 40 batches are sorted by target alone), cut into batches of `size` pairs (or
/// fewer: kPlacesPerSentence), and the batches shuffled. An epoch's order follows from (seed, epoch) alone:
/// from a Place the same batches come again.
class Batches {
 public:
  struct Settings {
    Size size = 64;
    Size pool = 100;
    std::uint64_t seed = 1;
  };

  /// Throws UsageError when there are no pairs, or a size is not positive.
  Batches(std::vector<Pair> pairs, Settings settings);

  Batch next();
  /// The place of the batch that next() will return.
  Place place() const { return place_; }
  /// Throws UsageError for a place that does not exist.
  void go_to(Place place);

  /// Of this epoch: where long sentences cut batches, epochs differ.
  Size batches_in_epoch() const { return static_cast<Size>(order_.size()); }
  const std::vector<Pair>& pairs() const { return pairs_; }

 private:
  void arrange();

  std::vector<Pair> pairs_;
  Settings settings_;
  Place place_;
  std::vector<std::vector<Size>> order_;  // the pairs of each batch of place_.epoch
};

/// Each pair once, in batches of similar source length, of `size` pairs (or fewer: kPlacesPerSentence), in a
/// fixed order: for evaluation.
std::vector<Batch> batches_in_order(const std::vector<Pair>& pairs, Size size);

/// Source with <end>, target between <start> and <end>.
std::vector<Pair> encode_pairs(const ParallelText& text, const Lexicon& source, const Lexicon& target);

}  // namespace tapestry::kit
