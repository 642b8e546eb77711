// 10 bottleneck: one vector cannot hold a long sentence
//
// A translator reads one sequence and writes another, and the two differ in length. Two recurrent nets do it
// (Sutskever, Vinyals & Le 2014; Cho et al. 2014): the *encoder* reads the source to its end, and its last
// state is the *code*; the *decoder* starts from the code and writes one word after another. All that the
// decoder ever learns about the source has to pass through this one vector.
//
// You will: 1 build encoder and decoder from plain ops, feed the decoder what it should have written
// (teacher forcing) or what it wrote (free decoding), and check it; 2 train one to write strings backwards;
// 3 see why its accuracy under teacher forcing flatters it; 4 double the code's width three times and see how
// far each doubling carries.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/core.hpp"
#include "lessons/kit/check/agreement.hpp"
#include "lessons/kit/kit.hpp"
#include "lessons/kit/tasks/gru_step.hpp"
#include "lessons/kit/tasks/reversal.hpp"
#include "lessons/kit/tensors.hpp"
#include "lessons/kit/train/loop.hpp"
#include "nn/seq2seq/seq2seq.hpp"

using namespace tapestry;
using kit::Ids;
using kit::largest, kit::weights_of;

namespace {

// ---- 1. Encoder, code, decoder ----------------------------------------------------------------------------
//
// Both nets are lesson 9's GRU. You have built it; from here on it is kit::gru_step(input, state, weights).

struct Affine {
  Tensor weight, bias;  // (out, in), (out)
  Tensor operator()(const Tensor& x) const { return matmul(x, transpose(weight)) + bias; }
};

// The whole model is four small functions. `words_*` are tables with a vector for each symbol.
//
//     h_0 = 0,  h_t = GRU(x_t, h_{t−1})        code = h_T                          read
//     s_0 = tanh(W code + b)                                                      begin
//     s_t = GRU(e_{t−1}, s_{t−1})              e_{t−1} embeds the symbol before     move on
//     logits_t = O tanh(R s_t + r) + o                                            say
//
// R is a layer of its own between state and symbols, so that what a state keeps and what it says can differ.

struct ByHand {
  Tensor words_in, words_out;  // (V, E) each
  kit::GruWeights reader, writer;
  Affine initial, readout, output;

  /// source (B, T) → the code (B, H). A string that has ended keeps its state: padding must not touch it.
  Tensor read(const Indices& source, const ValidLengths& lengths) const {
    const Tensor x = embedding(words_in, source);  // (B, T, E)
    const Size batch = x.size(0);
    Tensor h = zeros({batch, reader.u.size(1)}, x.dtype());
    for (Size t = 0; t < x.size(1); ++t) {
      const Mask goes_on = Mask::from(batch, 1, [&](Size row, Size) { return t < lengths[row]; });
      h = where(goes_on, kit::gru_step(select(x, 1, t), h, reader), h);
    }
    return h;
  }
  Tensor begin(const Tensor& code) const { return tanh(initial(code)); }
  Tensor move_on(const Indices& words, const Tensor& s) const {
    return kit::gru_step(embedding(words_out, words), s, writer);
  }
  Tensor say(const Tensor& s) const { return output(tanh(readout(s))); }

  // *Teacher forcing*: whatever the decoder would have written, the next step is fed the right symbol. All
  // inputs are known before the first step, and a mistake costs no more than its own place. `words` is
  // <start> y_1 … y_n; the logits at place t are for y_{t+1}. (Three symbols are not letters: <start> opens
  // what is written, <end> closes it, and <pad> fills short rows; in code kit::kStart, kit::kEnd, kit::kPad.)

  /// words (B, T) → logits (B, T, V)
  Tensor forced(const Tensor& code, const Indices& words) const {
    Tensor s = begin(code);
    std::vector<Tensor> logits;
    for (Size t = 0; t < words.shape()[1]; ++t) {
      s = move_on(words.column(t), s);
      logits.push_back(say(s));
    }
    return stack(logits, 1);
  }

  // *Free decoding*: nobody knows the right symbols, so the likeliest one is taken and fed back. This is what
  // the model is for, and it is not what it was trained on; lesson 14 comes back to that.

