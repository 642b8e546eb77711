// 10 bottleneck: one vector cannot hold a long sentence
//
// 15 minutes to read, 30 seconds to run. Needs lesson 09 (the GRU) and lesson 03 (cross-entropy, Adam).
// Afterwards you can build an encoder and a decoder, train them with teacher forcing, let them write on their
// own, and say which figure of a training log flatters.
//
// A translator reads one sequence and writes another. Two recurrent nets can do it (Sutskever, Vinyals & Le
// 2014; Cho et al. 2014): an *encoder* reads, and its last state is the *code*; a *decoder* starts from the
// code and writes symbol after symbol. How much fits into this one vector?

#include <cmath>

#include "core/core.hpp"
#include "lessons/10_bottleneck/experiment.hpp"
#include "lessons/kit/check/by_hand.hpp"
#include "lessons/kit/check/worked_example.hpp"
#include "lessons/kit/kit.hpp"

using namespace tapestry;
using namespace tapestry::lesson10;

namespace {

// ---- 1. A string in one number ----------------------------------------------------------------------------
// Take the digits 0 … 9 as letters, and one number h as the whole state:
//
//     read x:      h ← 10 h + x             from h = 0
//     write:       x = the last digit of h,  h ← h without it
//
//     reading 4, 7, 2:   h = 4, 47, 472          writing:   2, 7, 4
//
// The code 472 *is* the string, and comes out backwards. A double keeps whole numbers of 15 digits exactly,
// so 64 of them would hold 960 letters.

void one_number(kit::Report& report) {
  double h = 0;
  for (const double x : {4, 7, 2}) h = 10 * h + x;
  kit::check_worked_example(report, "a string in one number",
                            {{h, 472}, {std::fmod(h, 10), 2}, {std::fmod(std::floor(h / 10), 10), 7}});
}

// ---- 2. Encoder, code, decoder ----------------------------------------------------------------------------
// The nets must learn a way of their own. Both are GRUs, lesson 09's, from here on kit::gru_step(input,
// state, weights). x and e are *embeddings*: rows of a table that has a learned vector for each symbol.
// Below, ByHand has a function for each line:
//
//     read       h_0 = 0,  h_t = GRU(x_t, h_{t−1}),  code = h_T
//     begin      s_0 = tanh(W code + b)
//     move_on    s_t = GRU(e_{t−1}, s_{t−1})                e_{t−1} embeds the symbol before y_t
//     say        logits_t = O tanh(R s_t + r) + o           a number for each symbol that y_t may be
//
// Four symbols are no letters: <start> goes in first, <end> says that the string is over (kit::kStart, kEnd);
// <pad> fills short rows, and <unk> stands for words that a vocabulary lacks.

struct ByHand {
  const PlainTranslator& nn;  // nn/'s model of this kind, for its weights: tables and linear layers W x + b
  kit::GruWeights reader = gru_weights(nn.encoder.rnn), writer = gru_weights(nn.decoder.cell);

  /// source (B, T), strings of one length → the code (B, H)
  Tensor read(const Indices& source) const {
    const Tensor x = embedding(nn.encoder.embedding.weight, source);  // (B, T, E)
    Tensor h = zeros({x.size(0), nn.encoder.rnn.hidden()}, x.dtype());
    for (Size t = 0; t < x.size(1); ++t) h = kit::gru_step(select(x, 1, t), h, reader);
    return h;
  }
  Tensor begin(const Tensor& code) const { return tanh(nn.decoder.initial(code)); }
  Tensor move_on(const Indices& words, const Tensor& s) const {
    return kit::gru_step(embedding(nn.decoder.embedding.weight, words), s, writer);
  }
  Tensor say(const Tensor& s) const { return nn.decoder.output(tanh(nn.decoder.readout(s))); }

  // In training the decoder is fed the *right* symbol, whatever it would write: *teacher forcing*. For "b a":
  //
  //     fed                  <start>     b        a
  //     wanted                  b        a      <end>
  //     its probability        0.5      0.8      0.9
  //     −log of it           0.693    0.223    0.105      mean 0.341: the loss
  //
  // The whole string has the probability 0.5 · 0.8 · 0.9 = 0.36, which is e^(−3 · 0.341).

  /// words (B, T): <start> y_1 … → logits (B, T, V) for y_1 y_2 …
  Tensor forced(const Tensor& code, const Indices& words) const {
    Tensor s = begin(code);
    std::vector<Tensor> logits;
    for (Size t = 0; t < words.shape()[1]; ++t) {
      s = move_on(words.column(t), s);
      logits.push_back(say(s));
    }
    return stack(logits, 1);  // side by side along a new axis
  }

  // Later nobody knows the right symbols: the likeliest is fed back, until it is <end>: *free decoding*.

