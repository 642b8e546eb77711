// 11 bahdanau: look back while you write
//
// In lesson 10 the encoder had to squeeze a whole string into one vector, and the longer the string, the more
// of it was lost. Bahdanau, Cho and Bengio (2015) took the squeeze away: keep *all* of the encoder's states,
// and let the decoder choose, with every letter that it writes, which of them it wants to read. That choice
// is an attention: the decoder's state is the query, the encoder's states are keys and values at once.
//
// You will: 1 build one step of that decoder from plain ops, and check it; 2 train it to reverse strings; 3
// train the same decoder with one vector to look at, which is lesson 10's bottleneck; 4 see both in one
// figure; 5 see where it looked.

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "core/core.hpp"
#include "lessons/kit/check/agreement.hpp"
#include "lessons/kit/kit.hpp"
#include "lessons/kit/tasks/gru_step.hpp"
#include "lessons/kit/tasks/reversal.hpp"
#include "lessons/kit/tensors.hpp"
#include "lessons/kit/train/loop.hpp"
#include "lessons/kit/translation/corpus.hpp"
#include "nn/seq2seq/seq2seq.hpp"

using namespace tapestry;
using kit::Ids;
using kit::largest, kit::weights_of;
using kit::Translation;
using kit::Words;

namespace {

// ---- 1. One step of the decoder ---------------------------------------------------------------------------
//
// The decoder has written some letters; its state is s (the paper's s_{t−1}). The encoder's states are h_1 …
// h_T. How well does h_j answer what s asks for? A small network with one hidden layer says it, the
// *additive* score:
//
//     score_j = v · tanh(W_q s + W_k h_j)          W_q (U, d_s), W_k (U, d_h), v (U)
//     α       = softmax of the scores over j       padding left out
//     c       = Σ_j α_j h_j                        the context: what was read
//
// Query and key may differ in width, and W_k h_j does not depend on s: for a whole string it is computed
// once. Broadcasting does the meeting of one query, (B, 1, U), with all keys, (B, T, U).

struct Look {
  Tensor context;  // (B, d_h)
  Tensor weights;  // (B, T)
};

Look look_back(const Tensor& s, const Tensor& h, const ValidLengths& lengths, const Tensor& w_q,
               const Tensor& w_k, const Tensor& v) {
  const Size batch = h.size(0), time = h.size(1);
  const Tensor query = unsqueeze(matmul(s, transpose(w_q)), 1);  // (B, 1, U)
  const Tensor keys = matmul(h, transpose(w_k));                 // (B, T, U)
  const Tensor scores = sum(tanh(query + keys) * v, {-1});       // (B, T)
  const Mask valid = lengths.mask(time).reshape({batch, time});  // true = may attend
  const Tensor weights = masked_softmax(scores, valid);
  return {squeeze(matmul(unsqueeze(weights, 1), h), 1), weights};  // (B, 1, T) · (B, T, d_h)
}

// Bahdanau's order is *attend, then step*: the old state asks, and what was read enters the cell beside the
// embedding e of the letter before. (Luong's decoder, next lesson, steps first.) Note where c goes: it is an
// input of the cell. It is not the cell's state, as one can read here and there.
//
//     c_t = attend(s_{t−1}, h)        s_t = GRU([e_t; c_t], s_{t−1})
//
// The GRU is lesson 9's, from plain ops as there: kit::gru_step.

struct Stepped {
  Tensor state;    // (B, d_s)
  Tensor weights;  // (B, T)
};

/// nn/'s layers for such a step. Both versions below use these very weights.
struct Step : Module {
  Step(Size embedding, Size state, Size memory, Size units)
      : attention{{*this, "attention"}, additive(state, memory, units)},
        cell{{*this, "cell"}, embedding + memory, state} {}

  Stepped operator()(const Tensor& e, const Tensor& s, const Tensor& h, const ValidLengths& lengths) const {
    const Attended read = attention(unsqueeze(s, 1), h, h, lengths);
    const Tensor context = squeeze(read.context, 1);
    return {cell(concat({e, context}, -1), s).hidden, squeeze(read.weights, 1)};
  }
  Stepped by_hand(const Tensor& e, const Tensor& s, const Tensor& h, const ValidLengths& lengths) const {
    const AdditiveScore& score = dynamic_cast<const AdditiveScore&>(attention.score());
    const Look read = look_back(s, h, lengths, score.query.weight, score.key.weight, score.vector);
    const Tensor x = concat({e, read.context}, -1);
    return {kit::gru_step(x, s, {cell.weight_ih, cell.weight_hh, cell.bias_ih, cell.bias_hh}), read.weights};
  }