  /// The symbols of each string, <end> and all that comes after it cut off.
  std::vector<Ids> free(const Tensor& code, Size longest) const {
    const auto batch = static_cast<std::size_t>(code.size(0));
    Tensor s = begin(code);
    Indices words(Ids(batch, kit::kStart), {code.size(0)});
    std::vector<Ids> written(batch);
    std::vector<bool> ended(batch, false);
    for (Size t = 0; t < longest; ++t) {
      s = move_on(words, s);
      words = argmax(say(s));
      const Ids now = words.to_vector();
      for (std::size_t row = 0; row < batch; ++row) {
        if (now[row] == kit::kEnd) ended[row] = true;
        if (!ended[row]) written[row].push_back(now[row]);
      }
    }
    return written;
  }
};

/// nn/'s model of that kind, and its weights for the functions above.
TranslatorOptions sizes(Size vocabulary, Size embedding, Size hidden, Size readout) {
  return {{.vocabulary = vocabulary,
           .embedding = embedding,
           .hidden = hidden,
           .recurrent = {.both_directions = false}},
          {.vocabulary = vocabulary, .embedding = embedding, .hidden = hidden, .readout = readout}};
}

ByHand by_hand(const PlainTranslator& model) {
  const std::vector<Tensor> rnn = model.encoder.rnn.parameters();  // as in lesson 9
  const PlainDecoder& decoder = model.decoder;
  return {model.encoder.embedding.weight,
          decoder.embedding.weight,
          {rnn[0], rnn[1], rnn[2], rnn[3]},
          {decoder.cell.weight_ih, decoder.cell.weight_hh, decoder.cell.bias_ih, decoder.cell.bias_hh},
          {decoder.initial.weight, decoder.initial.bias},
          {decoder.readout.weight, decoder.readout.bias},
          {decoder.output.weight, decoder.output.bias}};
}

// kit::pad fills rows up to a matrix of symbols; kit::teacher_forcing splits targets into what is fed, y_0 …
// y_{n−1}, and what is wanted, y_1 … y_n. cross_entropy leaves out the places whose label is .ignore.

void show_model(std::uint64_t seed, kit::Report& report) {
  PlainTranslator model(sizes(7, 3, 4, 5));
  model.initialise(seed, DType::f64);
  const ByHand ours = by_hand(model);
  const kit::Padded source = kit::pad({{4, 5, 6, kit::kEnd}, {6, 4, kit::kEnd}});
  const kit::Forcing target =
      kit::teacher_forcing(kit::pad({{kit::kStart, 6, 5, 4, kit::kEnd}, {kit::kStart, 4, 6, kit::kEnd}}));
  const Indices read = kit::indices(source), fed = kit::indices(target.input);
  const ValidLengths lengths = kit::valid_lengths(source);

  const auto loss_of = [&](const Tensor& logits) {
    return cross_entropy(logits, kit::indices(target.output), {.ignore = kit::kPad});
  };
  const auto loss_by_hand = [&] { return loss_of(ours.forced(ours.read(read, lengths), fed)); };
  const auto loss_by_nn = [&] { return loss_of(model(read, lengths, fed)); };
  const std::vector<Tensor> weights = model.parameters();
  const GradcheckResult check = gradcheck(loss_by_hand, {}, weights);
  if (!check.ok()) fmt::print("{}", check.report());
  report.check(fmt::format("gradcheck of the whole model, {} derivatives", check.compared), check.ok());

  const double apart =
      kit::farthest(kit::gradients(loss_by_hand, weights, seed), kit::gradients(loss_by_nn, weights, seed));
  const Tensor code = ours.read(read, lengths), code_nn = model.encoder(read, lengths).code();
  const double logits_apart = largest(ours.forced(code, fed) - model(read, lengths, fed));
  fmt::print("  nn/'s PlainTranslator: codes differ by {:.0e}, logits by {:.0e}, gradients by {:.0e}\n",
             largest(code - code_nn), logits_apart, apart);
  report.check("nn/ gives the same to 1e-12",
               largest(code - code_nn) < 1e-12 && logits_apart < 1e-12 && apart < 1e-12);

  // nn/'s free decoding: begin() reads the source, greedy() takes the likeliest symbol each time. A model in
  // training is refused, since there dropout may set some of its numbers to 0 at random; eval() ends that.
  model.eval();
  const std::vector<Decoded> found =
      greedy(*model.begin(read, lengths), {.begin = kit::kStart, .end = kit::kEnd, .max_length = 6});
  const std::vector<Ids> written = ours.free(code, 6);
  report.check("and writes the same freely", found[0].ids == written[0] && found[1].ids == written[1]);
}

// ---- 2. The task ------------------------------------------------------------------------------------------
//
// Write a string backwards. Ten letters, lengths 4 to 24, a fresh batch at every step. In a language half a
// sentence can be guessed from the other half; here nothing can, so every letter has to be in the code: a
// string of 24 letters is one of 10²⁴. (Writing it forwards is harder. Backwards, the first letter to write
// is the last one that was read, and training has a short way to begin with. Sutskever and his colleagues
// turned their English sentences around for that reason.)

using kit::draw_strings, kit::Strings;
constexpr Size kShortest = kit::kShortestString, kLongest = kit::kLongestString,
               kVocabulary = kit::kEnd + 1 + kit::kLetters;

// The loss is cross-entropy under teacher forcing. A batch has strings of one length, so that no step is
// spent on padding. The first loss is near log 14, for the 14 symbols of the vocabulary; near log 10 it waits
// until the first letters come through. All sizes train for the same number of steps on the same strings.

struct Reverser {
  explicit Reverser(Size hidden_in) : hidden(hidden_in), model(sizes(kVocabulary, 32, hidden_in, 64)) {}

