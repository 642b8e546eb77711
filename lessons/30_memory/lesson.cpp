// 30 memory: attention as a recurrent memory
//
// 20 minutes to read, 40 seconds to run. Needs lessons 06 (queries, keys, values), 09 (a state) and 25 (memory of
// attention). Afterwards you can write linear attention in three forms that give the same numbers, say how much a
// matrix can hold, and choose the rule for writing to it.
//
// Attention keeps all keys and values, and each new word attends to all of them. A recurrent layer keeps only one
// state of constant size. Without the exponential of the softmax, attention becomes such a recurrent layer. What do
// we lose?

#include <algorithm>

#include "core/core.hpp"
#include "lessons/30_memory/cost.hpp"
#include "lessons/30_memory/experiment.hpp"
#include "lessons/30_memory/recall.hpp"
#include "lessons/30_memory/relatives.hpp"
#include "lessons/kit/check/worked_example.hpp"

using namespace tapestry;
using namespace tapestry::lesson30;

namespace {

// ---- 1. A matrix as a memory ------------------------------------------------------------------------------
// The memory is a matrix S with d rows and e columns. It stores pairs of a key k (d numbers) and a value v (e
// numbers). To *write* v at k, we add their outer product to S. To *read* at a query q, we multiply Sᵀ by q:
//
//     S ← S + k vᵀ            y = Sᵀ q
//
// Here is an example by hand. The values are single numbers, so S is a single column. We write 10 at
// k₁ = (1, 0) and 20 at k₂ = (0.6, 0.8):
//
//     S = 10 (1, 0) + 20 (0.6, 0.8) = (22, 16)      read at k₁: 22       at k₂: 0.6 · 22 + 0.8 · 16 = 26
//
// We expected 10 and 20. But both keys have length 1 and are not orthogonal, so a read at one key also returns
// k₁ · k₂ = 0.6 of the other key's value. This way of writing is the *sum rule*.
//
// The *delta rule* (Widrow and Hoff 1960; here in the form of Schlag, Irie and Schmidhuber 2021) first reads at
// k. Then it writes only what is missing, the difference between v and what it has read:
//
//     S ← S + k (v − Sᵀ k)ᵀ
//
// In the example, after writing 10 at k₁, a read at k₂ returns 6. To get 20, 14 is missing, so the delta rule
// writes 14: S = (10, 0) + 14 (0.6, 0.8) = (18.4, 11.2). Now a read at k₂ returns 20, as it should, and a read
// at k₁ returns 18.4. The pair that was written last is right.
//
// Now write 30 at k₁ again. A read at k₁ returns 18.4, so 11.6 is missing. S becomes (30, 11.2), and k₁ reads
// 30. With the sum rule, 30 is added to the 22 that k₁ already reads, so k₁ reads 52.
//
// Both rules can forget. A *gate* α ≤ 1 multiplies S before each write. A *strength* β multiplies what is
// written.

Tensor word_by_word(const Words& x, WriteRule rule, const Tensor& alpha = {}, const Tensor& beta = {}) {
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

void pencil(std::uint64_t seed, kit::Report& report) {
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
// With the sum rule and without gates, word t reads y_t = Σ_{j ≤ t} (q_t · k_j) v_j. This is causal attention
// whose weights are the raw scores, without a softmax. It can be computed without a loop, from all T² pairs of
// words at once:

Tensor as_pairs(const Words& x) {
  const Size words = x.q.size(0);
  const Tensor scores = matmul(x.q, transpose(x.k));  // (T, T)
  return matmul(where(Mask::causal(words, words), scores, scalar(0, scores.dtype())), x.v);
}

// So there are two forms. Word by word, there are T small steps, and each has to wait for the one before. As
// pairs, there is one step, but its work grows as T².
//
// The third form is between the two. It cuts the text into *chunks*. Within a chunk it computes all pairs, and
// everything before the chunk is stored in S.

Tensor in_chunks(const Words& x, Size size) {
  Tensor state = zeros({x.k.size(1), x.v.size(1)}, x.q.dtype());
  std::vector<Tensor> reads;
  for (Size first = 0; first < x.q.size(0); first += size) {
    const Size last = std::min(first + size, x.q.size(0));
    const auto part = [&](const Tensor& all) { return slice(all, 0, first, last); };
    const Words chunk{part(x.q), part(x.k), part(x.v)};
    reads.push_back(matmul(chunk.q, state) + as_pairs(chunk));
    state = state + matmul(transpose(chunk.k), chunk.v);  // all writes of the chunk in one product
  }
  return concat(reads, 0);
}

// Raw scores can be negative, and they can sum to any number. *Linear attention* (Katharopoulos and others 2020)
// first makes queries and keys positive: φ(x) = elu(x) + 1, which is x + 1 above 0 and eˣ below. Then it divides
// by the sum of the weights:
//
//     y_t = S_tᵀ φ(q_t) / (z_t · φ(q_t)),    S_t = Σ_{j ≤ t} φ(k_j) v_jᵀ,    z_t = Σ_{j ≤ t} φ(k_j)
//
// z can be stored as one more column of S: append a 1 to every value, and its reads are the sums of the weights.
// The layer LinearAttention of nn/ does this too.

Tensor layer_by_hand(const Tensor& x, const LinearAttention& layer) {  // x (T, width), one head
  const auto phi = [](const Tensor& y) { return where(less(y, scalar(0, y.dtype())), exp(y), y + 1.0); };
  const Tensor v = layer.value(x), one = ones({x.size(0), 1}, x.dtype());
  const Tensor read = in_chunks({phi(layer.query(x)), phi(layer.key(x)), concat({v, one}, 1)}, 3);
  const Size e = v.size(1);
  return layer.output(slice(read, 1, 0, e) / (slice(read, 1, e, e + 1) + 1e-6));
}

// ---- 3. Time and memory -----------------------------------------------------------------------------------
// linear_attend() does the same as in_chunks(), for batches and heads, in one kernel. (For the delta rule, each
// chunk solves a small system of equations; see core/simd/attention/linear.hpp.) We compare its time and memory
// with those of attend() from lesson 25.

void time_and_memory(const kit::Options& options, kit::Report& report) {
  const kit::Question kept = report.ask(
      "the next word",
      "A head with d = e = 64 has read 4096 words. How many numbers must it keep to process the next word?",
      {"half a million with attention, 4096 with a matrix", "4096 with either",
       "half a million with either: the matrix has to hold all words"});
  const Costs costs = measure_costs(options);
  report.figure("the sum takes as long as attend() at about", costs.crossing, "words");
  report.at_least("speed-up of the sum over attend(), longest text", costs.times_faster, 5);
  report.at_most("memory of the sum grows as Tᵖ with p =", costs.memory_power, 1.1);
  report.answer(
      kept, 'a', 2 * 64 * 4096 > 500'000 && 64 * 64 == 4096,
      "Attention keeps a key and a value for each word, 2 · 64 numbers. The matrix has 64 · 64 numbers "
      "for a text of any length.");
}

// ---- 4. How many pairs a matrix holds ---------------------------------------------------------------------
// A matrix of constant size cannot hold a text of any length, so it must forget. How many pairs can it hold?
// Nothing is trained in this part. We draw P pairs: a key is a random vector of length 1, and a value is one of
// 64 random vectors of length 1, the *codes*. We write all pairs and then read at each key. A read is right if
// the code nearest to it is the one that was written.
//
// A read at key i returns its value plus Σ_{j ≠ i} (k_i · k_j) v_j. This sum is noise. For random keys,
// (k_i · k_j)² is 1/d on average, so the mean square of the noise is (P − 1) / d.
//
// With 32 pairs and d = 32 that is 0.97. So the noise is as large as the value, but it is spread over 64
// directions. The nearest code is still mostly right.

void capacity(const kit::Options& options, kit::Report& report) {
  const kit::Question repairs = report.ask(
      "random keys",
      "32 pairs, d = 32. The delta rule corrects what it reads. How many reads are right, compared with the sum?",
      {"more: the correction removes the noise", "fewer", "as many"});
  const Capacity at_32 = measure_capacity(options, report);
  report.check_quoted("mean square of the noise, 32 pairs, d = 32", at_32.noise, 0.97, 0.05);
  report.answer(repairs, 'b', at_32.delta + 5 < at_32.sum,
                "Each write removes from S whatever is stored along its key, so the oldest pairs fade.");
}
// The sum rule gets worse beyond P = d, and the delta rule beyond P = d/2. Softmax does not: its exponential
// suppresses all keys but one.

// ---- 5. Overwriting and forgetting ------------------------------------------------------------------------
// Then what is the delta rule good for? We train the layer of nn/ on two tasks, with a matrix of d = 16 rows (the
// option --rows):
//
// - *Updates*. A text assigns symbols to names, with four times as many writes as names. At the end, the model is
//   asked for each name, and must answer with the last symbol of this name.
// - *Chapters*. A text has three chapters, with the word "forget" between them. At the end, the model is asked for
//   the names of the last chapter and for the names of an earlier one. For an earlier one, the right answer is
//   "nothing".

void rules(Size rows, const kit::Options& options, kit::Report& report) {
  const kit::Question which = report.ask(
      "overwrite", "The sum rule with a learned gate can forget. How well does it learn the updates?",
      {"no better than the sum without a gate", "in part: newer words count for more",
       "as well as the delta rule"});
  const auto right = train_rules(rows, options, report);  // in per cent, by rule
  report.answer(
      which, 'b', right[kGate] >= right[kSum] + 5 && right[kGate] <= right[kDelta] - 5,
      "A gate is one number for the whole matrix. When it fades an old symbol, the symbols of all other "
      "names fade too.");
}
// Use the sum rule for pairs that are written once, the delta rule for pairs that change, and a gate for pairs that
// are no longer needed.

// ---- 6. Older units that multiply inputs ------------------------------------------------------------------
// relatives.cpp is a short chapter in itself. It shows multiplicative units, sigma-pi units, higher-order units and
// hypernetworks. In all of them, inputs multiply inputs. Linear attention is one more: a layer whose weights are made
// from the words.

// What to remember. Without the exponential, attention is a matrix that is written and read: a state of constant
// size. As pairs, word by word or in chunks, the result is the same, but the costs differ. The matrix holds about d
// pairs, and the write rule decides which pairs it loses.
//
// Exercises: lessons/practise 30 (chunks with a gate; the backward pass; what a read returns; a small notebook).

void lesson(Size rows, const kit::Options& options, kit::Report& report) {
  report.section("A matrix as a memory");
  pencil(options.seed, report);
  report.section("Linear attention in three forms");
  check_apart("as pairs", as_pairs, options.seed, report);
  check_apart(
      "in chunks of 32", [](const Words& x) { return in_chunks(x, 32); }, options.seed, report);
  check_layer(layer_by_hand, options.seed, report);
  report.section("Time and memory");
  time_and_memory(options, report);
  report.section("How many pairs a matrix holds");
  capacity(options, report);
  report.section("Overwriting and forgetting");
  rules(rows, options, report);
  report.section("Older units that multiply inputs");
  older_relatives(options.seed, report);
}

}  // namespace

int main(int argc, char** argv) {
  kit::Lesson program("30_memory", "attention as a recurrent memory");
  program.steps(1000, 5);
  Size rows = 16;
  program.add("--rows", rows, "rows d of the matrix in part 5", 1, 512);
  return program.run(argc, argv, [&](const auto& options, auto& report) { lesson(rows, options, report); });
}
