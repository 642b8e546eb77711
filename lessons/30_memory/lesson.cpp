// 30 memory: attention as a recurrent memory
//
// 20 minutes to read, 40 seconds to run. Needs lessons 06 (queries, keys, values), 09 (a state) and 25 (memory of
// attention). Afterwards you can write linear attention in three forms that give the same numbers, say how much a
// matrix can hold, and choose the rule by which it is written.
//
// Attention keeps all keys and values, and each new word looks at all of them. A recurrent layer keeps one state
// of constant size. Take the exponential out of softmax, and attention becomes such a layer. What is lost?

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

// ---- 1. A matrix that remembers ---------------------------------------------------------------------------
// The memory is a matrix S (d, e). To *write* value v at key k, add their outer product; to *read* at q, multiply:
//
//     S ← S + k vᵀ            y = Sᵀ q
//
// With a pencil: values of one number, so S is a column. Write 10 at k₁ = (1, 0) and 20 at k₂ = (0.6, 0.8):
//
//     S = 10 (1, 0) + 20 (0.6, 0.8) = (22, 16)      read at k₁: 22       at k₂: 0.6 · 22 + 0.8 · 16 = 26
//
// Wanted were 10 and 20. Each key of length 1 also reads k₁ · k₂ = 0.6 of the other's value. The *delta rule*
// (Widrow and Hoff 1960; here Schlag, Irie and Schmidhuber 2021) first reads, and writes what is missing:
//
//     S ← S + k (v − Sᵀ k)ᵀ
//
// After 10 at k₁, k₂ reads 6 and misses 14: S = (10, 0) + 14 (0.6, 0.8) = (18.4, 11.2). At k₂ it reads 20, as
// wanted, at k₁ 18.4. What was written last is right. And 30 at k₁ once more? It misses 11.6, S becomes
// (30, 11.2), and k₁ reads 30. The sum would add 30 to what is there: it reads 52.
//
// Both may forget. A *gate* α ≤ 1 multiplies S before each write; a strength β, what is written.

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
      report, "the sum", {{read(1, 0, sum, 2), 22}, {read(0.6, 0.8, sum, 2), 26}, {read(1, 0, sum, 3), 52}});
  const double x = read(1, 0, delta, 2), y = read(0, 1, delta, 2);
  kit::check_worked_example(
      report, "delta",
      {{x, 18.4}, {y, 11.2}, {read(0.6, 0.8, delta, 2), 20}, {30 - x, 11.6}, {read(1, 0, delta, 3), 30}});
  check_delta(word_by_word, seed, report);
}

// ---- 2. One layer, three forms ----------------------------------------------------------------------------
// Without delta rule and gates the word's read is y_t = Σ_{j ≤ t} (q_t · k_j) v_j. This is causal attention whose
// weights are the bare scores. It needs no loop: all pairs at once, T² of them.

Tensor as_pairs(const Words& x) {
  const Size words = x.q.size(0);
  const Tensor scores = matmul(x.q, transpose(x.k));  // (T, T)
  return matmul(where(Mask::causal(words, words), scores, scalar(0, scores.dtype())), x.v);
}

// Word by word there are T steps that wait for each other, each of little work; as pairs there is one step, of
// work T². Between them: cut the text into *chunks*. Within one take pairs, and what came before is S.

Tensor in_chunks(const Words& x, Size size) {
  Tensor state = zeros({x.k.size(1), x.v.size(1)}, x.q.dtype());
  std::vector<Tensor> reads;
  for (Size first = 0; first < x.q.size(0); first += size) {
    const Size last = std::min(first + size, x.q.size(0));
    const auto part = [&](const Tensor& all) { return slice(all, 0, first, last); };
    const Words chunk{part(x.q), part(x.k), part(x.v)};
    reads.push_back(matmul(chunk.q, state) + as_pairs(chunk));
    state = state + matmul(transpose(chunk.k), chunk.v);  // all its writes in one product
  }
  return concat(reads, 0);
}

// Bare scores may be negative, and sum to anything. *Linear attention* (Katharopoulos and others 2020) makes
// queries and keys positive, φ(x) = elu(x) + 1 (x + 1 above 0, eˣ below), and divides by the sum of weights:
//
//     y_t = S_tᵀ φ(q_t) / (z_t · φ(q_t)),    S_t = Σ_{j ≤ t} φ(k_j) v_jᵀ,    z_t = Σ_{j ≤ t} φ(k_j)
//
// z is one more column of S: it is written with the value 1. nn/'s layer LinearAttention does so.

Tensor layer_by_hand(const Tensor& x, const LinearAttention& layer) {  // x (T, width), one head
  const auto phi = [](const Tensor& y) { return where(less(y, scalar(0, y.dtype())), exp(y), y + 1.0); };
  const Tensor v = layer.value(x), one = ones({x.size(0), 1}, x.dtype());
  const Tensor read = in_chunks({phi(layer.query(x)), phi(layer.key(x)), concat({v, one}, 1)}, 3);
  const Size e = v.size(1);
  return layer.output(slice(read, 1, 0, e) / (slice(read, 1, e, e + 1) + 1e-6));
}