  Attention attention;
  GRUCell cell;
};

void show_step(std::uint64_t seed, kit::Report& report) {
  Step step(3, 4, 6, 5);  // all four widths differ
  step.initialise(seed, DType::f64);
  const Tensor e = variable(random_normal({2, 3}, seed, DType::f64), "e");
  const Tensor s = variable(random_normal({2, 4}, seed + 1, DType::f64), "s");
  const Tensor h = variable(random_normal({2, 5, 6}, seed + 2, DType::f64), "h");
  const ValidLengths lengths = {5, 3};  // the second string is shorter: its last two states are padding

  const Stepped ours = step.by_hand(e, s, h, lengths), library = step(e, s, h, lengths);
  for (Size row = 0; row < 2; ++row) {
    fmt::print("  α of string {}, {} letters:", row + 1, lengths[row]);
    for (Size j = 0; j < 5; ++j) fmt::print("  {:.4f}", ours.weights.at({row, j}));
    fmt::print("\n");
  }
  report.check("each row of weights sums to 1", largest(sum(ours.weights, {-1}) - 1) < 1e-12);
  report.check("padding gets exactly 0", ours.weights.at({1, 3}) == 0 && ours.weights.at({1, 4}) == 0);

  std::vector<Tensor> leaves = step.parameters();
  const GradcheckResult check =
      gradcheck([&](const Tensor& e_in, const Tensor& s_in,
                    const Tensor& h_in) { return step.by_hand(e_in, s_in, h_in, lengths).state; },
                {e, s, h}, leaves);
  if (!check.ok()) fmt::print("{}", check.report());
  report.check(fmt::format("gradcheck of one step, {} derivatives", check.compared), check.ok());

  for (const Tensor& input : {e, s, h}) leaves.push_back(input);
  const auto gradients = [&](auto new_state) { return kit::gradients(new_state, leaves, seed + 9); };
  const std::vector<Tensor> a = gradients([&] { return step.by_hand(e, s, h, lengths).state; });
  const std::vector<Tensor> b = gradients([&] { return step(e, s, h, lengths).state; });
  const double apart = kit::farthest(a, b);
  report.check("no gradient reaches padding", largest(slice(select(a.back(), 0, 1), 0, 3, 5)) == 0);
  fmt::print(
      "  nn/'s Attention and GRUCell: "
      "weights differ by {:.0e}, the state by {:.0e}, its gradients by {:.0e}\n",
      largest(ours.weights - library.weights), largest(ours.state - library.state), apart);
  report.check("nn/ gives the same to 1e-12", largest(ours.weights - library.weights) < 1e-12 &&
                                                  largest(ours.state - library.state) < 1e-12 &&
                                                  apart < 1e-12);
}

// ---- 2. Looking back at all states ------------------------------------------------------------------------
//
// The task is lesson 10's: write a string backwards. Ten letters, lengths 4 to 24, a fresh batch at every
// step. Nothing can be guessed, so every letter has to come through from the encoder. Nothing can be learned
// by heart either: training shows some 4,000 strings of each length, and there are a million of six letters.
//
// The encoder reads in both directions, and h_j = [→h_j; ←h_j] knows what stands left and right of letter j.
// With 32 units each way h_j has 64 numbers: as many as lesson 10's code of that size. nn/seq2seq/seq2seq.hpp
// puts encoder and decoder together in a Translator; you have just built its step. What passes between the
// two is an Encoded: all states, the two ends, and the lengths of the strings.

using kit::Strings;
constexpr Size kShortest = kit::kShortestString, kLongest = kit::kLongestString;

struct Reverser : Translator {
  Reverser() : Translator(options(kit::alphabet().size())) {}

