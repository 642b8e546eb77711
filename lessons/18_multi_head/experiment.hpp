// Two questions at once: the models of lesson 18, their training, the removal of heads, and the pictures.
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

/// Embeds the list and the question, lets the question attend to the list, and maps the result to the answers
/// with a Linear.
struct Answerer : Module {
  /// Uses nn/'s layer. If by_hand is given, uses its layer with the wrong split.
  explicit Answerer(const MultiHeadOptions& options, const ByHand* by_hand = nullptr);
  /// Returns the logits (B, 2, 10) of the first digit and of the second.
  Tensor operator()(const kit::TwoQuestions& asked) const;

  Embedding keys, digits, first, second;
  MultiHeadAttention attention;
  Linear answer;
  const ByHand* by_hand;
};

/// Percentage of questions with the right first digit, second digit, and both.
struct Right {
  double first = 0, second = 0, both = 0;
};

struct Compared {
  std::map<Size, Answerer> models;  ///< by the number of heads, which share kWidth numbers
  std::map<Size, Right> right;
  Right reshaped;       ///< four heads, split by a reshape
  kit::MapSeries maps;  ///< weights of the models with 1, 2 and 4 heads during training
};

/// Trains 1, 2, 4, 8, 16 and 64 heads, and four that are split wrongly. Prints a table, checks the targets, and
/// draws bars in heads.svg.
Compared compare_heads(const ByHand& by_hand, const kit::Options& options, kit::Report& report);

/// Prints each head's mean weight on the first key, on the second, and elsewhere, for models with 1, 2 and 4
/// heads. Draws three questions about one list in head_grid.svg, and saves the heads during training in
/// two_questions_over_training.json.
void show_weights(const Compared& compared, const kit::Options& options);

/// Percentage of right digits when one of two heads is removed.
struct Ablated {
  double lost = 0;  ///< the digit of the removed head; the larger value of the two cases
  double kept = 0;  ///< the other digit; the smaller value of the two cases
};
/// Sets a head's block of W^O to zeros: for two heads, with targets, and for four, in ablation.svg.
Ablated ablate(const Compared& compared, const kit::Options& options, kit::Report& report);

/// Trains models with shared keys and prints a table of the memory that each token needs. `bytes` computes it
/// for one layer, and the tensors of a KeyValueCache are counted for comparison. Returns the GiB, counted in
/// tensors, that 32 layers of 32 heads of 128 numbers need for 8,192 tokens.
double share_keys(const Compared& compared, double (*bytes)(const MultiHeadOptions&),
                  const kit::Options& options, kit::Report& report);

}  // namespace tapestry::lesson18
