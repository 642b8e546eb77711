// 22 transformer: two stacks joined by cross-attention
//
// 20 minutes to read, a minute to run. Needs lessons 11 (a decoder that looks back), 15 (the grammar), 17
// (sinusoids), 18 (heads), 19 (blocks), 20 (causal masks, tied ends). Afterwards you can build the translator
// of the paper (Vaswani et al. 2017), give each attention its mask, and say what only this decoder can do.
//
// Lesson 11's decoder looks at all of the source, but what it wrote itself goes through one state from word
// to word. Lesson 20's blocks look at all that was written, but there is no source. Can one model have both?

#include <cmath>

#include "core/core.hpp"
#include "lessons/22_transformer/by_hand.hpp"
#include "lessons/22_transformer/names.hpp"
#include "lessons/22_transformer/translator.hpp"
#include "lessons/22_transformer/warm_up.hpp"
#include "lessons/kit/check/worked_example.hpp"
#include "optim/parallel/mpi/mpi.hpp"

using namespace tapestry;
using namespace tapestry::lesson22;

namespace {

// ---- 1. A word that asks another sentence -----------------------------------------------------------------
// In *self-attention* queries, keys and values come from one sequence. In *cross-attention* the queries come
// from one, keys and values from another: here the words that are written ask the words that were read. With
// a pencil, one head and no matrices: the word y asks two states of the source, x₁ and x₂.
//
//     y = (1, 0)     x₁ = (2, 0)     y · x₁ / √2 = 1.414     e^1.414 = 4.113     weight 4.113 / 5.113 = 0.804
//                    x₂ = (0, 1)     y · x₂ / √2 = 0         e^0     = 1         weight 1 / 5.113     = 0.196
//
// It reads 0.804 x₁ + 0.196 x₂ = (1.609, 0.196), and the residual (lesson 19) adds that to y.

void one_word(kit::Report& report) {
  const Tensor y = tensor({{1, 0}}, DType::f64), x = tensor({{2, 0}, {0, 1}}, DType::f64);
  const Tensor scores = matmul(y, transpose(x)) / std::sqrt(2.0), weights = softmax(scores, -1);
  const double score = scores.at({0, 0}), e = std::exp(score), w = weights.at({0, 0});
  const double one = matmul(weights, x).at({0, 0}), two = matmul(weights, x).at({0, 1});
  kit::check_worked_example(
      report, "a word", {{score, 1.414}, {e, 4.113}, {e + 1, 5.113}, {w, 0.804}, {one, 1.609}, {two, 0.196}});
}

// ---- 2. Both blocks from ops ------------------------------------------------------------------------------
// Two stacks, then: the *encoder* reads the source x, the *decoder* writes y. attend(who asks, who answers)
// is lesson 18's attention with many heads, and every part reads a normed input, as in lesson 19:
//
//     encoder block    x ← x + attend(x, x)            decoder block    y ← y + attend(y, y)
//                      x ← x + feed_forward(x)                          y ← y + attend(y, x)
//                                                                       y ← y + feed_forward(y)
//
// The source has the shape (B, S, width), what is written (B, T, width). So the scores of attend(y, x) are
// (B, heads, T, S): no square. nn/'s layers lend their weights; lesson 19 built norm and feed-forward.

Tensor attend(const MultiHeadAttention& nn, const Tensor& asks, const Tensor& answers, const Mask& mask) {
  const Size heads = nn.options().heads, width = nn.options().head_width;
  const auto part = [&](const Tensor& x, const Linear& layer) {  // (B, L, all heads) → (B, heads, L, width)
    const Tensor all = linear(x, layer.weight, layer.bias);
    return transpose(reshape(all, {x.size(0), x.size(1), heads, width}), 1, 2);
  };
  const Tensor q = part(asks, nn.query), k = part(answers, nn.key), v = part(answers, nn.value);
  const Tensor scores = matmul(q, transpose(k)) / std::sqrt(static_cast<double>(width));
  const Tensor read = transpose(matmul(masked_softmax(scores, mask), v), 1, 2);  // (B, T, heads, width)
  return linear(reshape(read, {asks.size(0), asks.size(1), heads * width}), nn.output.weight, nn.output.bias);
}

Tensor block(const TransformerBlock& nn, Tensor x, const Mask& own, const Tensor& memory, const Mask& valid) {
  const Tensor asking = (*nn.self_norm)(x);
  x = x + attend(nn.self, asking, asking, own);
  if (nn.cross) x = x + attend(*nn.cross, (*nn.cross_norm)(x), memory, valid);  // a decoder's
  return x + (*nn.feed_forward)((*nn.feed_forward_norm)(x));
}

// Words enter as √width times their vectors, with a sinusoid for their place, and the same vectors make the
// logits. All words of a training sentence are computed at once, by teacher forcing: `words` is <start> y₁ …,
// and the logits at a place are for the word that comes next.

Tensor translator(const TransformerTranslator& nn, const Indices& source, const ValidLengths& lengths,
                  const Indices& words) {
  const auto enter = [](const Tensor& vectors, const Indices& ids) {
    const Size width = vectors.size(1);
    return embedding(vectors, ids) * std::sqrt(static_cast<double>(width)) +
           sinusoids(0, ids.shape()[1], width, vectors.dtype());
  };
  const Mask own = Mask::causal(words.shape()[1], words.shape()[1]);
  const Mask valid = lengths.mask(source.shape()[1]).unsqueeze(1);  // (B, 1, 1, S): for every head and query
  Tensor x = enter(nn.encoder.input.words.weight, source), y = enter(nn.input.words.weight, words);
  for (const TransformerBlock& each : nn.encoder.stack.blocks) x = block(each, x, valid, {}, {});
  x = (*nn.encoder.stack.norm)(x);
  for (const TransformerBlock& each : nn.stack.blocks) y = block(each, y, own, x, valid);
  return linear((*nn.stack.norm)(y), nn.input.words.weight);
}

void build(std::uint64_t seed, kit::Report& report) {
  const auto last = report.ask("the last word of the source", "Exchange it. Do the logits at <start> move?",
                               {"no: the decoder is causal", "only the last logits do", "yes"});
  const Seen seen = check_by_hand(block, translator, seed, report);
  report.answer(last, 'c', seen.last_written == 0 && seen.last_read > 1e-6,
                "The whole source is there before the first word is written, and any of its words may "
                "be needed first. Causal is attend(y, y) alone: what comes later in y must not be seen.");
}

// ---- 3. Label smoothing -----------------------------------------------------------------------------------
// Cross-entropy wants the right word's probability to be 1, so its logit to grow for ever. *Smoothing*
// (Szegedy et al. 2016) wants t: 1 − ε + ε/V for the right one of V words, and ε/V for each other. By lesson
// 03 the gradient for the logits is p − t, so the loss is least where p = t: with ε = 0.1 and 100 words at
// 0.901. Being surer than that costs again. It is an option of cross_entropy(), .smoothing.

// ---- 4. Warm-up -------------------------------------------------------------------------------------------
// Adam (lesson 03) divides a mean of gradients by the root of a mean of squares. After one gradient g both
// know g alone: the step is g / √g², a full learning rate, however small g is. Then let the second batch want
// the opposite, −g. The mean is 0.9 · 0.1 g − 0.1 g = −0.01 g (0.9 is β₁), corrected by 1 − 0.9² = 0.19, so
// the second step goes back by 0.053 rates only. What a single batch said stays for long.
//
// With a *warm-up* the rate starts near 0 and rises, until the means know more. Two translators start from
// the same weights, with norms after the residual's sum, as in the paper. One has the full rate from the
// first of 150 steps on. For the other it rises over 50 steps; the rest is the same.

void warm_up(const kit::Options& options, kit::Report& report) {
  const std::vector<double> w = adam_places({1e-3, -1e-3}), large = adam_places({1e3});
  const double mean = 0.9 * 0.1 - 0.1, part = 1 - 0.9 * 0.9;
  kit::check_worked_example(report, "two steps of Adam that disagree",
                            {{w[0], -1}, {large[0], -1}, {mean, -0.01}, {part, 0.19}, {w[1] - w[0], 0.053}});
  const auto rise = report.ask("the start", "After 150 steps, the loss with the full rate at once is …",
                               {"far above the other's", "below: it moved further", "the same"});
  report.answer(rise, 'a', race(options, report) >= 1,
                "It knows how frequent each word is, and stays there, at a rate with which the other "
                "goes on learning. Its first moves were the largest and the least informed.");
}

// ---- 5. A translator, and another decoder -----------------------------------------------------------------
// Now two translators learn the grammar of lesson 15, in which some pairs of adjective and noun never occur.
// Their encoders are alike. One has the decoder above; the other has lesson 11's, whose state asks what this
// encoder read: to an attention states are states. (With --data one learns real text: --help.)

Outcome two_decoders(const kit::Options& options, const Settings& settings, kit::Report& report) {
  const auto better = report.ask("the decoders", "Which one translates more new sentences exactly?",
                                 {"the transformer's", "the recurrent one", "both do nearly all"});
  Outcome outcome = train_and_test(options, settings, report);
  report.answer(better, 'c', outcome.all_met,
                "What these sentences need stands in the source, and both can look there. The recurrent "
                "decoder even has fewer weights. What is the other one for?");
  return outcome;
}

// ---- 6. Names that must be kept ---------------------------------------------------------------------------
// Who translates a manual may call a part by one of several names, but must then stay with it. So here: a
// source is 24 things of 12 kinds with 4 names each. At first any of them will do; from then on it has to be
// the same, and which one does not stand in the source, but in what was written. Both decoders learn equally
// long, and are tested with the right words before.

void names(const kit::TransformerConfig& config, const kit::Options& options, kit::Report& report) {
  const auto kept = report.ask("the names", "Who keeps to the names that were written?",
                               {"neither", "the transformer, clearly better", "both, as before"});
  report.answer(kept, 'b', keep_names(config, options, report),
                "The recurrent decoder attends to the source alone. Twelve names must fit into its state: "
                "lesson 10's bottleneck, on the other side. attend(y, y) goes to where the name stands.");
}

// The price: all that was written stays in memory (lesson 20's cache), where the other has one state. And in
// training no word waits for the one before; whether that is faster, your machine says in the table above.

// ---- 7. Every head of every layer -------------------------------------------------------------------------
// A recurrent decoder looks once a word, a transformer with every head of every layer. Do they agree?

// What to remember. Cross-attention: who writes asks, who was read answers, without a causal mask. Warm up:
// Adam's first moves are its largest. A decoder that attends to its own words need not remember them.
//
// Exercises: lessons/practise 22 (cross-attention; smoothing; a decoder that sees the answer; a small model).

}  // namespace

int main(int argc, char** argv) {
  return run_under_mpi({.timeout = 120}, [&](Communicator& ranks) {
    kit::Lesson program("22_transformer", "two stacks joined by cross-attention");
    program.runs_on(ranks);
    program.steps(1400, 6);
    Settings settings;
    offer(program, settings);
    return program.run(argc, argv, [&](const kit::Options& in, kit::Report& report) {
      if (translates(program, in, settings)) return;
      report.section("A word that asks another sentence");
      one_word(report);
      report.section("Both blocks from ops");
      build(in.seed, report);
      report.section("Label smoothing");
      report.check_quoted("probability where the smoothed loss is least", draw_smoothing(0.1, in), 0.901,
                          0.002);
      report.section("Warm-up");
      warm_up(in, report);
      report.section("A translator, and another decoder");
      const Outcome outcome = (in.data.empty() ? two_decoders : train_and_test)(in, settings, report);
      if (in.data.empty()) {
        report.section("Names that must be kept");
        names(settings.config, in, report);
      }
      report.section("Every head of every layer");
      show_heads(outcome, report);
    });
  });
}
