// Answering two questions at once: the models of lesson 18, their training, heads taken out, and the
// pictures.
#pragma once

#include <map>
#include <string>

#include "lessons/18_multi_head/by_hand.hpp"
#include "lessons/18_multi_head/two_questions.hpp"
#include "lessons/kit/kit.hpp"
#include "lessons/kit/picture/map_series.hpp"
#include "nn/attention/multi_head.hpp"
#include "nn/embedding.hpp"
#include "nn/linear.hpp"

namespace tapestry::lesson18 {

inline constexpr Size kWidth = 64;

/// Embeds list and question, lets the question ask the list, and answers with a Linear.
struct Answerer : Module {
  /// With nn/'s layer; where by_hand is given, with that, its heads parted wrongly.
  explicit Answerer(const MultiHeadOptions& options, const ByHand* by_hand = nullptr);
  /// Logits (B, 2, 10), for the first digit and for the second.
  Tensor operator()(const kit::TwoQuestions& asked) const;

  Embedding keys, digits, first, second;
  MultiHeadAttention attention;
  Linear answer;
  const ByHand* by_hand;
};

/// Questions that are answered rightly, in per cent.
struct Right {
  double first = 0, second = 0, both = 0;
};

struct Compared {
  std::map<Size, Answerer> models;  ///< by the number of their heads, which have kWidth numbers in all
  std::map<Size, Right> right;
  Right reshaped;       ///< four heads, parted by the reshape
  kit::MapSeries maps;  ///< where the heads of one, two and four looked meanwhile
};

/// 1, 2, 4, 8, 16 and 64 heads, and four that are parted wrongly: a table, targets, and bars in heads.svg.
Compared compare_heads(const ByHand& by_hand, const kit::Options& options, kit::Report& report);

/// For each head of one, two and four its mean weight on the first key, on the second, and elsewhere; three
/// questions about one list in head_grid.svg, and heads over the training in two_questions_over_training.json.
void show_looks(const Compared& compared, const kit::Options& options);

/// What is right without some head, in per cent.
struct Left {
  double lost = 0;  ///< of two heads, one taken out: its answer, the better of the two cases
  double kept = 0;  ///< the other answer, the worse of the two cases
};
/// A head's part of W^O becomes zeros: of two heads, with targets; of four, in ablation.svg.
Left take_out(const Compared& compared, const kit::Options& options, kit::Report& report);

/// Trains with keys that are shared, and prints what each token costs, in a table. `bytes` says it for one
/// layer; a KeyValueCache's tensors are counted for comparison. Returns the GiB that 32 layers of 32 heads of
/// 128 numbers keep for 8,192 tokens, counted in tensors.
double share_keys(const Compared& compared, double (*bytes)(const MultiHeadOptions&),
                  const kit::Options& options, kit::Report& report);

}  // namespace tapestry::lesson18