// ---- 3. Time and memory -----------------------------------------------------------------------------------
// linear_attend() is in_chunks() for batches and heads, as one kernel. (The delta rule in chunks solves a small
// system of equations: see core/simd/attention/linear.hpp.) Beside it lesson 25's attend().

void time_and_memory(const kit::Options& options, kit::Report& report) {
  const kit::Question kept = report.ask(
      "the next word", "d = e = 64, and 4096 words were read. How much must a head keep for the next one?",
      {"half a million numbers with attention, 4096 with a matrix", "4096 numbers with either",
       "half a million with either: the matrix holds all words"});
  const Costs costs = measure_costs(options);
  report.figure("as long as attend() takes the sum, at about", costs.crossing, "words");
  report.at_least("times as fast as attend(), longest text", costs.times_faster, 5);
  report.at_most("memory of the sum grows as T to the power", costs.memory_power, 1.1);
  report.answer(kept, 'a', 2 * 64 * 4096 > 500'000 && 64 * 64 == 4096,
                "Keys and values are 2 · 64 numbers a word. The matrix is 64 · 64 for any text.");
}

// ---- 4. How much it holds ---------------------------------------------------------------------------------
// So it must forget. Nothing is trained here: P pairs, keys drawn at random, of length 1, values one of 64 codes.
// All are written, then each key reads, and the nearest code counts. Key i reads its value and Σ_{j ≠ i}
// (k_i · k_j) v_j, noise: random keys have (k_i · k_j)² = 1/d on average, so its square is (P − 1) / d. With
// 32 pairs and d = 32 that is 0.97, as large as the value, but in 64 directions: the nearest code is mostly right.

void capacity(const kit::Options& options, kit::Report& report) {
  const kit::Question repairs = report.ask(
      "random keys", "32 pairs, d = 32. The delta rule corrects what it reads. How much comes back?",
      {"more than of the sum: it takes the noise out", "less", "as much"});
  const Capacity at_32 = measure_capacity(options, report);
  report.check_quoted("square of the noise, 32 pairs, d = 32", at_32.noise, 0.97, 0.05);
  report.answer(repairs, 'b', at_32.delta + 5 < at_32.sum,
                "Each write takes out of S what stood along its key: the oldest fade.");
}
// The sum falls past P = d, the delta rule past d/2. Softmax does not: its exponential silences all keys but one.

// ---- 5. Written again, and forgotten ----------------------------------------------------------------------
// What is the delta rule for, then? Two tasks, trained with nn/'s layer, d = 16 (--rows). *Updates*: names get
// symbols, four times as many writes as names; the last symbol of each is asked. *Chapters*: three, and a word
// "forget" between them. Asked are names of the last chapter, and of an earlier one: there it is "nothing".

void rules(Size rows, const kit::Options& options, kit::Report& report) {
  const kit::Question which =
      report.ask("overwrite", "The sum with a learned gate may forget. Does it learn the updates?",
                 {"no better than the sum", "in part: newer words are louder", "as well as the delta rule"});
  const auto right = train_rules(rows, options, report);  // by rule
  report.answer(which, 'b', right[kGate] >= right[kSum] + 5 && right[kGate] <= right[kDelta] - 5,
                "A gate is one number for all of S: with an old symbol it lets other names fade.");
}
// The sum is for what is written once, the delta rule for what changes, the gate for what is over.

// ---- 6. Older relatives -----------------------------------------------------------------------------------
// relatives.cpp is a page of its own: multiplicative, sigma-pi and higher-order units, and hypernetworks. In all
// of them inputs multiply inputs; linear attention is a layer whose weights the words made.

// What to remember. Without the exponential attention is a matrix that is written and read: a state of constant
// size. Pairs, words, chunks: one result, three costs. It holds about d pairs; the rule says which it loses.
//
// Exercises: lessons/practise 30 (chunks that forget; backward in time; what is read; a small notebook).

void lesson(Size rows, const kit::Options& options, kit::Report& report) {
  report.section("A matrix that remembers");
  pencil(options.seed, report);
  report.section("One layer, three forms");
  check_apart("as pairs", as_pairs, options.seed, report);
  check_apart(
      "in chunks of 32", [](const Words& x) { return in_chunks(x, 32); }, options.seed, report);
  check_layer(layer_by_hand, options.seed, report);
  report.section("Time and memory");
  time_and_memory(options, report);
  report.section("How much it holds");
  capacity(options, report);
  report.section("Written again, and forgotten");
  rules(rows, options, report);
  report.section("Older relatives");
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