  Size hidden;
  PlainTranslator model;
};

// The loop is kit::train from here on: in each step it calls the function below for a loss, runs backward,
// cuts gradients to length 1 and lets Adam step, at a rate that first rises and then falls along half a
// cosine.

void train(Reverser& reverser, const kit::Options& options) {
  constexpr Size kBatch = 32;
  const PlainTranslator& model = reverser.model;
  reverser.model.initialise(options.seed);
  kit::train(reverser.model,
             {.name = fmt::format("hidden {}", reverser.hidden),
              .steps = options.steps,
              .batch = kBatch,
              .seed = options.seed},
             [&](kit::Random random) {
               const Size length = random.between(kShortest, kLongest);
               const Strings strings = draw_strings(random, kBatch, length, length);
               const kit::Forcing forcing = kit::teacher_forcing(strings.targets);
               const Tensor logits = model(kit::indices(strings.sources), kit::valid_lengths(strings.sources),
                                           kit::indices(forcing.input));
               return cross_entropy(logits, kit::indices(forcing.output), {.ignore = kit::kPad});
             });
}

void show_task(const kit::Options& options) {
  const Strings one = kit::test_strings(options.seed, 1, 8);
  const kit::Vocabulary letters = kit::alphabet();
  fmt::print("  read {}, write {}\n", kit::join_words(letters.decode(one.sources.ids)),
             kit::join_words(letters.decode(one.targets.ids)));
}

// ---- 3. Three ways to count -------------------------------------------------------------------------------
//
// A string counts as an *exact match* if every letter is right in free decoding, and <end> comes at its
// place. The share of letters that are right is a milder figure, and milder still is that share under teacher
// forcing, where each letter is asked for after the right ones. Many a paper's training log shows the last.
//
// Up to its first mistake a decoder is fed the same in both ways. So a string is right as a whole in one way
// if it is in the other: teacher forcing can be used to count exact matches, if you count strings. What
// misleads is the letter as the unit. Nine letters right in ten looks good, and with <end> is one whole
// string of 24 letters in fourteen. And look at the two curves of letters: alone, the decoder is fed its
// mistakes, which it never was in training, and the letters after a mistake suffer.

struct Counted {
  double exact = 0, letters = 0;                // in per cent, in free decoding; <end> counts as a letter
  double exact_forced = 0, letters_forced = 0;  // under teacher forcing
};

Counted count(const PlainTranslator& model, std::uint64_t seed, Size length, Size rows) {
  const Strings strings = kit::test_strings(seed, rows, length);
  const kit::Forcing forcing = kit::teacher_forcing(strings.targets);
  const Encoded source = model.encoder(kit::indices(strings.sources), kit::valid_lengths(strings.sources));
  const Indices wanted = kit::indices(forcing.output);  // (rows, length + 1)
  const Indices led = argmax(model.decoder(kit::indices(forcing.input), source));
  const Indices alone = kit::write_freely(model.decoder, source, length + 1);
  return {kit::percent_rows_equal(alone, wanted), kit::percent_equal(alone, wanted),
          kit::percent_rows_equal(led, wanted), kit::percent_equal(led, wanted)};
}

/// A figure of Counted for every length.
kit::Series curve(const std::string& name, const std::vector<Counted>& by_length, double Counted::*figure) {
  kit::Series series{name, {}, {}};
  for (std::size_t i = 0; i < by_length.size(); ++i) {
    series.x.push_back(static_cast<double>(kShortest) + static_cast<double>(i));
    series.y.push_back(by_length[i].*figure);
  }
  return series;
}

std::vector<Counted> count_all(const PlainTranslator& model, const kit::Options& options) {
  std::vector<Counted> by_length;
  for (Size length = kShortest; length <= kLongest; ++length)
    by_length.push_back(count(model, options.seed, length, options.smoke ? 20 : 500));
  return by_length;
}

void show_ways_to_count(const std::vector<Counted>& by_length, Size hidden, const kit::Options& options,
                        kit::Report& report) {
  const Counted& middle = by_length[16 - kShortest];
  report.figure("letters right when forced, length 16", middle.letters_forced, "%");
  report.figure("letters right when free, length 16", middle.letters, "%");
  report.figure("strings right, length 16", middle.exact, "%");
  report.at_least("how far the first flatters, length 16", middle.letters_forced - middle.exact, 30,
                  "points");
  double apart = 0;
  for (const Counted& counted : by_length)
    apart = std::max(apart, std::abs(counted.exact_forced - counted.exact));
  report.at_most("strings right, forced or free: furthest apart", apart, 1, "points");
  kit::Chart chart{
      fmt::format("Three ways to count, hidden {}", hidden), "letters in the string", "right in %", {}, {}};
  chart.series = {curve("letters, forced", by_length, &Counted::letters_forced),
                  curve("letters, free", by_length, &Counted::letters),
                  curve("whole strings", by_length, &Counted::exact)};
  kit::show(chart, options.out / "ways_to_count.svg");
  report.at_most("strings of 24 letters right, hidden 64", by_length.back().exact, 5, "%");
}

// ---- 4. A wider code --------------------------------------------------------------------------------------
//
// The same model with 32, 64, 128 and 256 numbers in its code. We ask each how long a string may be before
// half of them go wrong: where its curve crosses fifty. Each doubling of the code multiplies the weights of
// the two cells by about four, and their work too; what it buys is a few letters. Length keeps its price,
// whatever the width. Lesson 11 does not widen the code: with hidden 64 it looks back at all states, and
// draws its curve beside one like these.

/// Interpolated between two lengths. A curve that starts below fifty gives the shortest length, one that
/// never falls so far the longest.
double half_length(const kit::Series& exact) {
  if (exact.y.front() < 50) return exact.x.front();
  for (std::size_t i = 1; i < exact.y.size(); ++i)
    if (exact.y[i] < 50) return exact.x[i - 1] + (exact.y[i - 1] - 50) / (exact.y[i - 1] - exact.y[i]);
  return exact.x.back();
}

void widen(const std::vector<Counted>& of_64, const kit::Options& options, kit::Report& report) {
  kit::Chart chart{
      "Reversing strings through one vector", "letters in the string", "exact match in %", {}, {}};
  std::vector<double> half;
  fmt::print("   hidden   weights   half accuracy at   exact match at 8      16      24\n");
  for (const Size hidden : {32, 64, 128, 256}) {
    Reverser reverser(hidden);
    if (hidden != 64) train(reverser, options);
    const std::vector<Counted> by_length = hidden == 64 ? of_64 : count_all(reverser.model, options);
    chart.series.push_back(curve(fmt::format("hidden {}", hidden), by_length, &Counted::exact));
    const std::vector<double>& exact = chart.series.back().y;
    half.push_back(half_length(chart.series.back()));
    fmt::print("   {:6}   {:7}   {:16.1f}   {:14.1f} %   {:5.1f}   {:5.1f}\n", hidden,
               weights_of(reverser.model), half.back(), exact[8 - kShortest], exact[16 - kShortest],
               exact[24 - kShortest]);
  }
  for (std::size_t i = 1; i < half.size(); ++i)
    report.at_least(fmt::format("letters gained by hidden {} over {}", 32 << i, 16 << i),
                    half[i] - half[i - 1], 1);
  chart.levels.push_back({50, "half"});
  kit::show(chart, options.out / "lengths.svg");
}

void lesson(const kit::Options& options, kit::Report& report) {
  report.section("Encoder, code, decoder");
  show_model(options.seed, report);

  report.section("The task");
  show_task(options);
  Reverser reverser(64);
  train(reverser, options);

  report.section("Three ways to count");
  const std::vector<Counted> counted = count_all(reverser.model, options);
  show_ways_to_count(counted, 64, options, report);

  report.section("A wider code");
  widen(counted, options, report);
}

}  // namespace

int main(int argc, char** argv) {
  kit::Lesson program("10_bottleneck", "one vector cannot hold a long sentence");
  program.steps(1600, 4);
  return program.run(argc, argv, lesson);
}
