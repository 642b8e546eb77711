// 18 multi_head: several questions at once
//
// 20 minutes to read, 40 seconds to run. Needs lessons 06 to 08 (queries, keys, values; masks; the scale √d)
// and 16 (projections). Afterwards you can split attention into heads and join them again, find a mistake
// that no shape shows, say which head did what, and what heads cost a model that writes.
//
// An attention gives each query one row of weights, and the row adds up to 1. What if a token wants to know
// two things, which stand in two different places? It gets a mixture, half of this and half of that. Does the
// mixture still say which half was which?

#include <algorithm>
#include <cmath>

#include "core/core.hpp"
#include "lessons/18_multi_head/experiment.hpp"
#include "lessons/kit/check/worked_example.hpp"
#include "lessons/kit/kit.hpp"

using namespace tapestry;
using namespace tapestry::lesson18;

namespace {

// ---- 1. Two heads with a pencil ---------------------------------------------------------------------------
// Two tokens offer the keys k₁ = (1 0 1 0) and k₂ = (0 1 0 1). Their values are the same numbers. One token
// asks with q = (4 0 0 4). Scores are q · k / √d as in lesson 08, with d = 4:
//
//     q · k₁ = 4, q · k₂ = 4      scores 2, 2      weights 0.5, 0.5      it reads (0.5 0.5 0.5 0.5)
//
// Now cut q, k and v in the middle. Each half is an attention of its own, a *head*, with d = 2:
//
//     left     (4 0) · (1 0) = 4, (4 0) · (0 1) = 0      scores 2.828, 0      weights 0.944, 0.056
//     right    (0 4) · (1 0) = 0, (0 4) · (0 1) = 4      scores 0, 2.828      weights 0.056, 0.944
//
// (e^2.828 is 16.92, and 16.92 / 17.92 is 0.944.) What the heads read is put side by side: (0.944 0.056 0.056
// 0.944), on the left mostly the first token, on the right the second. Now ask the other way round, q = (0 4
// 4 0): two heads read (0.056 0.944 0.944 0.056), and one head reads the same as before.
//
// With T tokens, head i gets the columns i · d to (i + 1) · d of each. So the last axis is taken apart into
// (H, d), and H changes places with T. After that H is one more batch axis, and attention works as ever.

/// (B, T, H · d) → (B, H, T, d)
Tensor split_heads(const Tensor& x, Size heads) {
  return transpose(reshape(x, {x.size(0), x.size(1), heads, x.size(2) / heads}), 1, 2);
}
/// (B, H, T, d) → (B, T, H · d): both steps undone, the last one first
Tensor merge_heads(const Tensor& x) {
  return reshape(transpose(x, 1, 2), {x.size(0), x.size(2), x.size(1) * x.size(3)});
}
/// q (B, H, Tq, d_k), k (B, H, Tk, d_k), v (B, H, Tk, d_v) → (B, H, Tq, d_v)
Tensor in_each_head(const Tensor& q, const Tensor& k, const Tensor& v, const Mask& mask) {
  const Tensor scores = matmul(q, transpose(k)) / std::sqrt(static_cast<double>(q.size(-1)));
  // A mask (B, Tq, Tk) says nothing of heads: it gets an axis for them, and broadcasts.
  return matmul(mask.defined() ? masked_softmax(scores, mask.unsqueeze(1)) : softmax(scores, -1), v);
}

void pencil(kit::Report& report) {
  const Tensor list = tensor({{{1, 0, 1, 0}, {0, 1, 0, 1}}}, DType::f64), k = split_heads(list, 2);
  const Tensor q = tensor({{{4, 0, 0, 4}, {0, 4, 4, 0}}}, DType::f64);  // asked both ways
  const auto one = in_each_head(q, list, list, {}).to_vector();
  const auto two = merge_heads(in_each_head(split_heads(q, 2), k, k, {})).to_vector();
  const double score = 4 / std::sqrt(2.0), e = std::exp(score);
  kit::check_worked_example(report, "scores and weights", {{score, 2.828}, {e, 16.92}, {e + 1, 17.92}});
  kit::check_worked_example(report, "what is read",
                            {{one[0], 0.5}, {one[4], 0.5}, {two[0], 0.944}, {two[4], 0.056}});
}

// ---- 2. Split, attend, merge ------------------------------------------------------------------------------
// In the layer of Vaswani and others (2017) every head has projections of its own, and one more matrix brings
// their results back to the layer's width:
//
//     Q_i = queries W_i^Qᵀ     K_i = keys W_i^Kᵀ     V_i = values W_i^Vᵀ          i = 1 … H, and biases
//     head_i = softmax(Q_i K_iᵀ / √d_k) V_i
//     result = [head_1, …, head_H] W^Oᵀ
//
// A head compares d_k numbers and reads d_v; they need not be equal. All heads' matrices are kept as one: W^Q
// (H · d_k, width) holds W_1^Q in its first d_k rows, and so on, so that one large product makes the queries
// of all heads. With d_k = d_v = width / H the layer has as many weights whatever H is.

/// A shortcut that many have taken: (B, T, H · d) → (B, H, T, d) at once.
Tensor split_wrongly(const Tensor& x, Size heads) {
  return reshape(x, {x.size(0), heads, x.size(1), x.size(2) / heads});
}

/// (B, G, T, d) → (B, H, T, d): each of G heads H / G times, side by side. Until part 5, G is H.
Tensor serve(const Tensor& x, Size heads) {
  const Size batch = x.size(0), groups = x.size(1), each = heads / groups, time = x.size(2), d = x.size(3);
  return reshape(expand(unsqueeze(x, 2), {batch, groups, each, time, d}), {batch, heads, time, d});
}

// layer.query, key, value and output are Linears: W^Q, W^K, W^V and W^O.
Tensor multi_head(const MultiHeadAttention& layer, const Tensor& queries, const Tensor& keys,
                  const Tensor& values, const Mask& mask, Split split) {
  const Size heads = layer.options().heads, groups = layer.options().key_heads;
  const Tensor q = split(layer.query(queries), heads), k = split(layer.key(keys), groups);
  const Tensor v = split(layer.value(values), groups);
  return layer.output(merge_heads(in_each_head(q, serve(k, heads), serve(v, heads), mask)));
}
constexpr ByHand kByHand{multi_head, split_heads, merge_heads, split_wrongly};

void split_and_merge(std::uint64_t seed, kit::Report& report) {
  const kit::Question shortcut =
      report.ask("the shortcut",
                 "Two heads part the tokens 11 12 13 14, 21 22 23 24 and 31 32 33 34. The shortcut gives the "
                 "right shape, (1, 2, 3, 2). What is in the first head?",
                 {"11 12, 21 22, 31 32", "11 12, 13 14, 21 22", "11 13, 21 23, 31 33"});
  const Tensor tokens = print_splits(kByHand, report);
  report.answer(shortcut, 'b', split_wrongly(tokens, 2).to_vector()[5] == 22,
                "A reshape keeps numbers in order, token after token. This head never sees the last one.");
  check_layers(report, kByHand, seed);  // a loop over the heads, all at once, and nn/'s layer
}

// ---- 3. Two questions at once -----------------------------------------------------------------------------
// A list has twelve tokens, each a key (one of 32) and a digit. Then one token asks for two keys, in this
// order, and the answer is both digits, in this order:
//
//     list  k3 c0 P7 a7 …        question  c, k        answer  0, 3
//
// Layers with 1 to 64 heads learn it, all 64 numbers wide: one head compares in 64 numbers, two in 32, 64 in
// one. They have as many weights and as many multiplications; only the softmaxes are one for each head.

Compared two_questions(const kit::Options& options, kit::Report& report) {
  const kit::Question one = report.ask(
      "one head", "Which of the two digits does the layer with one head learn to answer?",
      {"both: there is room for two", "both, but often in the wrong order", "one, and hardly the other"});
  const Compared compared = compare_heads(kByHand, options, report);
  const Right right = compared.right.at(1);
  report.answer(
      one, 'c', std::max(right.first, right.second) >= 90 && right.both <= 30,
      "A mixture cannot say which digit was asked for first. One sure digit pays better than two doubtful ones.");
  return compared;
}

// Too many heads fail, too. A head of one number gives its largest weight either to the largest key or to the
// smallest, so it can't find one of 32; together the 64 find something. And heads parted by the shortcut
// learn a part of the task, without any error: so such a bug lives long.

// ---- 4. Which head did what -------------------------------------------------------------------------------
// Nobody told a head which question is its own. Weights show where it looked, not whether it mattered. To
// know that, take it out. W^O is H blocks side by side, so the result is a sum over heads, Σ_i head_i
// W_i^Oᵀ, and with zeros for W_i^O head i is gone. Nothing is trained again.

void take_heads_out(const Compared& compared, const kit::Options& options, kit::Report& report) {
  const kit::Question out =
      report.ask("one of two heads taken out", "Take out one of two heads. What is left of the two answers?",
                 {"one, as good as before", "both, each worse than before", "neither of them"});
  const Left left = take_out(compared, options, report);
  report.answer(out, 'a', left.lost <= 30 && left.kept >= 95, "Each has made one question its own.");
  show_looks(compared, options);
}

// ---- 5. Sharing keys --------------------------------------------------------------------------------------
// A model that writes keeps the keys and values of all tokens so far (its *cache*, lesson 20) and reads them
// all for every new one. Queries are used once. So there may be only G heads of keys and values, and H / G
// neighbouring heads of queries share one (serve(), in part 2). 1 < G < H is *grouped-query* attention
// (Ainslie and others 2023), G = 1 *multi-query* attention (Shazeer 2019).

/// What a cache keeps of a token in one layer: G keys and G values, in f32, 4 bytes a number.
double bytes_a_token(const MultiHeadOptions& of) {
  return 4 * static_cast<double>(of.key_heads * (of.head_width + of.value_head_width));
}

void sharing(const Compared& compared, const kit::Options& options, kit::Report& report) {
  const kit::Question cache = report.ask(
      "a cache", "32 layers have 32 heads each, d_k = d_v = 128. How much do they keep of 8,192 tokens?",
      {"about 250 MiB", "about 8 GiB", "about 250 GiB"});
  const double gib = share_keys(compared, bytes_a_token, options, report);
  report.answer(cache, 'b', gib == 8,
                "32 KiB a token and layer, so 1 MiB a token. Eight heads of keys cost a quarter.");
}

// What to remember. One row of weights gives one mixture; heads ask several questions and keep the answers
// apart. Split by a reshape of the last axis and a transpose, never by a reshape alone. What a model that
// writes must keep is G · (d_k + d_v) numbers a token and layer, and heads can share it.
//
// Exercises: lessons/practise 18 (split; grouped heads; what heads weigh; your engine; a small cache).

void lesson(const kit::Options& options, kit::Report& report) {
  report.section("Two heads with a pencil");
  pencil(report);
  report.section("Split, attend, merge");
  split_and_merge(options.seed, report);
  report.section("Two questions at once");
  const Compared compared = two_questions(options, report);
  report.section("Which head did what");
  take_heads_out(compared, options, report);
  report.section("Sharing keys");
  sharing(compared, options, report);
}

}  // namespace

int main(int argc, char** argv) {
  kit::Lesson program("18_multi_head", "several questions at once");
  program.steps(1000, 15);
  return program.run(argc, argv, lesson);
}
