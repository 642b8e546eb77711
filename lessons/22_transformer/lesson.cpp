// 22 transformer: two stacks joined by cross-attention
//
// 20 minutes to read, a minute to run. Needs lessons 11 (a decoder with attention), 15 (the grammar), 17
// (sinusoids), 18 (heads), 19 (blocks) and 20 (causal masks, tied embeddings). Afterwards you can build the
// translator of the paper "Attention is all you need" (Vaswani et al. 2017) and choose the right mask for each
// of its attentions. You also know at which kind of task its decoder and a recurrent one differ.
//
// The decoder from lesson 11 attends to the whole source. But information about its output so far passes from
// word to word through a single state. The blocks from lesson 20 attend to all earlier output, but they have
// no source. Can one model attend to both?

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

// ---- 1. Cross-attention by hand ---------------------------------------------------------------------------
// In *self-attention*, queries, keys and values come from the same sequence. In *cross-attention*, the queries
// come from one sequence, and the keys and values from another. In a translator, the queries come from the
// output words, and the keys and values from the source words.
//
// Here is an example with one head and without projections. An output word has the state y, and two source
// words have the states x₁ and x₂:
//
//     y = (1, 0)     x₁ = (2, 0)     y · x₁ / √2 = 1.414     e^1.414 = 4.113     weight 4.113 / 5.113 = 0.804
//                    x₂ = (0, 1)     y · x₂ / √2 = 0         e^0     = 1         weight 1 / 5.113     = 0.196
//
// The result is 0.804 x₁ + 0.196 x₂ = (1.609, 0.196). The residual (lesson 19) adds this result to y.

void one_word(kit::Report& report) {
  const Tensor y = tensor({{1, 0}}, DType::f64), x = tensor({{2, 0}, {0, 1}}, DType::f64);
  const Tensor scores = matmul(y, transpose(x)) / std::sqrt(2.0), weights = softmax(scores, -1);
  const double score = scores.at({0, 0}), e = std::exp(score), w = weights.at({0, 0});
  const double one = matmul(weights, x).at({0, 0}), two = matmul(weights, x).at({0, 1});
  kit::check_worked_example(
      report, "cross-attention",
      {{score, 1.414}, {e, 4.113}, {e + 1, 5.113}, {w, 0.804}, {one, 1.609}, {two, 0.196}});
}

// ---- 2. Encoder and decoder blocks from ops ---------------------------------------------------------------
// A transformer for translation has two stacks of blocks. The *encoder* processes the source x, and the
// *decoder* computes the output y. Let attend(a, b) be multi-head attention (lesson 18) with queries from a,
// and keys and values from b. As in lesson 19, the input of every part is normed first, which the formulas
// leave out:
//
//     encoder block    x ← x + attend(x, x)            decoder block    y ← y + attend(y, y)
//                      x ← x + feed_forward(x)                          y ← y + attend(y, x)
//                                                                       y ← y + feed_forward(y)
//
// The source states have the shape (B, S, width), and the output states have (B, T, width). So the scores of
// attend(y, x) have the shape (B, heads, T, S), which is not square in general. The code uses the weights of
// nn/'s layers, and nn/'s norm and feed-forward, which we built in lesson 19.

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
  x = x + attend(*nn.self, asking, asking, own);
  if (nn.cross) x = x + attend(*nn.cross, (*nn.cross_norm)(x), memory, valid);  // decoder only
  return x + (*nn.feed_forward)((*nn.feed_forward_norm)(x));
}

// The input of a stack is the embedding of each word, times √width, plus a sinusoid for its position. The
// decoder uses the same embeddings again to compute the logits.
//
// In training, all words of an output sentence are computed at once, by teacher forcing: `words` is <start> y₁
// …, and the logits at a position predict the next word.

