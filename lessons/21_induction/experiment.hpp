// Lesson 21's model from nn/'s layers, its training on repeated sequences, the scores of its heads, and the effects of
// ablating and patching heads.
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

/// The chapter's attention-only transformer from nn/'s layers.
struct AttentionOnly : Module {
  explicit AttentionOnly(Size depth);
  Tensor operator()(const Indices& ids) const;

  Embedding words;
  List<MultiHeadAttention> layers;
  Linear output;
};

/// Changes to heads in a forward pass. Head h of layer l has the number 4 l + h.
struct Interventions {
  /// Heads whose output is replaced by its mean over all sequences and places.
  std::set<Size> mean_ablated = {};
  /// Heads that put all their weight on the place this many places back.
  std::map<Size, Size> places_back = {};
};
/// Computes the logits of the chapter's model from primitive ops.
using ByHand = Tensor (*)(const AttentionOnly& model, const Indices& ids, const Interventions& interventions);

/// Compares by_hand with nn/'s layers, and checks its gradients.
void check_model(ByHand by_hand, std::uint64_t seed, kit::Report& report);

/// Draws sequences of 64 places: a round of 8 to 24 different symbols and further copies of it. The targets
/// start with the second symbol of the second round.
Sequences draw_repeats(kit::Random random, Size rows);

/// Scores of one head. `induction` is its mean weight, in the repeat, on places directly after an earlier copy of the
/// current symbol. `previous` is its mean weight, in the whole sequence, on the previous place.
struct HeadScore {
  double induction = 0, previous = 0;
};

struct Trained {
  AttentionOnly one{1}, two{2};
  Sequences test;
  double loss_of_one = 0, loss_of_two = 0;  ///< on the repeat of the test
  kit::Chart heads;                         ///< scores of the two-layer model during its training
  kit::MapSeries maps;                      ///< attention weights of its heads during training
};

/// Trains models with one and with two layers. Draws both losses during training in loss.svg.
void train_both(Trained& trained, const kit::Options& options);

/// Scores of all heads of the trained two-layer model.
struct HeadScores {
  std::vector<HeadScore> by_head;
  double largest_induction = 0;  ///< in the upper layer
};
/// Draws the scores during training in heads.svg, and the map of the head with the largest induction score in
/// stripes.svg. Writes the maps during training to heads_over_training.json.
HeadScores show_heads(const Trained& trained, const kit::Options& options);

/// Losses on the repeat without some heads, and the most important lower head.
struct AblationLosses {
  double induction = 0;  ///< without the induction heads
  double others = 0;     ///< without the other heads of the upper layer
  double lower = 0;      ///< without the lower layer
  Size note_taker = 0;   ///< the lower head whose removal gives the largest loss
  double previous = 0;   ///< the note-taker's previous-token score
};
/// Prints a table of all heads. Draws the loss without each head in ablation.svg, and the note-taker's map in
/// previous.svg.
AblationLosses ablate_heads(const Trained& trained, const HeadScores& scores, ByHand by_hand,
                            const kit::Options& options);

/// Results when one lower head attends `back` places back and nothing else is changed: the loss on the repeat,
/// and the percentages of predictions that are the next symbol and the symbol after it.
struct Patched {
  double loss = 0, next = 0, next_but_one = 0;
};
Patched patch(const Trained& trained, Size head, Size back, ByHand by_hand);

/// Trains one layer and two layers on --task bigram, pairs or gcd.
void other_task(const std::string& task, const kit::Options& options, kit::Report& report);

}  // namespace tapestry::lesson21