  /// One string, code (1, H) → its symbols (Ids: a list of whole numbers).
  Ids free(const Tensor& code, std::size_t longest) const {
    Tensor s = begin(code);
    Ids written;
    for (std::int64_t word = kit::kStart; written.size() < longest; written.push_back(word)) {
      s = move_on({word}, s);
      word = argmax(say(s)).to_vector().front();
      if (word == kit::kEnd) break;
    }
    return written;
  }
};

void model_by_hand(std::uint64_t seed, kit::Report& report) {
  const double loss = -std::log(0.5 * 0.8 * 0.9) / 3;
  kit::check_worked_example(report, "−log",
                            {{-std::log(0.5), 0.693}, {-std::log(0.8), 0.223}, {-std::log(0.9), 0.105}});
  kit::check_worked_example(report, "the loss of \"b a\"", {{loss, 0.341}, {std::exp(-3 * loss), 0.36}});
  PlainTranslator model(sizes(7, 3, 4, 5));
  model.initialise(seed, DType::f64);
  const ByHand ours{model};
  const Indices source(Ids{4, 5, 6, kit::kEnd, 6, 4, 4, kit::kEnd}, {2, 4});
  const Indices fed(Ids{kit::kStart, 6, 5, kit::kStart, 4, 4}, {2, 3});
  kit::check_by_hand(
      report, "read() and forced()", [&] { return ours.forced(ours.read(source), fed); },
      [&] { return model(source, {}, fed); }, model.parameters(), seed);
  model.eval();  // as nn/'s search asks: no dropout, if the model had any
  const std::vector<Decoded> found =
      greedy(*model.begin(source, {}), {.begin = kit::kStart, .end = kit::kEnd, .max_length = 6});
  report.check("free() writes what nn/'s greedy() writes",
               ours.free(slice(ours.read(source), 0, 0, 1), 6) == found[0].ids);
}

// ---- 3. Three ways to count -------------------------------------------------------------------------------
// The task: write random strings of 4 to 24 letters backwards. Success can be counted in three ways: letters
// that are right under teacher forcing, letters that are right in free decoding, and whole strings in free
// decoding, <end> included (*exact match*).

std::vector<Counted> three_ways(const kit::Options& options, kit::Report& report) {
  const kit::Question room = report.ask(
      "24 letters",
      "64 numbers have room for 960 letters. After training, how many strings of 24 come back whole?",
      {"nearly all", "about half", "hardly any"});
  const kit::Question forced = report.ask(
      "strings under teacher forcing",
      "Under teacher forcing a mistake does not spoil the next letter. Does it get more whole strings right?",
      {"yes, many more", "no, as many"});
  Reverser reverser(64);
  train(reverser, options);
  const std::vector<Counted> counted = count_all(reverser, options);
  write_one(reverser, options);
  draw_ways_to_count(counted, 64, options);

  report.at_most("strings of 24 letters right, hidden 64", at_length(counted, 24).exact, 5, "%");
  report.answer(room, 'c', at_length(counted, 24).exact <= 5,
                "What a vector could hold and what training teaches a net to hold in it are two things.");
  const Counted& middle = at_length(counted, 16);
  report.figure("letters right when forced, length 16", middle.letters_forced, "%");
  report.figure("letters right when free, length 16", middle.letters, "%");
  report.at_least("how far forced letters flatter", middle.letters_forced - middle.exact, 30, "points");
  const double apart = furthest_apart(counted);  // whole strings, forced and free
  report.at_most("strings right, forced or free: furthest apart", apart, 1, "points");
  report.answer(
      forced, 'b', apart <= 1,
      "Up to its first mistake a decoder is fed the same in both ways. Letters flatter, most of all "
      "under teacher forcing.");
  return counted;
}

// A log that says "two letters of three are right" may belong to a model that writes no string right. (In
// free decoding a mistake is fed, as never in training. Lesson 14 comes back to that.)

// ---- 4. A wider code --------------------------------------------------------------------------------------
// So widen the code: 32, 64, 128 and 256 units, each time with about four times the weights in the GRUs. How
// long may a string be before half of them go wrong?

void wider(const std::vector<Counted>& of_64, const kit::Options& options, kit::Report& report) {
  const kit::Question doubled = report.ask(
      "twice the units", "What does a doubling of the code buy?",
      {"a few letters more", "strings twice as long", "nothing: the steps of training are the limit"});
  const std::vector<Width> widths = widen(of_64, options);
  report.answer(doubled, 'a', few_letters_more(widths, report),
                "Each further letter has its price. Lesson 11 looks back at all states instead.");
}

// What to remember. An encoder reads, a decoder writes, and what passes between them is one vector. Teacher
// forcing feeds the right symbol, free decoding the one that was written. Count whole strings.
//
// Exercises: lessons/practise 10 (the loss under teacher forcing; a decoder on its own; letters and strings).

void lesson(const kit::Options& options, kit::Report& report) {
  report.section("A string in one number");
  one_number(report);
  report.section("Encoder, code, decoder");
  model_by_hand(options.seed, report);
  report.section("Three ways to count");
  const std::vector<Counted> counted = three_ways(options, report);
  report.section("A wider code");
  wider(counted, options, report);
}
}  // namespace

int main(int argc, char** argv) {
  kit::Lesson program("10_bottleneck", "one vector cannot hold a long sentence");
  program.steps(1600, 4);
  return program.run(argc, argv, lesson);
}
