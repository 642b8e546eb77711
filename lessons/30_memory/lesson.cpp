// 30 memory: attention as a recurrent memory
//
// 20 minutes to read, 40 seconds to run. Needs lessons 06 (queries, keys, values), 09 (the state of a recurrent
// layer) and 25 (the memory that attention needs). Afterwards you can write linear attention in three forms that
// compute the same result. You can use a matrix as a memory of keys and values, and estimate how many pairs it holds.
// You can choose between the sum rule and the delta rule, and decide whether to add a gate.
//
// Attention keeps all keys and values, and each new word attends to all of them. A recurrent layer keeps only one
// state of constant size. If we remove the softmax, attention becomes a recurrent layer with a state of constant
// size, as section 2 shows. What do we lose?

#include <algorithm>

#include "core/core.hpp"
#include "lessons/30_memory/cost.hpp"
#include "lessons/30_memory/experiment.hpp"
#include "lessons/30_memory/multiplicative_interactions.hpp"
#include "lessons/30_memory/recall.hpp"
#include "lessons/kit/check/worked_example.hpp"

using namespace tapestry;
using namespace tapestry::lesson30;

namespace {

// ---- 1. A matrix as a memory ------------------------------------------------------------------------------
// The memory is a matrix S with d rows and e columns. It stores pairs of a key k (d numbers) and a value v (e
// numbers). To *write* the value v at the key k, we add their outer product to S. To *read* at a query q, we multiply
// Sᵀ by q:
//
//     S ← S + k vᵀ            y = Sᵀ q
//
// Here is an example by hand. The values are single numbers (e = 1), so S is a single column. At the start, S is
// zero. We write 10 at k₁ = (1, 0) and 20 at k₂ = (0.6, 0.8):
//
//     S = 10 (1, 0) + 20 (0.6, 0.8) = (22, 16)      read at k₁: 22       at k₂: 0.6 · 22 + 0.8 · 16 = 26
//
// The reads should be 10 and 20, but they are 22 and 26. The keys are unit vectors, but they are not orthogonal:
// k₁ · k₂ = 0.6. So a read at one key returns the value of this key plus 0.6 times the value of the other key. This
// way of writing is the *sum rule*. All its reads are exact if three conditions hold: the keys are unit vectors, they
// are orthogonal to each other, and each key is written once.
//
// The *delta rule* (Widrow and Hoff 1960; here in the form of Schlag, Irie and Schmidhuber 2021) first reads at k.
// Then it writes the difference between v and this read:
//
//     S ← S + k (v − Sᵀ k)ᵀ
//
// In the example, a read at k₂ returns 6 after 10 has been written at k₁. The target is 20, so the delta rule writes
// the difference, 14. S becomes (10, 0) + 14 (0.6, 0.8) = (18.4, 11.2). Now a read at k₂ returns 20, as it should,
// but a read at k₁ returns 18.4.
//
// Now write 30 at k₁, which was written before. A read at k₁ returns 18.4, so the delta rule writes the difference,
// 11.6. S becomes (30, 11.2), and a read at k₁ returns 30. With the sum rule, a read at k₁ returned 22 before.
// Writing 30 there raises it to 52.
//
// So with the delta rule, a read at a unit key is exact right after the write at this key, whatever S was before. It
// stays exact while all later keys are orthogonal to this key. A later key that is not orthogonal changes the read,
// as k₂ changed the read at k₁.
//
// Now we use the memory for a text of T words. The word at position t has a query q_t, a key k_t and a value v_t. At
// each position in turn, we first write v_t at k_t and then read at q_t. So a read depends on the pairs of this word
// and of all earlier words.
//
// Both rules take two optional factors for each word. A *gate* α (also called forget gate or decay), from 0 to 1,
// multiplies S before the write, so old pairs fade. A *write strength* β multiplies the vector that is written: the
// value (sum rule) or the difference (delta rule):
//
//     sum rule     S ← α S + β k vᵀ
//     delta rule   S ← α S + β k (v − α Sᵀ k)ᵀ
//
// With β < 1, the delta rule corrects only a part of the difference, so the read after the write is not exact.

/// Maps q and k (T, d) and v (T, e) to the reads (T, e). alpha and beta have the shape (T); an undefined tensor means
/// 1 for all words.
Tensor word_by_word(const QKV& x, WriteRule rule, const Tensor& alpha = {}, const Tensor& beta = {}) {
  Tensor state = zeros({x.k.size(1), x.v.size(1)}, x.q.dtype());  // (d, e)
  std::vector<Tensor> reads;
  for (Size t = 0; t < x.q.size(0); ++t) {
    const Tensor q = slice(x.q, 0, t, t + 1), k = slice(x.k, 0, t, t + 1);  // (1, d)
    Tensor write = slice(x.v, 0, t, t + 1);                                 // (1, e)
    if (alpha.defined()) state = state * slice(alpha, 0, t, t + 1);
    if (rule == WriteRule::delta) write = write - matmul(k, state);
    if (beta.defined()) write = write * slice(beta, 0, t, t + 1);
    state = state + matmul(transpose(k), write);
    reads.push_back(matmul(q, state));
  }
  return concat(reads, 0);  // (T, e)
}

void worked_example(std::uint64_t seed, kit::Report& report) {
  const Tensor k = tensor({{1, 0}, {0.6, 0.8}, {1, 0}}, DType::f64),
               v = tensor({{10}, {20}, {30}}, DType::f64);
  const auto read = [&](double x, double y, WriteRule rule, Size t) {  // at (x, y), after t writes
    return word_by_word({expand(tensor({{x, y}}, DType::f64), {3, 2}), k, v}, rule).at({t - 1, 0});
  };
  using enum WriteRule;
  kit::check_worked_example(
      report, "sum rule", {{read(1, 0, sum, 2), 22}, {read(0.6, 0.8, sum, 2), 26}, {read(1, 0, sum, 3), 52}});
  const double x = read(1, 0, delta, 2), y = read(0, 1, delta, 2);
  kit::check_worked_example(
      report, "delta rule",
      {{x, 18.4}, {y, 11.2}, {read(0.6, 0.8, delta, 2), 20}, {30 - x, 11.6}, {read(1, 0, delta, 3), 30}});
  check_delta(word_by_word, seed, report);
}

// ---- 2. Linear attention in three forms -------------------------------------------------------------------
// With the sum rule and without gates and strengths, the matrix after word t is S_t = Σ_{j ≤ t} k_j v_jᵀ. So the read
// at word t is:
//
//     y_t = S_tᵀ q_t = Σ_{j ≤ t} v_j (k_jᵀ q_t) = Σ_{j ≤ t} (q_t · k_j) v_j
//
// The last sum is causal attention whose weights are the raw scores, without a softmax. The first expression,
// S_tᵀ q_t, is a recurrent layer with the state S_t. Such a state exists because S_t depends on no query: each word
// adds its pair once, and later queries need nothing else. With a softmax, the weight of v_j contains exp(q_t · k_j).
// We cannot move q_t out of the sum, so each new query needs all keys again.
//
// The last sum also shows a way to compute all reads without a loop. The function as_pairs() computes the scores of
// all T² pairs of words at once:

/// The reads (T, e) of the sum rule, in the parallel form.
Tensor as_pairs(const QKV& x) {
  const Size words = x.q.size(0);
  const Tensor scores = matmul(x.q, transpose(x.k));  // (T, T)
  return matmul(where(Mask::causal(words, words), scores, scalar(0, scores.dtype())), x.v);
}

// We now have two of the three forms. The *recurrent form*, word_by_word(), takes T small steps. Each step needs the
// result of the step before it, so the steps cannot run at the same time. The *parallel form*, as_pairs(), takes one
// large step, but its cost grows as T².
//
// The third form, the *chunkwise form*, combines both. It cuts the text into *chunks*, and passes S from each chunk
// to the next. S holds the pairs of all earlier chunks. So each read is a sum of two reads: one from S, and one from
// the pairs within the chunk, in the parallel form. With C words per chunk, there are T/C chunks, and each computes
// the scores of C² pairs of words. Together, these are T · C scores. So for a constant C, the cost grows as T.

/// The reads (T, e) of the sum rule, in chunks of `size` words.
Tensor in_chunks(const QKV& x, Size size) {
  Tensor state = zeros({x.k.size(1), x.v.size(1)}, x.q.dtype());
  std::vector<Tensor> reads;
  for (Size first = 0; first < x.q.size(0); first += size) {
    const Size last = std::min(first + size, x.q.size(0));
    const auto part = [&](const Tensor& all) { return slice(all, 0, first, last); };
    const QKV chunk{part(x.q), part(x.k), part(x.v)};
    reads.push_back(matmul(chunk.q, state) + as_pairs(chunk));
    state = state + matmul(transpose(chunk.k), chunk.v);  // all writes of the chunk in one product
  }
  return concat(reads, 0);
}

// Raw scores can be negative, and they need not sum to 1. So they are not the weights of an average. *Linear
// attention* (Katharopoulos and others 2020) solves both problems. Its name says that its cost is linear in T. First
// it applies a *feature map* φ to queries and keys, which makes their elements positive: φ(x) = elu(x) + 1, which is
// x + 1 for x > 0 and eˣ otherwise. Then it divides by the sum of the weights:
//
//     y_t = S_tᵀ φ(q_t) / (z_t · φ(q_t)),    S_t = Σ_{j ≤ t} φ(k_j) v_jᵀ,    z_t = Σ_{j ≤ t} φ(k_j)
//
// The code computes z_t with the same memory. It appends a 1 to every value, so S gets one more column, which is z_t.
// The last element of each read is then the sum of the weights, z_t · φ(q_t). The code adds 10⁻⁶ to this sum, so that
// it never divides by 0. The layer LinearAttention in nn/ does the same.

Tensor layer_by_hand(const Tensor& x, const LinearAttention& layer) {  // x (T, width), one head
  const auto phi = [](const Tensor& y) { return where(less(y, scalar(0, y.dtype())), exp(y), y + 1.0); };
  const Tensor v = layer.value(x), one = ones({x.size(0), 1}, x.dtype());
  const Tensor read = in_chunks({phi(layer.query(x)), phi(layer.key(x)), concat({v, one}, 1)}, 3);
  const Size e = v.size(1);
  return layer.output(slice(read, 1, 0, e) / (slice(read, 1, e, e + 1) + 1e-6));
}

// ---- 3. Time and memory -----------------------------------------------------------------------------------
// linear_attend() computes the same as in_chunks() in one kernel, for batches and for several heads. It also
// implements the delta rule. With this rule, each write depends on the earlier writes of the same chunk, so the
// kernel solves a small triangular linear system for each chunk (core/simd/attention/linear.hpp shows the equations).
// We compare the time and memory of linear_attend() with those of attend() from lesson 25.

void time_and_memory(const kit::Options& options, kit::Report& report) {
  const kit::Question kept = report.ask(
      "the next word",
      "A head with d = e = 64 has processed 4096 words. How many numbers must it keep to process the next word?",
      {"about half a million numbers with attention, 4096 numbers with a matrix",
       "4096 numbers with attention and with a matrix",
       "about half a million numbers with both, because the matrix has to hold all words"});
  const Costs costs = measure_costs(options);
  report.figure("sum rule and attend() take the same time at about", costs.crossing, "words");
  report.at_least("speed-up of the sum rule over attend(), longest text", costs.times_faster, 5);
  report.at_most("memory with the sum rule grows as Tᵖ with p =", costs.memory_power, 1.1);
  report.answer(
      kept, 'a', 2 * 64 * 4096 > 500'000 && 64 * 64 == 4096,
      "Attention keeps a key and a value for each word, 2 · 64 numbers, so 4096 words need 524,288 numbers. "
      "The matrix has 64 · 64 = 4096 numbers, whatever the length of the text.");
}

// The number of operations grows as T² with attend(), and as T with linear_attend(). So for long texts,
// linear_attend() is faster. Each run checks that the sum rule is at least 5 times faster than attend() for the
// longest text, which has 16,384 words.
//
// In the pictures time.svg and memory.svg, both axes are logarithmic. On such axes, a cost that grows as Tᵖ is a
// straight line with the slope p. So for long texts, the line of attend() in time.svg is about twice as steep as the
// others.
//
// The program also prints the memory for a forward and a backward pass, as in training. You may be surprised that
// linear_attend() needs more memory than attend(). The memory of both grows as T, because attend() does not store the
// T² scores (lesson 25). But linear_attend() also stores the matrix S of every chunk for the backward pass. Linear
// attention saves memory when a model generates text: one matrix S replaces the keys and values of all earlier words.

// ---- 4. How many pairs a matrix holds ---------------------------------------------------------------------
// A matrix of constant size cannot hold an arbitrarily long text, so at some length it must lose pairs. How many
// pairs can it hold? In this section, we train no model. We draw 64 random unit vectors of e = 64 numbers, the
// *codes*. Then we draw P pairs. The key of a pair is a random unit vector of d numbers. Its value is a randomly
// chosen code, so several pairs can have the same value. We write all pairs and then read at each key. A read is
// right if, of all codes, the written code has the largest dot product with the read.
//
// With the sum rule, a read at key i returns the value v_i plus Σ_{j ≠ i} (k_i · k_j) v_j. This sum is the *noise*.
// Its mean squared norm follows in three steps:
//
// - In each term, v_j is a unit vector, so the squared norm of the term is (k_i · k_j)².
// - All directions are equally likely for k_j, so we may choose the axes. Let the first axis be the direction of k_i.
//   Then k_i · k_j is the first element of k_j. The squares of the d elements of k_j sum to 1, and by symmetry they
//   have the same mean, 1/d. So (k_i · k_j)² is 1/d on average.
// - The dot product of two different terms is 0 on average: their keys are independent, and each k_i · k_j is
//   positive as often as negative. So the mean squared norm of the sum is the sum over the P − 1 terms, (P − 1) / d.
//
// With 32 pairs and d = 32, the mean squared norm of the noise is 31/32, or 0.97. This is nearly the squared norm of
// the value, which is 1. But the noise is spread over many directions among the 64 dimensions of the values, so only
// a small part of it points to any one wrong code. That is why most reads are still right.

void capacity(const kit::Options& options, kit::Report& report) {
  const kit::Question repairs = report.ask(
      "random keys",
      "We write 32 pairs with d = 32. Compared with the sum rule, how many reads are right with the delta rule?",
      {"more reads than with the sum rule, because the correction removes the noise",
       "fewer reads than with the sum rule", "as many reads as with the sum rule"});
  const RecallResult at_32 = measure_capacity(options, report);
  report.check_quoted("mean squared norm of the noise, 32 pairs, d = 32", at_32.sum_rule_error, 0.97, 0.05);
  report.answer(
      repairs, 'b', at_32.delta_rule_accuracy + 5 < at_32.sum_rule_accuracy,
      "A write of the delta rule replaces what a read at its key returns. It also removes parts of the older "
      "pairs whose keys are not orthogonal to this key. So the oldest pairs fade.");
}
// At seed 1, the table reads:
//
//     right reads in %  pairs ÷ d:   0.125    0.25     0.5       1       2       4
//     sum rule, d = 32               100.0   100.0    99.8    99.0    91.2    66.5
//     delta rule, d = 32             100.0    99.8    97.8    83.9    51.3    26.9
//     softmax, d = 32                100.0   100.0   100.0   100.0   100.0   100.0
//
// The program also prints the sum rule with d = 16 and d = 64; these rows are similar. With d/4 pairs, nearly all
// of the reads of the sum rule are right. With 4 d pairs, at least one read in four is wrong. Each run checks both,
// for all three d. The delta rule loses many reads already at P = d. Softmax attention keeps every pair separately,
// so its memory grows with P. We multiply its scores by 40. The keys are unit vectors, so the score of the right key
// is 40, and most other scores are far smaller. So the softmax is nearly one-hot, and it loses no pair here.
//
// The picture capacity.svg shows all rows. Its x axis is the number of pairs divided by d. On this axis, the three
// curves of the sum rule nearly coincide.
//
// Why does the delta rule lose more? A write at k sets the read at k to v. If k is not orthogonal to an older key,
// this write also removes a part of the older value. The sum rule never removes anything: it only adds noise to all
// pairs alike. So with the delta rule, the *age* of a pair matters, that is, how many pairs were written after it.
// The picture age.svg shows the percentage of right reads for each age.
//
// At seed 1, with 32 pairs and d = 32, the delta rule reads 99.72 % of the newest 8 pairs correctly, and 60.01 % of
// the oldest 8.

// ---- 5. Overwriting and forgetting ------------------------------------------------------------------------
// If the delta rule loses more pairs, why use it? In section 4, each key was written only once, and no pair had to be
// forgotten. Here are two tasks in which pairs change or must be forgotten:
//
// - *Updates*. Each word of a text assigns one of 16 symbols to a name, as in "x = 3". There are four times as many
//   assignments as names, so most names receive more than one symbol. At the end, the model receives each name once
//   more, with "?" in place of a symbol. It must return the symbol that was assigned to this name last.
// - *Sections*. A text has three sections with different names, and the word "forget" between the sections. One
//   symbol is assigned to each name. At the end, the model receives the names of the last section and of one earlier
//   section. For a name of the last section, it must return the symbol. For a name of the earlier section, it must
//   return "nothing". Both sections have the same number of names, so a model that always answers "nothing" is right
//   in half of the cases.
//
// The model has three parts. The first part adds two embeddings for each word, one of its name and one of its symbol.
// The second part, the layer LinearAttention, computes q, k and v from this sum, writes, and reads. Its matrix has
// d = 16 rows (the option --rows). Queries and keys are divided by their length, so they are unit vectors. The third
// part, a small network, computes the answer from the read.
//
// We compare the sum rule and the delta rule, each without and with a gate. The gate α is computed from the word by a
// linear layer and a sigmoid. The write strength β of the delta rule is computed in the same way. For the sum rule,
// β = 1. All models have the same learning rate, with one exception. On the updates, the sum rule with a gate learns
// far more at three times this rate, so we use the higher rate for it. This favours it in the comparison with the
// delta rule.

void rules(Size rows, const kit::Options& options, kit::Report& report) {
  const kit::Question which = report.ask(
      "overwrite",
      "The sum rule with a learned gate can forget. How many answers does this rule get right on the updates?",
      {"about as many as the sum rule without a gate",
       "more than the sum rule without a gate, but fewer than the delta rule",
       "about as many as the delta rule"});
  const auto right = train_rules(rows, options, report);  // in per cent, by rule
  report.answer(
      which, 'b', right[kGate] >= right[kSum] + 5 && right[kGate] <= right[kDelta] - 5,
      "With the gate, newer words count for more than older ones. But at each word, the gate scales the "
      "whole matrix by one number. If an old symbol fades, the symbols of all other names fade too.");
}
// At seed 1, the percentages of right answers are as follows. "pairs" is the number of names in a text (updates) or
// in a section (sections):
//
//     updates   pairs:       2       4       6       8
//     sum                 33.7    33.0    32.2    29.4
//     sum, gate           80.9    84.2    80.3    73.0
//     delta              100.0    99.2    98.3    95.7
//     delta, gate        100.0    99.5    98.6    96.4
//     sections  pairs:       2       4       6       8
//     sum                 51.8    51.4    51.4    50.8
//     sum, gate           99.9    99.4    98.9    97.5
//     delta               94.5    93.8    90.5    85.8
//     delta, gate        100.0    99.9    99.3    97.9
//
// The picture rules.svg shows the last column as bars.
//
// In the updates, a read of the sum rule adds the values of all symbols that were assigned to the name. A sum does
// not depend on the order of its terms, so the model cannot know which symbol was the last. The delta rule replaces
// the old symbol of one name and leaves the other names nearly unchanged.
//
// In the sections, the sum rule without a gate is hardly better than the constant answer "nothing". A gate can set α
// near 0 at the word "forget", which deletes all pairs at once. The delta rule without a gate has no such factor. It
// forgets an old pair only gradually, as later writes overwrite it (section 4). With more names, it gets more answers
// wrong. A likely reason is that its matrix receives the pairs of all three sections. With 8 names per section, these
// are 24 pairs, and the matrix has only 16 rows.
//
// To summarise: use the sum rule for pairs that are written once, and the delta rule for pairs whose value changes.
// Add a gate if old pairs are no longer needed.

// ---- 6. Older units that multiply inputs ------------------------------------------------------------------
// In attention, inputs multiply inputs: a query is multiplied by a key. Attention is not the first layer of this
// kind. Sigma-pi units, for example, are from 1986 (Rumelhart, Hinton and McClelland). They compute sums of products
// of inputs.
//
// A product can compute what a sum cannot. Let each of two inputs x₁ and x₂ be +1 (false) or −1 (true). The product
// x₁ x₂ is −1 if exactly one of them is −1, and +1 otherwise. This is the *exclusive or* (XOR). No weighted sum
// y = a x₁ + b x₂ + c computes it. The outputs at (1, 1) and (−1, −1) add up to 2c, and so do the outputs at (1, −1)
// and (−1, 1). But the first sum should be 2, and the second −2.
//
// The file multiplicative_interactions.cpp explains four such units, each with a few lines of code. *Multiplicative
// units* multiply two weighted sums of the inputs. *Sigma-pi units* add up products of some of the inputs, and
// *higher-order units* use all products. A *hypernetwork* computes the weights of another network. Linear attention
// belongs to this family. Each term of its read, (q_t · k_j) v_j, multiplies three vectors that are all computed from
// the inputs.

// What to remember. Without the softmax, attention becomes a recurrent layer whose state is one matrix of constant
// size. The parallel, the recurrent and the chunkwise form give the same result at different costs. The price is
// capacity: softmax attention keeps every pair, but a matrix with d rows holds only about d pairs with random keys,
// and fewer with the delta rule. The sum rule keeps old and new pairs equally well. The delta rule keeps the newest
// pairs and can replace a value. A gate can delete all pairs at once.
//
// Exercises: lessons/practise 30 (Chunks of linear attention with a gate; The backward pass as a memory; Predict what
// a memory returns; A small memory that learns to overwrite).

void lesson(Size rows, const kit::Options& options, kit::Report& report) {
  report.section("A matrix as a memory");
  worked_example(options.seed, report);
  report.section("Linear attention in three forms");
  check_form("as pairs", as_pairs, options.seed, report);
  check_form(
      "in chunks of 32", [](const QKV& x) { return in_chunks(x, 32); }, options.seed, report);
  check_layer(layer_by_hand, options.seed, report);
  report.section("Time and memory");
  time_and_memory(options, report);
  report.section("How many pairs a matrix holds");
  capacity(options, report);
  report.section("Overwriting and forgetting");
  rules(rows, options, report);
  report.section("Older units that multiply inputs");
  check_multiplicative_interactions(options.seed, report);
}

}  // namespace

int main(int argc, char** argv) {
  kit::Lesson program("30_memory", "attention as a recurrent memory");
  program.steps(1000, 5);
  Size rows = 16;
  program.add("--rows", rows, "number of rows d of the matrix in section 5", 1, 512);
  return program.run(argc, argv, [&](const auto& options, auto& report) { lesson(rows, options, report); });
}
