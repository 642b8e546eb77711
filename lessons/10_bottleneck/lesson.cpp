// 10 bottleneck: how much one vector can hold
//
// 15 minutes to read, 30 seconds to run. Needs lesson 09 (the GRU) and lesson 03 (cross-entropy, Adam).
// Afterwards you can build an encoder and a decoder, train them with teacher forcing, decode freely, and tell which
// number in a training log looks better than the model is.
//
// A translator reads one sequence and writes another. Two recurrent networks can do it (Sutskever, Vinyals & Le
// 2014; Cho et al. 2014). An *encoder* reads the input sequence, and its last state is called the *code*. A *decoder*
// starts from the code and writes one symbol after another. So the code, a single vector, must carry the whole input.
// How long a string fits into it?

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
// Suppose that the letters are the digits 0 … 9, and that the state is a single number h. Here is one way to store a
// string in h:
//
//     encoder   h ← 10 h + x for each letter x, from h = 0
//     decoder   write the last digit of h, then remove it from h, and repeat
//
//     reading 4, 7, 2:   h = 4, 47, 472          writing:   2, 7, 4
//
// The code 472 has the whole string in it, and the decoder writes the string backwards. (It must also know the length:
// the strings 4, 7 and 0, 4, 7 have the same code, 47.)
//
// A double stores every integer of up to 15 digits exactly, and a float stores every integer of up to 7 digits. So 64
// doubles could hold 960 letters. Our models compute with floats, and 64 floats could hold 448 letters.

void one_number(kit::Report& report) {
  double h = 0;
  for (const double x : {4, 7, 2}) h = 10 * h + x;
  kit::check_worked_example(report, "a string in one number",
                            {{h, 472}, {std::fmod(h, 10), 2}, {std::fmod(std::floor(h / 10), 10), 7}});
}

// ---- 2. Encoder, code, decoder ----------------------------------------------------------------------------
// Our encoder and decoder have to learn how to store a string. Both are GRUs from lesson 09; from here on, the code
// calls kit::gru_step(input, state, weights). Their inputs x and e are *embeddings*: rows of a table that has one
// learned vector per symbol. ByHand, below, has one function per line of this table:
//
//     read       h_0 = 0,  h_t = GRU(x_t, h_{t−1}),  code = h_T
//     begin      s_0 = tanh(W code + b)
//     move_on    s_t = GRU(e_{t−1}, s_{t−1})                e_{t−1} is the embedding of the symbol before y_t
//     say        logits_t = O tanh(R s_t + r) + o           one logit for each symbol that y_t can be
//
// Here y_t is the t-th symbol of the output. W, R and O are learned matrices, and b, r and o are their biases. With W,
// the decoder's first state can be a learned function of the code, and it could have another width. With R, each
// prediction has a hidden layer between the state and the logits.
//
// Four symbols are not letters. <start> is the decoder's first input, and <end> says that the string is over
// (kit::kStart, kEnd). The input of the encoder ends with <end>, too. <pad> is padding, and <unk> replaces words that
// are not in a vocabulary.

struct ByHand {
  const PlainTranslator& nn;  // the library's model: we use its weights, but compute each step ourselves
  kit::GruWeights reader = gru_weights(nn.encoder.rnn), writer = gru_weights(nn.decoder.cell);

  /// Takes source (B, T), B strings of T symbols. Returns the code (B, H). E is the width of an embedding, and H the
  /// number of units.
  Tensor read(const Indices& source) const {
    const Tensor x = embedding(nn.encoder.embedding.weight, source);  // (B, T, E)
    Tensor h = zeros({x.size(0), nn.encoder.rnn.hidden()}, x.dtype());
    for (Size t = 0; t < x.size(1); ++t) h = kit::gru_step(select(x, 1, t), h, reader);
    return h;
  }
  Tensor begin(const Tensor& code) const { return tanh(nn.decoder.initial(code)); }
  Tensor move_on(const Indices& symbols, const Tensor& s) const {
    return kit::gru_step(embedding(nn.decoder.embedding.weight, symbols), s, writer);
  }
  Tensor say(const Tensor& s) const { return nn.decoder.output(tanh(nn.decoder.readout(s))); }