Tensor translator(const TransformerTranslator& nn, const Indices& source, const ValidLengths& lengths,
                  const Indices& words) {
  const auto enter = [](const Tensor& vectors, const Indices& ids) {
    const Size width = vectors.size(1);
    return embedding(vectors, ids) * std::sqrt(static_cast<double>(width)) +
           sinusoids(0, ids.shape()[1], width, vectors.dtype());
  };
  const Mask own = Mask::causal(words.shape()[1], words.shape()[1]);
  const Mask valid =
      lengths.mask(source.shape()[1]).unsqueeze(1);  // (B, 1, 1, S): the same for all heads and queries
  Tensor x = enter(nn.encoder.input.words.weight, source), y = enter(nn.input.words.weight, words);
  for (const TransformerBlock& each : nn.encoder.stack.blocks) x = block(each, x, valid, {}, {});
  x = (*nn.encoder.stack.norm)(x);
  for (const TransformerBlock& each : nn.stack.blocks) y = block(each, y, own, x, valid);
  return linear((*nn.stack.norm)(y), nn.input.words.weight);
}

void build(std::uint64_t seed, kit::Report& report) {
  const auto last =
      report.ask("the last word of the source",
                 "We replace the last word of the source by another one. Which logits of the decoder "
                 "can change?",
                 {"none at <start>, because the decoder is causal", "only the logits at the last position",
                  "all logits, also those at <start>"});
  const LogitChanges changes = check_by_hand(block, translator, seed, report);
  report.answer(
      last, 'c', changes.last_input == 0 && changes.last_source > 1e-6,
      "The encoder processes the whole source before the decoder writes its first word, and the first word "
      "may depend on any source word. Only attend(y, y) is causal, because later output words must not be "
      "used.");
}

// ---- 3. Label smoothing -----------------------------------------------------------------------------------
// With cross-entropy, the target probability of the right word is 1. A softmax reaches 1 only if the logit of
// the right word grows without bound. *Label smoothing* (Szegedy et al. 2016) uses other target probabilities t
// for V words: 1 − ε + ε/V for the right word, and ε/V for each other word.
//
// By lesson 03, the gradient with respect to the logits is p − t, where p is the predicted probability. So
// the loss is smallest at p = t. For ε = 0.1 and 100 words, the right word's probability is then 0.901. A
// higher probability increases the loss again. In cross_entropy(), this is the option .smoothing.

// ---- 4. Warm-up -------------------------------------------------------------------------------------------
// Adam (lesson 03) divides a mean of gradients by the root of a mean of squared gradients. After a single
// gradient g, both means contain only g. So the first step is g / √g², one full learning rate, however small g
// is.
//
// Suppose that the second batch gives the opposite gradient, −g. The mean is then 0.9 · 0.1 g − 0.1 g = −0.01
// g (0.9 is β₁). Adam divides this mean by 1 − 0.9² = 0.19, to correct for its start at 0. So the second step
// goes back by only 0.053 learning rates, and the effect of the first batch remains for a long time.
//
// With a *warm-up*, the learning rate starts near 0 and rises while the means collect more gradients. We train
// two translators from the same initial weights, with norms after the sums of the residuals, as in the paper.
// One has the full learning rate from the first of 150 steps on. For the other, the learning rate rises over 50
// steps. Everything else is the same.

void warm_up(const kit::Options& options, kit::Report& report) {
  const std::vector<double> w = adam_trajectory({1e-3, -1e-3}), large = adam_trajectory({1e3});
  const double mean = 0.9 * 0.1 - 0.1, part = 1 - 0.9 * 0.9;
  kit::check_worked_example(report, "two steps of Adam that disagree",
                            {{w[0], -1}, {large[0], -1}, {mean, -0.01}, {part, 0.19}, {w[1] - w[0], 0.053}});
  const auto rise =
      report.ask("the start",
                 "After 150 steps, how large is the loss with the full learning rate from the start, "
                 "compared with the loss with warm-up?",
                 {"much larger", "smaller, because the weights have moved further", "about the same"});
  report.answer(
      rise, 'a', compare_warm_up(options, report) >= 1,
      "The translator without warm-up has learned how frequent each word is, and hardly more. With the "
      "same learning rate, the other translator goes on learning. Without warm-up, the first steps were "
      "large, and they depended on very few batches.");
}

// ---- 5. Two decoders for one kind of encoder --------------------------------------------------------------
// Now two translators learn the grammar from lesson 15. Some pairs of adjective and noun never occur in its
// training sentences. Both translators have the same kind of encoder. One has the transformer decoder above.
// The other has the recurrent decoder from lesson 11, whose state is the query for the encoder's states. Its
// attention works with the states of any encoder. (With --data, the lesson trains on real text; see --help.)

