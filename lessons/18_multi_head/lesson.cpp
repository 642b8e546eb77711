// 18 multi_head: several questions at once
//
// 20 minutes to read, 40 seconds to run. Needs lessons 06 to 08 (queries, keys, values; masks; the scale √d)
// and 16 (projections). Afterwards you can split attention into heads and merge them again. You can also find a
// wrong split that raises no shape error, measure what each head does, and compute how much memory the keys and
// values need when a model generates text.
//
// Attention gives each query one row of weights, and the row sums to 1. Suppose that a token needs two pieces
// of information, which are stored at two different tokens. If both tokens get half of the weight, the result
// is the mean of their two values. Can the model still tell which value came from which token?

#include <algorithm>
#include <cmath>

#include "core/core.hpp"
#include "lessons/18_multi_head/experiment.hpp"
#include "lessons/kit/check/worked_example.hpp"
#include "lessons/kit/kit.hpp"

using namespace tapestry;
using namespace tapestry::lesson18;

namespace {

// ---- 1. Two heads by hand ---------------------------------------------------------------------------------
// Two tokens have the keys k₁ = (1 0 1 0) and k₂ = (0 1 0 1). Their values are the same vectors as their keys.
// A third token has the query q = (4 0 0 4). As in lesson 08, a score is q · k / √d. Here d = 4:
//
//     q · k₁ = 4, q · k₂ = 4      scores 2, 2      weights 0.5, 0.5      result (0.5 0.5 0.5 0.5)
//
// Now we cut q, k and v in the middle. We compute attention for each half separately, with d = 2.
// Each of these two computations is called a *head*:
//
//     left     (4 0) · (1 0) = 4, (4 0) · (0 1) = 0      scores 2.828, 0      weights 0.944, 0.056
//     right    (0 4) · (1 0) = 0, (0 4) · (0 1) = 4      scores 0, 2.828      weights 0.056, 0.944
//
// (e^2.828 is 16.92, and 16.92 / 17.92 is 0.944.) The concatenated result of the two heads is (0.944
// 0.056 0.056 0.944). Its left half comes mostly from the first token, and its right half mostly from the second.
//
// Now exchange the two halves of the query: q = (0 4 4 0). With two heads, the result becomes (0.056 0.944 0.944
// 0.056). With one head, the result is the same as before. So a single head gives the same answer to these two
// different queries, and two heads give different answers.
//
// For T tokens of width H · d and H heads, the first head gets the first d columns of every token's row, the second
// head the next d columns, and so on. The code splits the last axis into (H, d) and then exchanges H with T. The axis
// of the heads then acts as a second batch axis, and attention is computed as before.

/// (B, T, H · d) → (B, H, T, d)
Tensor split_heads(const Tensor& x, Size heads) {
  return transpose(reshape(x, {x.size(0), x.size(1), heads, x.size(2) / heads}), 1, 2);
}
/// (B, H, T, d) → (B, T, H · d). Undoes both steps of split_heads(), the last one first.
Tensor merge_heads(const Tensor& x) {
  return reshape(transpose(x, 1, 2), {x.size(0), x.size(2), x.size(1) * x.size(3)});
}
/// q (B, H, Tq, d_k), k (B, H, Tk, d_k), v (B, H, Tk, d_v) → (B, H, Tq, d_v)
Tensor attend_per_head(const Tensor& q, const Tensor& k, const Tensor& v, const Mask& mask) {
  const Tensor scores = matmul(q, transpose(k)) / std::sqrt(static_cast<double>(q.size(-1)));
  // A mask (B, Tq, Tk) has no axis for heads. It gets one of size 1, which broadcasts over the heads.
  return matmul(mask.defined() ? masked_softmax(scores, mask.unsqueeze(1)) : softmax(scores, -1), v);
}

void two_heads(kit::Report& report) {
  const Tensor list = tensor({{{1, 0, 1, 0}, {0, 1, 0, 1}}}, DType::f64), k = split_heads(list, 2);
  const Tensor q = tensor({{{4, 0, 0, 4}, {0, 4, 4, 0}}}, DType::f64);  // both queries
  const auto one = attend_per_head(q, list, list, {}).to_vector();
  const auto two = merge_heads(attend_per_head(split_heads(q, 2), k, k, {})).to_vector();
  const double score = 4 / std::sqrt(2.0), e = std::exp(score);
  kit::check_worked_example(report, "scores and weights", {{score, 2.828}, {e, 16.92}, {e + 1, 17.92}});
  kit::check_worked_example(report, "results of one head and of two",
                            {{one[0], 0.5}, {one[4], 0.5}, {two[0], 0.944}, {two[4], 0.056}});
}

// ---- 2. Split, attend, merge ------------------------------------------------------------------------------
// In the multi-head attention of Vaswani et al. (2017), every head has its own projections. One more matrix, W^O,
// maps the concatenated results of the heads back to the layer's width:
//
//     Q_i = queries W_i^Qᵀ     K_i = keys W_i^Kᵀ     V_i = values W_i^Vᵀ          i = 1 … H
//     head_i = softmax(Q_i K_iᵀ / √d_k) V_i
//     result = [head_1, …, head_H] W^Oᵀ
//
// The layer of nn/ also adds a bias to each of the four products. The formulas of the paper have no biases.
//
// A head's queries and keys have d_k numbers each, and its values have d_v. The two sizes need not be equal.
// The matrices of all heads are stored as one: W^Q (H · d_k, width) holds W_1^Q in its first d_k rows, W_2^Q in
// the next d_k, and so on. So one large product computes the queries of all heads. With d_k = d_v = width / H,
// the number of weights does not depend on H.
//
// Before we write this layer, here is a split that many people write first. Its result has the right
// shape, but the wrong numbers. The question below asks which numbers a head gets from it.

/// A common mistake: it reshapes (B, T, H · d) to (B, H, T, d) directly.
Tensor split_wrongly(const Tensor& x, Size heads) {
  return reshape(x, {x.size(0), heads, x.size(1), x.size(2) / heads});
}

/// (B, G, T, d) → (B, H, T, d). Repeats each of the G key-value heads H / G times; the copies are neighbours.
/// Section 5 explains G. Until then, G is H, and nothing is repeated.
Tensor repeat_kv(const Tensor& x, Size heads) {
  const Size batch = x.size(0), groups = x.size(1), each = heads / groups, time = x.size(2), d = x.size(3);
  return reshape(expand(unsqueeze(x, 2), {batch, groups, each, time, d}), {batch, heads, time, d});
}

// layer.query, layer.key, layer.value and layer.output are linear layers with the weights W^Q, W^K, W^V and W^O.
Tensor multi_head(const MultiHeadAttention& layer, const Tensor& queries, const Tensor& keys,
                  const Tensor& values, const Mask& mask, Split split) {
  const Size heads = layer.options().heads, groups = layer.options().kv_heads;
  const Tensor q = split(layer.query(queries), heads), k = split(layer.key(keys), groups);
  const Tensor v = split(layer.value(values), groups);
  return layer.output(merge_heads(attend_per_head(q, repeat_kv(k, heads), repeat_kv(v, heads), mask)));
}
constexpr ByHand kByHand{multi_head, split_heads, merge_heads, split_wrongly};

void split_and_merge(std::uint64_t seed, kit::Report& report) {
  const kit::Question shortcut = report.ask(
      "the shortcut",
      "Three tokens, 11 12 13 14, 21 22 23 24 and 31 32 33 34, are split into two heads. A single reshape "
      "also gives the right shape, (1, 2, 3, 2). Which numbers does the first head get from it?",
      {"11 12, 21 22, 31 32", "11 12, 13 14, 21 22", "11 13, 21 23, 31 33"});
  const Tensor tokens = print_splits(kByHand, report);
  report.answer(
      shortcut, 'b', split_wrongly(tokens, 2).to_vector()[5] == 22,
      "A reshape keeps the numbers in memory order. So the first head gets the first six numbers: all of "
      "the first token, half of the second, and nothing of the third.");
  check_layers(report, kByHand, seed);  // a loop over the heads, all at once, and nn/'s layer
}

// ---- 3. Two questions at once -----------------------------------------------------------------------------
// A list has twelve tokens. Each token is a letter (one of 32) and a digit, like an entry of a dictionary with a
// key and a value. So we call the letter its key. (A key vector is the projection of a token by W^K.) One more token,
// the question, names two of the keys in a given order. The answer consists of the digits of these two keys, in the
// same order:
//
//     list  k3 c0 P7 a7 …        question  c, k        answer  0, 3
//
// We train layers with 1 to 64 heads on this task. All layers are 64 numbers wide, so d_k is 64 with one head,
// 32 with two, and 1 with 64 heads. All layers have the same number of weights, and their matrix products need
// the same number of multiplications. Only the softmax costs more with more heads, because each head has its own
// row of weights for each query.

Compared two_questions(const kit::Options& options, kit::Report& report) {
  const kit::Question one = report.ask(
      "one head", "With one head, which of the two digits does the layer learn to predict?",
      {"both digits: the layer is wide enough for two", "both digits, but often in the wrong order",
       "one of the two digits, and the other one rarely"});
  const Compared compared = compare_heads(kByHand, options, report);
  const Right right = compared.right.at(1);
  report.answer(
      one, 'c', std::max(right.first, right.second) >= 90 && right.both <= 30,
      "With equal weights for both digits, the mixture does not show which of them was asked for first, so each "
      "digit is a guess between two. If one weight is larger, the layer can be certain of that digit.");
  return compared;
}

// At seed 1, the table reads:
//
//                             d_k    first %  second %   both %
//     1 head                   64       13.7      97.1     11.6
//     2 heads                  32      100.0     100.0    100.0
//     4 heads                  16      100.0     100.0    100.0
//     8 heads                   8      100.0     100.0    100.0
//     16 heads                  4      100.0     100.0    100.0
//     64 heads                  1       72.2      70.5     50.5
//     4 heads, reshaped        16       72.4      82.6     61.7
//
// At seed 1, one head gives both digits correctly in only 11.6 % of the questions. At other seeds, it may prefer the
// first digit to the second.
//
// With one head, one row of weights serves both digits, so the token with the largest weight is the same for both
// (section 4). The layer predicts the digit of this token, and rarely the other one.
//
// Too many heads fail as well. With d_k = 1, a query and a key vector are single numbers, and the score is their
// product. So a head's largest weight is always on the token with the largest or the smallest key vector. Such a head
// cannot select one of 32 letters, and all 64 heads together solve only a part of the task.
//
// The heads that were split by a reshape alone also learn a part of the task, and no error is raised. A falling
// loss does not prove that the split is right.

// ---- 4. Remove a head to find its function ----------------------------------------------------------------
// The training data does not say which head should find which of the two digits. The weights of a head show which
// tokens it attended to, but not whether that mattered for the answer. To measure that, we remove the head.
// This is called an *ablation*.
//
// W^O consists of H blocks of columns, one per head. So the result of the layer is a sum over the heads,
// Σ_i head_i W_i^Oᵀ. If we set W_i^O to zero, head i no longer contributes. We do not retrain the model.

void remove_heads(const Compared& compared, const kit::Options& options, kit::Report& report) {
  const kit::Question out = report.ask(
      "one of two heads taken out",
      "We remove one of two heads. How many of the two digits does the layer still answer correctly?",
      {"one digit, about as often as before", "both digits, each less often than before",
       "neither of the digits"});
  const Ablated ablated = ablate(compared, options, report);
  report.answer(out, 'a', ablated.lost <= 30 && ablated.kept >= 95, "Each head finds one of the two digits.");
  show_weights(compared, options);
}

// At seed 1, these rows show the mean weights of the question token, for one head and for two:
//
//     head 1 of 1:  26.2 % on the first key,  54.2 % on the second,  19.6 % elsewhere
//     head 1 of 2:   0.2 % on the first key,  96.5 % on the second,   3.2 % elsewhere
//     head 2 of 2:  96.1 % on the first key,   0.4 % on the second,   3.5 % elsewhere
//
// With two heads, each head finds one of the two keys. At other seeds, head 1 may find the first key
// and head 2 the second.

// ---- 5. Sharing keys --------------------------------------------------------------------------------------
// A model that generates text attends from each new token to all earlier ones. So it stores their keys and values
// in a *KV cache* (lesson 20 will build one). The memory of the cache grows with the text. A query, in contrast, is
// used only once, so it is not stored.
//
// To save memory, a layer can have fewer key-value heads than query heads: only G, where G divides H. Then H / G
// neighbouring query heads share one key-value head (repeat_kv() in section 2). With 1 < G < H, this is
// *grouped-query* attention (Ainslie et al. 2023). With G = 1, it is *multi-query* attention (Shazeer 2019).

/// Returns the bytes that a cache holds for a token in one layer: G keys and G values in f32, 4 bytes per number.
double bytes_per_token(const MultiHeadOptions& of) {
  return 4 * static_cast<double>(of.kv_heads * (of.head_width + of.value_head_width));
}

void sharing(const Compared& compared, const kit::Options& options, kit::Report& report) {
  const kit::Question cache = report.ask(
      "a cache",
      "A model has 32 layers of 32 heads each, with d_k = d_v = 128. How much memory do the keys and values of "
      "8,192 tokens need in f32?",
      {"about 250 MiB", "about 8 GiB", "about 250 GiB"});
  const double gib = share_keys(compared, bytes_per_token, options, report);
  report.answer(cache, 'b', gib == 8,
                "A token needs 32 KiB in each layer, so 1 MiB in 32 layers. With 8 key-value heads "
                "instead of 32, the cache needs a quarter of that.");
}

// At seed 1, a layer with four query heads predicts both digits correctly in 100 % of the questions, with 4 key-value
// heads and with 2. The cache needs 512 bytes per token with 4 key-value heads, and 256 bytes with 2.

// What to remember. One row of weights gives one weighted mean. Several heads compute several means, and the
// layer concatenates them. Split heads by a reshape of the last axis and a transpose, never by a reshape alone. A
// model that generates text stores G · (d_k + d_v) numbers per token and layer, and query heads can share
// key-value heads to make G smaller.
//
// Exercises: lessons/practise 18 (find the mistake in a split; grouped-query attention; count the weights of
// heads; multi-head attention for your engine; two answers from a small cache).

void lesson(const kit::Options& options, kit::Report& report) {
  report.section("Two heads by hand");
  two_heads(report);
  report.section("Split, attend, merge");
  split_and_merge(options.seed, report);
  report.section("Two questions at once");
  const Compared compared = two_questions(options, report);
  report.section("Remove a head to find its function");
  remove_heads(compared, options, report);
  report.section("Sharing keys");
  sharing(compared, options, report);
}

}  // namespace

int main(int argc, char** argv) {
  kit::Lesson program("18_multi_head", "several questions at once");
  program.steps(1000, 15);
  return program.run(argc, argv, lesson);
}
