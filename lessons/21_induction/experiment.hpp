// Repeated rounds: the model of nn/'s layers, its training, its heads' scores, what happens where heads are
// changed, and the pictures of lesson 21.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "lessons/21_induction/tasks.hpp"
#include "lessons/kit/kit.hpp"
#include "lessons/kit/picture/map_series.hpp"
#include "nn/attention/multi_head.hpp"
#include "nn/embedding.hpp"

namespace tapestry::lesson21 {

inline constexpr Size kWidth = 64, kHeads = 4, kHeadWidth = kWidth / kHeads;

/// The chapter's transformer of attention alone, with nn/'s layers.
struct AttentionOnly : Module {
  explicit AttentionOnly(Size depth);
  Tensor operator()(const Indices& ids) const;

  Embedding words;
  List<MultiHeadAttention> layers;
  Linear output;
};

/// What heads do in place of what they learned. Head h of layer l is number 4 l + h.
struct Instead {
  std::set<Size> mean = {};        ///< say their mean over all sequences and places
  std::map<Size, Size> back = {};  ///< give all weight to the place so many places back
};
/// The chapter's model from plain ops: logits.
using ByHand = Tensor (*)(const AttentionOnly& model, const Indices& ids, const Instead& instead);

/// by_hand against nn/'s, with gradcheck.
void check_model(ByHand by_hand, std::uint64_t seed, kit::Report& report);

/// Sequences of 64 places: a round of 8 to 24 different symbols, again and again. Asked for from the second
/// symbol of the second round on.
Sequences draw_repeats(kit::Random random, Size rows);

/// Of one head, the mean weight on places right after an earlier copy of the present symbol (in the repeat),
/// and on the place before.
struct HeadScore {
  double induction = 0, previous = 0;
};

struct Trained {
  AttentionOnly one{1}, two{2};
  Sequences test;
  double loss_of_one = 0, loss_of_two = 0;  ///< on the repeat of the test
  kit::Chart heads;                         ///< scores of the two-layer model over its training
  kit::MapSeries maps;                      ///< what its heads looked at meanwhile
};

/// Trains one layer and two; draws the loss of both over the training to loss.svg.
void train_both(Trained& trained, const kit::Options& options);

/// The two-layer model's heads at the end of its training.
struct Looked {
  std::vector<HeadScore> scores;  ///< by the heads' numbers
  double most = 0;                ///< the largest induction score of the upper layer
};
/// Draws the scores over the training to heads.svg, and the map of the head with the largest induction score
/// to stripes.svg; writes the maps over the training to heads_over_training.json.
Looked show_heads(const Trained& trained, const kit::Options& options);

/// Losses on the repeat with heads taken out.
struct TakenOut {
  double induction = 0, others = 0, lower = 0;  ///< the induction heads; the upper layer's others; all lower
  Size note_taker = 0;                          ///< the lower head without which the loss is largest
  double previous = 0;                          ///< its previous-token score
};
/// Prints a table of all heads; draws the losses without each to ablation.svg, and the note-taker's map to
/// previous.svg.
TakenOut take_out(const Trained& trained, const Looked& looked, ByHand by_hand, const kit::Options& options);

/// With one lower head looking `back` places back, and nothing else changed: the loss on the repeat, and how
/// often the model says the next symbol, and the one after that, in per cent.
struct Patched {
  double loss = 0, next = 0, next_but_one = 0;
};
Patched patch(const Trained& trained, Size head, Size back, ByHand by_hand);

/// --task bigram, pairs or gcd: one layer and two.
void other_task(const std::string& task, const kit::Options& options, kit::Report& report);

}  // namespace tapestry::lesson21