Outcome two_decoders(const kit::Options& options, const Settings& settings, kit::Report& report) {
  const auto better =
      report.ask("the decoders", "Which decoder translates more of the new sentences exactly?",
                 {"the transformer decoder", "the recurrent decoder",
                  "neither: both translate nearly all of them exactly"});
  Outcome outcome = train_and_test(options, settings, report);
  report.answer(
      better, 'c', outcome.all_met,
      "The source contains all the information that these sentences need, and both decoders can attend "
      "to it. The recurrent decoder even has fewer weights. The next section has a task for which the source "
      "does not contain all the information.");
  return outcome;
}

// ---- 6. Names that must stay the same ---------------------------------------------------------------------
// A translator of a manual may choose one of several names for a part, but must use this name from then on. Our
// task is similar. A source consists of 24 things of 12 kinds, and each kind has 4 names. The first time that a
// kind occurs, any of its names is right. From then on, the name must be the same. The source does not contain
// this choice. Only the output written so far contains it.
//
// Both decoders are trained for the same number of steps. In the test, their inputs are the right earlier
// words.

void names(const kit::TransformerConfig& config, const kit::Options& options, kit::Report& report) {
  const auto kept =
      report.ask("the names", "Which decoder keeps using the names that were chosen first?",
                 {"neither decoder", "the transformer decoder, clearly more often than the recurrent one",
                  "both decoders, nearly always"});
  report.answer(
      kept, 'b', train_on_names(config, options, report),
      "The recurrent decoder attends only to the source, so up to twelve chosen names must fit into its "
      "state. This is the bottleneck from lesson 10, now in the decoder. In the transformer decoder, "
      "attend(y, y) can attend to the place where the name was written.");
}

// At seed 1, the transformer decoder keeps the names in 100 % of the cases, and the recurrent decoder in
// 62.91 %. At other seeds, the numbers differ, but the recurrent decoder is always clearly worse. It attends
// to the source only, so all chosen names must fit into its state.
//
// The transformer decoder has a price: it stores the keys and values of all output words (the cache from
// lesson 20). The recurrent decoder stores one state. In training, the transformer decoder computes all words
// at once, and no word waits for the previous one. The table above shows whether that is faster on your
// machine.

// ---- 7. The weights of every head -------------------------------------------------------------------------
// A recurrent decoder computes one row of attention weights per word. A transformer decoder computes one row
// per word in every head of every layer. Do the heads attend to the same source words? The picture shows the
// weights of each head for one sentence, and the last figure says how often two heads agree on the source word
// with the largest weight.

// What to remember. In cross-attention, the queries come from the output, and the keys and values come from the
// source, without a causal mask. Use a warm-up, because Adam's first steps are as large as the learning rate
// allows but depend on few batches. A decoder that attends to its own output does not have to store that output
// in one state.
//
// Exercises: lessons/practise 22 (cross-attention; the gradient of label smoothing; find the mistake in a
// decoder's inputs; keep names with few weights).

}  // namespace

int main(int argc, char** argv) {
  return run_under_mpi({.timeout = 120}, [&](Communicator& ranks) {
    kit::Lesson program("22_transformer", "two stacks joined by cross-attention");
    program.runs_on(ranks);
    program.steps(1400, 6);
    Settings settings;
    add_options(program, settings);
    return program.run(argc, argv, [&](const kit::Options& in, kit::Report& report) {
      if (translates(program, in, settings)) return;
      report.section("Cross-attention by hand");
      one_word(report);
      report.section("Encoder and decoder blocks from ops");
      build(in.seed, report);
      report.section("Label smoothing");
      report.check_quoted("probability where the smoothed loss is least", draw_smoothing(0.1, in), 0.901,
                          0.002);
      report.section("Warm-up");
      warm_up(in, report);
      report.section("Two decoders for one kind of encoder");
      const Outcome outcome = (in.data.empty() ? two_decoders : train_and_test)(in, settings, report);
      if (in.data.empty()) {
        report.section("Names that must stay the same");
        names(settings.config, in, report);
      }
      report.section("The weights of every head");
      show_heads(outcome, report);
    });
  });
}
