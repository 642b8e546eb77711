// 11 bahdanau: look back while you write
//
// 20 minutes to read, 20 seconds to run. Needs lesson 10 (encoder and decoder, teacher forcing, exact match),
// the GRU of lesson 09, and queries, keys, values and masks of 06 and 07. Afterwards you can build one step
// of the first translator with attention, train it, and read its alignments with care.
//
// In lesson 10 all that the decoder got of a string was the encoder's last state, and long strings did not
// come through. But the encoder made a state at every letter. What if the decoder may look at all of them,
// each time it writes one? How does it know where? Bahdanau, Cho and Bengio (2015) let it learn that.

#include <cmath>

#include "core/core.hpp"
#include "lessons/11_bahdanau/experiment.hpp"
#include "lessons/kit/check/by_hand.hpp"
#include "lessons/kit/check/worked_example.hpp"
#include "lessons/kit/kit.hpp"
#include "lessons/kit/tasks/gru_step.hpp"

using namespace tapestry;
using namespace tapestry::lesson11;

namespace {
constexpr DType f64 = DType::f64;

// ---- 1. One look by hand ----------------------------------------------------------------------------------
// The decoder's state s (d_s numbers) is the query. Each state h_j of the encoder (d_h numbers) is a key, and
// also the value that is read. In lesson 06 a score was a product q·k. Here it is what a small network with
// one hidden layer of U units says about the two together, the *additive* score:
//
//     score_j = v · tanh(W_q s + W_k h_j)          W_q (U, d_s), W_k (U, d_h), v (U)
//     α       = softmax of the scores over j       the weights; padding gets none
//     c       = Σ_j α_j h_j                        the *context*: what was read
//
// W_q, W_k and v are learned. With a pencil, let U = 2, and W_q and W_k change nothing:
//
//     s = (1, −1)     h₁ = (0, 1)      tanh(1, 0) = (0.7616, 0)      score₁ = 2 · 0.7616 = 1.523
//     v = (2, −1)     h₂ = (−1, 2)     tanh(0, 1) = (0, 0.7616)      score₂ = −1 · 0.7616 = −0.762
//
// e^1.523 is 4.586 and e^−0.762 is 0.467, so the weights are 4.586 / 5.053 = 0.908 and 0.092, and the context
// is 0.908 h₁ + 0.092 h₂ = (−0.092, 1.092).
//
// For B strings, s (B, d_s) becomes a query each, (B, 1, U), and h (B, T, d_h) keys (B, T, U). Their sum
// repeats the query along T (broadcasting), so that it meets every key.

struct Look {
  Tensor scores, weights;  // (B, T)
  Tensor context;          // (B, d_h)
};

Look look_back(const Tensor& s, const Tensor& h, const ValidLengths& lengths, const Tensor& w_q,
               const Tensor& w_k, const Tensor& v) {
  const Size batch = h.size(0), time = h.size(1);
  const Tensor query = unsqueeze(matmul(s, transpose(w_q)), 1);  // (B, 1, U)
  const Tensor keys = matmul(h, transpose(w_k));                 // (B, T, U)
  const Tensor scores = sum(tanh(query + keys) * v, {-1});       // (B, T)
  const Mask valid = lengths.mask(time).reshape({batch, time});  // true = may attend
  const Tensor weights = masked_softmax(scores, valid);
  return {scores, weights, squeeze(matmul(unsqueeze(weights, 1), h), 1)};  // (B, 1, T) · (B, T, d_h)
}

void one_look(kit::Report& report) {
  const Tensor same = eye(2, f64);
  const Look look = look_back(tensor({{1, -1}}, f64), tensor({{{0, 1}, {-1, 2}}}, f64), {2}, same, same,
                              tensor({2, -1}, f64));
  const auto score = look.scores.to_vector(), weight = look.weights.to_vector(),
             read = look.context.to_vector();
  kit::check_worked_example(report, "the two scores",
                            {{std::tanh(1.0), 0.7616}, {score[0], 1.523}, {score[1], -0.762}});
  kit::check_worked_example(report, "weights",
                            {{std::exp(1.523), 4.586},
                             {std::exp(-0.762), 0.467},
                             {std::exp(1.523) + std::exp(-0.762), 5.053},
                             {weight[0], 0.908},
                             {weight[1], 0.092}});
  kit::check_worked_example(report, "the context", {{read[0], -0.092}, {read[1], 1.092}});
}

// ---- 2. Attend, then step ---------------------------------------------------------------------------------
// First the *old* state s_{t−1} asks. What was read goes into lesson 10's GRU, beside e_t, the embedding of
// the letter that was written last:
//
//     c_t = look back(s_{t−1}, h)          s_t = GRU([e_t; c_t], s_{t−1})          [a; b]: b behind a
//
// The context is an *input* of the GRU. It does not replace the state, which still remembers what was
// written. W_k h_j does not depend on s, so a real decoder computes the keys once for a whole string.

struct Weights {
  Tensor w_q, w_k, v;
  kit::GruWeights gru;  // lesson 09's, with kit::gru_step(input, state, weights)
};

Tensor step_by_hand(const Tensor& e, const Tensor& s, const Tensor& h, const ValidLengths& lengths,
                    const Weights& w) {
  const Look look = look_back(s, h, lengths, w.w_q, w.w_k, w.v);
  return kit::gru_step(concat({e, look.context}, -1), s, w.gru);
}

// If reading more of h_3 would have made the right letter likelier, the gradient gives h_3 a larger score, by
// W_q, W_k and v. Nothing else teaches the model where to look.

void one_step(std::uint64_t seed, kit::Report& report) {
  Step step(3, 4, 6, 5);  // all four widths differ
  step.initialise(seed, f64);
  const AdditiveScore& score = step.score();
  const Weights weights{score.query.weight, score.key.weight, score.vector, step.gru()};
  const Tensor e = variable(random_normal({2, 3}, seed, f64), "e");
  const Tensor s = variable(random_normal({2, 4}, seed + 1, f64), "s");
  const Tensor h = variable(random_normal({2, 5, 6}, seed + 2, f64), "h");
  const ValidLengths lengths = {5, 3};  // the second string is shorter: its last two states are padding
  std::vector<Tensor> leaves = step.parameters();
  leaves.insert(leaves.end(), {e, s, h});
  kit::check_by_hand(
      report, "step_by_hand()", [&] { return step_by_hand(e, s, h, lengths, weights); },
      [&] { return step(e, s, h, lengths); }, leaves, seed);
}

// ---- 3. All states against one vector ---------------------------------------------------------------------
// The task is lesson 10's: write a string of 4 to 24 letters backwards. Letters are ten: of the 10⁴ strings
// of four training shows a good part, but from six letters on nearly every string of the test is a new one.
//
// The encoder is a GRU in *both directions*: one reads from the left, one from the right, and their states
// stand side by side, h_j = [→h_j; ←h_j], 32 + 32 numbers. So h_j has seen what stands on either side of j.
// For comparison the same network, with the same first weights and strings, learns with a single vector to
// look at: the two ends, [→h_T; ←h_1], where each direction has read it all.

Run all_against_one(const kit::Options& options, kit::Report& report) {
  const kit::Question all = report.ask(
      "all states", "The decoder may look at all states. How many strings of 24 letters come out whole?",
      {"as many as of 4 letters, nearly all", "clearly fewer than of 4 letters, as in lesson 10",
       "hardly any: 24 states are too many to choose from"});
  const kit::Question one = report.ask(
      "one vector", "And if the same network has one vector of 64 numbers to look at?",
      {"as many: it has the same weights and sees the same strings", "about half as many", "hardly any"});
  Run looking = train_and_test(Sees::all_states, "all states", options);
  const Run squeezed = train_and_test(Sees::one_vector, "one vector", options);
  draw_lengths(looking, squeezed, options);
  const double worst = looking.worst();
  report.at_least("exact match at the worst of all lengths", worst, 99, "%");
  report.answer(all, 'a', worst >= 99,
                "A letter of a long string is as easy to find as one of a short string: its state is there, "
                "and nothing has to be carried to the end.");
  report.figure("exact match at length 4, one vector", squeezed.exact.y.front(), "%");
  report.at_most("exact match at length 24, one vector", squeezed.exact.y.back(), 10, "%");
  report.answer(one, 'c', squeezed.exact.y.back() <= 10 && squeezed.exact.y.front() > 50,
                "A softmax over one place is 1, so the decoder reads one vector at every letter: lesson 10's "
                "bottleneck again. The gain comes from the looking, not from the weights.");
  return looking;
}

// Where to look was learned from the loss on the letters alone. The price: at each of T letters the state is
// compared with all T states of the encoder, T² scores in all.

// ---- 4. Where it looked -----------------------------------------------------------------------------------
// The weights α of all steps, one row for each letter written, make the *alignment* of source and answer.

void alignment(const Run& run, const kit::Options& options, kit::Report& report) {
  const kit::Question shape = report.ask(
      "the alignment",
      "A row for each letter written, downwards; a column for each letter read. Where are the large weights?",
      {"on the diagonal from top left to bottom right", "on the diagonal from top right to bottom left",
       "nowhere: each row is spread over the whole string"});
  const kit::Question exact = report.ask(
      "letter for letter", "Nearly every letter comes out right. Where does the weight of its row lie?",
      {"all on that letter", "a little everywhere", "on that letter and on one beside it"});
  const Looked looked = watch(run, options);
  report.at_least("largest weight on the letter or a neighbour", looked.near, 95, "%");
  report.answer(shape, 'b', looked.near >= 95,
                "The first letter to write is the last one of the source. Nobody told the model so.");
  report.figure("weight on the very letter", looked.weight_at, "%");
  report.figure("weight on the letter and its two neighbours", looked.weight_near, "%");
  report.answer(
      exact, 'c', looked.weight_at > 30 && looked.weight_at < 95 && looked.weight_near > 80,
      "The states beside a letter have read it too, so reading there costs nothing. Weights say which "
      "states were read, not where the letter stood.");
}

// What to remember. The state asks, the encoder's states are keys and values, and a small network scores
// them. Attend, then step: what was read is one more input. No vector has to hold the whole string any more.
//
// Exercises: lessons/practise 11 (the additive score; what is read; how sharp weights can be; a small model;
// your engine).

void lesson(const kit::Options& options, kit::Report& report) {
  report.section("One look by hand");
  one_look(report);
  report.section("Attend, then step");
  one_step(options.seed, report);
  report.section("All states against one vector");
  const Run looking = all_against_one(options, report);
  report.section("Where it looked");
  alignment(looking, options, report);
}
}  // namespace

int main(int argc, char** argv) {
  kit::Lesson program("11_bahdanau", "look back while you write");
  program.steps(1250, 15);
  return program.run(argc, argv, lesson);
}