  static TranslatorOptions options(Size vocabulary) {
    return {{.vocabulary = vocabulary, .embedding = 32, .hidden = 32},
            {.vocabulary = vocabulary, .embedding = 32, .hidden = 64, .attention = 64, .readout = 64}};
  }
  /// What the decoder may look at.
  virtual Encoded read(const kit::Padded& source) const {
    return encoder(kit::indices(source), kit::valid_lengths(source));
  }
};

void train(Reverser& model, const char* name, const kit::Options& options) {
  constexpr Size kBatch = 64;
  model.initialise(options.seed);
  kit::train(model, {.name = name, .steps = options.steps, .batch = kBatch, .seed = options.seed},
             [&](kit::Random random) {
               const Strings strings = kit::draw_strings(random, kBatch);
               const kit::Forcing forcing = kit::teacher_forcing(strings.targets);
               const Tensor logits = model.decoder(kit::indices(forcing.input), model.read(strings.sources));
               return cross_entropy(logits, kit::indices(forcing.output), {.ignore = kit::kPad});
             });
}

// In training the decoder was fed the right letters. Now it is on its own: it is fed what it wrote. A string
// counts if every letter is right, and <end> comes at the right place. (Lesson 10 said why letters alone
// would flatter.) For each letter that is written the decoder's prepare(), start() and step() do what you
// built above; W_k h_j is computed once, in prepare().

/// In per cent, over `count` strings of one length.
double exact_match(const Reverser& model, std::uint64_t seed, Size length, Size count) {
  const Strings strings = kit::test_strings(seed, count, length);
  return kit::percent_rows_equal(kit::write_freely(model.decoder, model.read(strings.sources), length + 1),
                                 kit::indices(kit::teacher_forcing(strings.targets).output));
}

/// Trains one of the two, and tests it.
kit::Series run(Reverser& model, const char* name, const kit::Options& options) {
  train(model, name, options);
  kit::Series series{name, {}, {}};
  for (Size length = kShortest; length <= kLongest; ++length) {
    series.x.push_back(static_cast<double>(length));
    series.y.push_back(exact_match(model, options.seed, length, options.smoke ? 20 : 1000));
  }
  return series;
}

// ---- 3. The same decoder with one vector to look at -------------------------------------------------------
//
// For the comparison, the *same* network is given one vector to look at: the two ends, [→h_T; ←h_1], where
// each direction has seen the whole string. The softmax over one place is exactly 1, whatever the score. So
// the decoder gets the same context at each letter, and that is a fixed-length code. Every weight has the
// same shape and the same first value.

struct Squeezer : Reverser {
  Encoded read(const kit::Padded& source) const override {
    const Encoded states = Reverser::read(source);
    return {unsqueeze(states.code(), 1), states.final, {}};  // one key and value (B, 1, 64), without padding
  }
};

// ---- 4. Both in one figure --------------------------------------------------------------------------------
//
// Bahdanau's own figure 2 has this shape: one curve falls with the length of the sentence, the other stays.

void show_both(const kit::Series& attention, const kit::Series& fixed, const kit::Options& options) {
  kit::Chart chart{"Reversing strings: all states against one vector",
                   "letters in the string",
                   "exact match in %",
                   {attention, fixed},
                   {{99, "target"}}};
  kit::show(chart, options.out / "lengths.svg");
}

// ---- 5. Where it looked -----------------------------------------------------------------------------------
//
// The weights are the model's own account of what it did. The first letter to write is the last one of the
// source, and so on: the picture must be the other diagonal. Nobody told the model; it found out from the
// loss alone. The diagonal is two cells wide in places, and there the stronger cell is now and then the wrong
// one: h_j has read in both directions, so the states beside letter j know it too, and reading from them
// costs nothing. Weights say where a model read, not where the letter stood.

void show_alignment(Reverser& model, const kit::Options& options, kit::Report& report) {
  constexpr Size kShown = 14;
  const kit::Vocabulary letters = kit::alphabet();
  const Strings strings =
      kit::draw_strings(kit::Random(options.seed, 2'000'000), options.smoke ? 20 : 500, kShown, kShown);
  std::vector<Words> sources;
  for (auto row = strings.sources.ids.begin(); row != strings.sources.ids.end(); row += kShown + 1)
    sources.push_back(letters.decode(Ids(row, row + kShown)));
  const std::vector<Translation> written =
      kit::translate(model, letters, letters, sources, {.max_length = kShown + 3});
  double on = 0, near = 0, weight_near = 0, letters_written = 0;
  for (const Translation& one : written)
    for (Size t = 0; t < std::min<Size>(kShown, static_cast<Size>(one.words.size())); ++t) {
      const Size letter = kShown - 1 - t, off = std::abs(kit::looked_at(one, t) - letter);
      letters_written += 1;
      on += off == 0;
      near += off <= 1;
      for (Size j = std::max<Size>(0, letter - 1); j <= letter + 1; ++j)
        weight_near += one.alignment[static_cast<std::size_t>(t)][static_cast<std::size_t>(j)];
    }
  report.figure("largest weight on the very letter", 100 * on / letters_written, "%");
  report.figure("weight on the letter and its neighbours", 100 * weight_near / letters_written, "%");
  report.at_least("largest weight on the letter or a neighbour", 100 * near / letters_written, 95, "%");
  fmt::print("\n  {}\n  → {}\n", kit::join_words(written.front().source),
             kit::join_words(written.front().words));
  kit::show(kit::alignment_picture(written.front(), "Where each letter looked"),
            options.out / "alignment.svg");
}

void lesson(const kit::Options& options, kit::Report& report) {
  report.section("One step of the decoder");
  show_step(options.seed, report);

  report.section("Looking back at all states");
  Reverser attending;
  const kit::Series attention = run(attending, "looks back", options);
  const auto worst = std::min_element(attention.y.begin(), attention.y.end());
  fmt::print("  {} weights; exact match is lowest at length {}\n", weights_of(attending),
             attention.x[static_cast<std::size_t>(worst - attention.y.begin())]);
  report.at_least("exact match at the worst of all lengths", *worst, 99, "%");

  report.section("The same decoder with one vector to look at");
  Squeezer squeezing;
  const kit::Series fixed = run(squeezing, "one vector", options);
  fmt::print("  {} weights, of which the score's {} have nothing to choose from\n", weights_of(squeezing),
             weights_of(squeezing.decoder.attention));
  report.figure("exact match at length 4", fixed.y.front(), "%");
  report.figure("exact match at length 12", fixed.y[12 - kShortest], "%");
  report.at_most("exact match at length 24", fixed.y.back(), 10, "%");

  report.section("Both in one figure");
  show_both(attention, fixed, options);

  report.section("Where it looked");
  show_alignment(attending, options, report);
}

}  // namespace

int main(int argc, char** argv) {
  kit::Lesson program("11_bahdanau", "look back while you write");
  program.steps(1250, 15);
  return program.run(argc, argv, lesson);
}