  // In training, the input of each decoder step is the *right* previous symbol, whatever the decoder would write
  // itself. This is *teacher forcing*. For the output "b a":
  //
  //     input                <start>     b        a
  //     target                  b        a      <end>
  //     its probability        0.5      0.8      0.9
  //     −log of it           0.693    0.223    0.105      mean 0.341: the loss
  //
  // The whole string has the probability 0.5 · 0.8 · 0.9 = 0.36, which equals e^(−3 · 0.341).

  /// Takes symbols (B, T): <start> y_1 …. Returns logits (B, T, V) for y_1 y_2 …, where V is the number of symbols.
  Tensor forced(const Tensor& code, const Indices& symbols) const {
    Tensor s = begin(code);
    std::vector<Tensor> logits;
    for (Size t = 0; t < symbols.shape()[1]; ++t) {
      s = move_on(symbols.column(t), s);
      logits.push_back(say(s));
    }
    return stack(logits, 1);  // stacks them along a new axis 1
  }

  // In use, the right symbols are unknown. The input of each step is then the most likely symbol of the previous step,
  // until this symbol is <end>. We call this *free decoding*.

  /// Takes the code of one string, (1, H). Returns its symbols (Ids is a list of integers).
  Ids free(const Tensor& code, std::size_t longest) const {
    Tensor s = begin(code);
    Ids written;
    for (std::int64_t symbol = kit::kStart; written.size() < longest; written.push_back(symbol)) {
      s = move_on({symbol}, s);
      symbol = argmax(say(s)).to_vector().front();
      if (symbol == kit::kEnd) break;
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
  model.eval();  // greedy(), the library's free decoding, requires evaluation mode
  const std::vector<Decoded> found =
      greedy(*model.begin(source, {}), {.begin = kit::kStart, .end = kit::kEnd, .max_length = 6});
  report.check("free() writes the same symbols as nn/'s greedy()",
               ours.free(slice(ours.read(source), 0, 0, 1), 6) == found[0].ids);
}

// ---- 3. Three measures of success -------------------------------------------------------------------------
// The task is to write random strings of 4 to 24 letters backwards. There are ten letters, a to j, so a guess is right
// for one letter in ten. A training step of train() (in experiment.cpp) draws 32 strings of one length. A string of n
// letters gives:
//
//     source    x_1 x_2 … x_n <end>
//     input     <start> y_1 … y_n
//     target    y_1 … y_n <end>
//     loss      cross_entropy(model(source, input), target)
//
// Adam trains each model for 1600 steps. Then we measure success in three ways:
//
// - the percentage of right letters under teacher forcing;
// - the percentage of right letters in free decoding;
// - the percentage of strings that are right as a whole in free decoding, including <end> (*exact match*).
//
// We compare the letters position by position, and <end> counts as a letter. To have a letter at each position, we
// continue free decoding after <end>.

std::vector<Counted> three_ways(const kit::Options& options, kit::Report& report) {
  const kit::Question room = report.ask(
      "24 letters",
      "A code of 64 floats could hold 448 letters. After 1600 training steps, what percentage of the strings of 24 "
      "letters is an exact match?",
      {"nearly 100 %", "about 50 %", "nearly 0 %"});
  const kit::Question forced = report.ask(
      "strings under teacher forcing",
      "Under teacher forcing, a mistake does not change the input of the next step. Is the percentage of exact "
      "matches higher than in free decoding?",
      {"yes, much higher", "no, it is the same"});
  Reverser reverser(64);
  train(reverser, options);
  const std::vector<Counted> counted = count_all(reverser, options);
  write_one(reverser, options);
  draw_ways_to_count(counted, 64, options);

  report.at_most("exact match at length 24, hidden 64", at_length(counted, 24).exact, 5, "%");
  report.answer(room, 'c', at_length(counted, 24).exact <= 5,
                "A vector could hold far more than these 1600 steps teach this model to store in it.");
  const Counted& middle = at_length(counted, 16);
  report.figure("letters right when forced, length 16", middle.letters_forced, "%");
  report.figure("letters right when free, length 16", middle.letters, "%");
  report.at_least("letters right when forced minus exact match", middle.letters_forced - middle.exact, 30,
                  "points");
  const double apart = furthest_apart(counted);  // whole strings, forced and free
  report.at_most("exact match, forced minus free: largest difference", apart, 1, "points");
  report.answer(
      forced, 'b', apart <= 1,
      "Up to its first mistake, a decoder gets the same inputs in both ways. So a string is right in both ways or in "
      "neither. The percentage of right letters is higher than exact match, above all under teacher forcing.");
  return counted;
}

// At seed 1, the program prints one string of 16 letters, its target, and what the decoder writes. (· is <end>.)
//
//     source   h e j g j f h g i c b g a i i d ·
//     target   d i i a g b c i g h f j g j e h ·
//     forced   i i i g g b c i g h · j g j h h ·
//     free     i d i g d a b c h · a · f h · · f
//
// Under teacher forcing, there is a prediction for each symbol of the target, also after a wrong <end>.
//
// At seed 1 and length 16, 65.76 % of the letters are right under teacher forcing, and 35.39 % in free decoding. But
// 0 % of the strings are right as a whole.
//
// So a training log that says "two of three letters are right" may belong to a model that writes no string correctly.
//
// (In free decoding, a wrong symbol becomes an input, which never happens under teacher forcing. Lesson 14 returns to
// this.)

// ---- 4. A wider code --------------------------------------------------------------------------------------
// Does a wider code help? We train models with 32, 64, 128 and 256 units for 1600 steps each. Each doubling gives the
// GRUs three to four times as many weights. For each model, we measure the *half length*: the length at which half of
// the strings are exact matches.

void wider(const std::vector<Counted>& of_64, const kit::Options& options, kit::Report& report) {
  const kit::Question doubled = report.ask(
      "twice the units",
      "If the code has twice as many units, by how much does the half length after 1600 steps grow?",
      {"by a few letters", "it doubles", "not at all"});
  const std::vector<Width> widths = widen(of_64, options);
  report.answer(
      doubled, 'a', few_letters_more(widths, report),
      "With the same number of training steps, each further letter needs many more units. In lesson 11, the "
      "decoder looks back at all states of the encoder instead.");
}

// At seed 1, the table of the four models is:
//
//      hidden   weights        half length   exact match at 8      16      24
//          32     17646                6.3             19.2 %     0.0     0.0
//          64     47758                8.2             55.0 %     0.0     0.0
//         128    150990               10.5             88.8 %     1.0     0.0
//         256    529486               13.7             98.0 %    20.4     0.0
//
// From row to row, the number of all weights about triples, but the half length grows by two or three letters only. The
// report checks that it grows at every doubling.
//
// Is the code too small, or the training too short? This table cannot tell, because all models have the same number of
// steps. With --steps 6400 at seed 1, the model with 64 units reaches a half length of 14 letters, as the model with
// 256 units does after 1600 steps. So a code of 64 numbers can hold more letters, but the model takes long to learn it.
// And even then, no string of 24 letters is right.

// What to remember. An encoder reads a sequence into one vector, the code, and a decoder writes a sequence from it.
// Under teacher forcing, the decoder's input is the right symbol; in free decoding, it is the symbol that the decoder
// wrote. Measure whole strings, not letters.
//
// Exercises: lessons/practise 10 (the loss under teacher forcing; free decoding of a batch; accuracy of letters and
// strings).

void lesson(const kit::Options& options, kit::Report& report) {
  report.section("A string in one number");
  one_number(report);
  report.section("Encoder, code, decoder");
  model_by_hand(options.seed, report);
  report.section("Three measures of success");
  const std::vector<Counted> counted = three_ways(options, report);
  report.section("A wider code");
  wider(counted, options, report);
}
}  // namespace

int main(int argc, char** argv) {
  kit::Lesson program("10_bottleneck", "how much one vector can hold");
  program.steps(1600, 4);
  return program.run(argc, argv, lesson);
}
