// 15 translate: translate real language, with beam search, BLEU and copied words
//
// 20 minutes to read, one minute to run. Needs lesson 10 (free decoding) and lesson 11 (the translator with
// attention). Afterwards you can search with a beam, compute BLEU, copy words that are not in the dictionary,
// and train a translator on a small grammar or, with --data, on 29,000 real sentence pairs
// (lessons/real_text.md).
//
// The network is the translator from lesson 11. It computes probabilities for the next word. This chapter is
// about everything around the network. Which sentence do we choose, given these probabilities? How good is that
// sentence, if several translations are right? And what do we do with words that are not in the dictionary?

#include <algorithm>
#include <cmath>
#include <map>

#include "lessons/15_translate/experiment.hpp"
#include "lessons/kit/check/worked_example.hpp"
#include "optim/parallel/mpi/mpi.hpp"

namespace tapestry::lesson15 {

// ---- 1. Beam search ---------------------------------------------------------------------------------------
// A decoder computes the probabilities of the *next* word, given all words before it. A *greedy* search takes
// the most probable word at every step. The sentence that it finds is not always the most probable sentence.
//
// Here is an example with a table in place of the network. For each word, the table lists the words that can
// follow it, with their probabilities:
//
//     <begin>: a .6, b .4             b: <end> .1, c .9         d: <end> .5, a .5
//     a: <end> .2, c .4, d .4         c: <end> .9, a .1
//
// The probability of a beginning of a sentence is the product of the probabilities of its words. Greedy search
// takes a, then c (the first of two equally probable words), then <end>:
//
//     greedy           a 0.6   →   a c 0.6 · 0.4 = 0.24   →   a c <end> 0.24 · 0.9 = 0.216
//
// A *beam search* keeps several beginnings instead of one. Each of them is called a *hypothesis*. At every
// step, the search extends each hypothesis by every possible word, and keeps the most probable results. Here it
// keeps two:
//
//     one word         a 0.6                              b 0.4
//     two words        b c 0.4 · 0.9 = 0.36               a c 0.24
//     three words      b c <end> 0.36 · 0.9 = 0.324       a c <end> 0.216
//
// The first word b is less probable than a, but it leads to the more probable sentence. Greedy search dropped b
// after the first word, and the beam kept it.
//
// In the code, kNext[w] holds the probabilities of all words after w. We add up their logarithms, because a
// product of many probabilities becomes too small for a floating-point number.

struct Hypothesis {
  std::vector<std::size_t> words;
  double log_probability = 0;
  /// Sorts the more probable one first.
  bool operator<(const Hypothesis& other) const { return log_probability > other.log_probability; }
};

Hypothesis search_by_hand(std::size_t beam_size, int longest) {
  std::vector<Hypothesis> beam = {{{kFirst}}};
  for (int length = 0; length < longest; ++length) {
    std::vector<Hypothesis> longer;
    for (const Hypothesis& hypothesis : beam) {
      const std::size_t last = hypothesis.words.back();
      if (last == kLast) longer.push_back(hypothesis);  // a complete sentence stays in the beam unchanged
      for (std::size_t word = 0; last != kLast && word < kNext.size(); ++word) {
        if (kNext[last][word] == 0) continue;
        longer.push_back({hypothesis.words, hypothesis.log_probability + std::log(kNext[last][word])});
        longer.back().words.push_back(word);
      }
    }
    std::stable_sort(longer.begin(), longer.end());
    longer.resize(std::min(beam_size, longer.size()));
    beam = std::move(longer);
  }
  return beam.front();
}

// Every additional word makes a sentence less probable. So a search for the largest probability P prefers short
// sentences. *Length normalisation* corrects this (Wu et al. 2016). Instead of log P, the search compares
//
//     log P / ((5 + n) / 6)^α          n: the number of words, including <end>
//
// α sets the strength of the correction, and α = 0 turns it off. For example, let α = 0.6. One sentence has two
// words and P = 0.3, and another has five words and P = 0.24:
//
//     log 0.3 / (7/6)^0.6 = −1.098              log 0.24 / (10/6)^0.6 = −1.050
//
// −1.050 is the larger number, so the search chooses the sentence of five words.

void show_beam(kit::Report& report) {
  const Hypothesis one = search_by_hand(1, 4), two = search_by_hand(2, 4);
  kit::check_worked_example(report, "two searches and two lengths",
                            {{std::exp(one.log_probability), 0.216},
                             {std::exp(two.log_probability), 0.324},
                             {0.4 * 0.9, 0.36},
                             {std::log(0.3) / std::pow(7.0 / 6, 0.6), -1.098},
                             {std::log(0.24) / std::pow(10.0 / 6, 0.6), -1.050}});
  report.check("nn/decode finds the same sentences",
               nn_finds(one.words, one.log_probability, 1) && nn_finds(two.words, two.log_probability, 2));
}

// ---- 2. BLEU ----------------------------------------------------------------------------------------------
// A sentence can have many right translations, so exact match is too strict. BLEU (Papineni et al. 2002)
// compares the output with a reference translation. It counts *n-grams*: runs of n = 1, 2, 3 and 4
// consecutive words.
//
// The precision p_n is the fraction of the output's n-grams that also occur in the reference. Each n-gram of
// the reference can be matched only once, which is called *clipping*. For the output "la la la" and the
// reference "la maison rouge", only one "la" counts, and p_1 = 1/3. Without clipping, an output that repeats a
// single safe word would have the precision 1.
//
// An output that is too short gets a lower score, by a factor called the *brevity penalty*. Let c be the number
// of words in the output, and r the number in the reference:
//
//     BLEU = 100 · min(1, e^(1 − r/c)) · (p_1 p_2 p_3 p_4)^¼
//
// For example, let the output be "un homme fait du vélo dans une rue", and the reference the same with "la
// rue":
//
//     7 of 8 words match, 5 of 7 pairs, 4 of 6 triples, 3 of 5 runs of four
//     7/8 · 5/7 · 4/6 · 3/5 = 0.25, the fourth root is 0.707, and BLEU is 70.7
//
// For a corpus, the counts of all sentences are summed first. So the BLEU of a corpus is not the mean of the
// BLEU of its sentences.

/// Returns the number of n-grams in the output that match, with clipping.
int matches(const Words& output, const Words& reference, std::ptrdiff_t n) {
  std::map<Words, int> remaining;  // how often each n-gram can still be matched
  int count = 0;
  for (auto i = n; i <= std::ssize(reference); ++i)
    ++remaining[Words(reference.begin() + i - n, reference.begin() + i)];
  for (auto i = n; i <= std::ssize(output); ++i)
    count += remaining[Words(output.begin() + i - n, output.begin() + i)]-- > 0;
  return count;
}

double bleu_by_hand(const Words& output, const Words& reference) {  // at least four words each
  const auto c = static_cast<double>(output.size()), r = static_cast<double>(reference.size());
  double product = 1;
  for (int n = 1; n <= 4; ++n) product *= matches(output, reference, n) / (c - n + 1);
  return 100 * std::min(1.0, std::exp(1 - r / c)) * std::pow(product, 0.25);
}

void show_bleu(kit::Report& report) {
  const kit::Question half = report.ask(
      "BLEU of a half",
      "Suppose the output is only \"un homme fait du\", the first half of the reference. What is its BLEU?",
      {"less than 50", "more than 70.7, because all its n-grams occur in the reference", "exactly 50"});
  const Words reference = kit::split_words("un homme fait du vélo dans la rue"),
              whole = kit::split_words("un homme fait du vélo dans une rue");
  const double of_whole = bleu_by_hand(whole, reference);
  kit::check_worked_example(report, "clipping, the four precisions, BLEU",
                            {{matches({"la", "la", "la"}, {"la", "maison", "rouge"}, 1) / 3.0, 0.333},
                             {7.0 / 8 * 5 / 7 * 4 / 6 * 3 / 5, 0.25},
                             {std::pow(0.25, 0.25), 0.707},
                             {of_whole, 70.7}});
  const double of_kit = kit::corpus_bleu({whole}, {reference}).score;
  report.check("corpus_bleu() from the kit returns the same BLEU", std::abs(of_kit - of_whole) < 1e-9);
  report.answer(half, 'a', std::abs(bleu_by_hand({"un", "homme", "fait", "du"}, reference) - 36.8) < 0.05,
                "Its BLEU is 36.8. All four precisions are 1, but the output is only half as long as the "
                "reference. So the brevity penalty is e^(1 − 2).");
}

// ---- 3. Unknown words -------------------------------------------------------------------------------------
// A word outside the dictionary, such as a name, is replaced by the token <unk> before the encoder sees it. The
// model learns to write <unk> as its translation.
//
// A name is usually the same in both languages, so copying it from the source repairs the translation. But
// which source word belongs to which <unk>? Luong, Sutskever, Le, Vinyals and Zaremba (2015) trained a model
// without attention to write the position of the source word, too. With attention, the weights tell us: we copy
// the source word with the largest weight (Jean, Cho, Memisevic and Bengio 2015). Our translator without
// attention has no weights, so its <unk> stays.
//
//     source     tom sees marie <end>
//     output     <unk> voit <unk>
//     weights    of the first <unk>:     .7 .2 .1  0
//                of the second <unk>:     0 .1 .4 .5
//     copied     tom voit marie
//
// In the second row, <end> has the largest weight. But <end> is not a word to copy, so the code ignores it.

Translations copy_unknown(Translations translations) {
  for (kit::Translation& each : translations)
    for (std::size_t j = 0; j < each.alignment.size(); ++j) {
      if (each.words[j] != "<unk>") continue;
      const std::vector<double>& weights = each.alignment[j];  // the last weight belongs to <end>
      const auto most = std::max_element(weights.begin(), weights.end() - 1) - weights.begin();
      each.words[j] = each.source[static_cast<std::size_t>(most)];
    }
  return translations;
}

// ---- 4. Training ------------------------------------------------------------------------------------------
// By default, we train on sentences of a small English and French grammar. Some pairs of an adjective and a
// noun never occur in the training sentences. The dictionaries contain no names.
//
// The loss uses *label smoothing*: nine tenths of the probability belong to the right word, and the last tenth is
// spread evenly over all words of the dictionary. With these targets, a model that gives the right word the
// probability 1 does not have the smallest loss. So the loss stays far above 0, even when BLEU is 100.
//
// For comparison, we train a second translator without attention. At each step, its decoder gets the last state
// of each direction of the encoder. This is the single vector from lesson 11.
//
// Which part of a translator has the most weights? The program prints a table. In our small translator, these
// are the recurrent layers, because the dictionary has only 116 words.
//
// With a real dictionary, the output layer has more weights than a recurrent cell. Suppose that a word's
// embedding has 300 numbers, a state has 500, and the dictionary has 10,000 words. A plain RNN's cell has
// 300 + 500 weights for each of 500 units. The output layer has 500 weights for each of 10,000 words. That is
// 12.5 times the number in the RNN's cell, and 4.2 times the number in a GRU's cell.

// ---- 5. New sentences -------------------------------------------------------------------------------------
// Each sentence of the grammar has exactly one right translation, so we can use exact match here.
//
// In French, many adjectives of the grammar follow their noun. So French swaps the order of the adjective and
// the noun, and the decoder must swap the order in which it attends to them. The training data does not mark
// adjectives. We say that such a pair *crosses* if two things hold:
//
// - The translation of the sentence is exact.
// - Each of the two French words has its largest weight on the English word that it translates.
//
// The picture of the weights shows an example: "the zone of international control" → "la zone de contrôle
// international".
//
// At seed 1, 100 % of the new sentences are translated exactly. Of the pairs that never occur in the training
// sentences, 99.77 % cross. Here is a sentence with a name, before and after copying:
//
//     marie loves the big women under the round children
//     → <unk> aime les grandes femmes sous les enfants ronds
//     → marie aime les grandes femmes sous les enfants ronds

// ---- 6. BLEU by sentence length ---------------------------------------------------------------------------
// Here is BLEU for different lengths of the source sentence, as in figure 2 of Bahdanau, Cho and Bengio (2015).
// The long sentences consist of two or three sentences joined together. The training text of both translators
// also contains some joined sentences (--joined 0 leaves them out).
//
// At seed 1, BLEU by the number of words in the source is:
//
//      words                     1-5    6-8   9-11  12-14  15-19  20-24  25-29  30-35    36+
//      additive                100.0  100.0  100.0  100.0   99.7   99.9   99.3   99.3   82.8
//      no attention             99.3   92.1   73.4   45.1   27.7   20.4   16.9   13.2   12.1
//
// Without attention, BLEU falls with the length, because one vector must hold the whole sentence. At other
// seeds, the numbers differ, but both lines have the same shape.

// What to remember. A beam search keeps several beginnings, because the most probable first word may lead to a
// less probable sentence. BLEU counts matching n-grams over a corpus, with clipping, and penalises short
// output. The attention weights tell us which source word to copy for an unknown word.
//
// Exercises: lessons/practise 15 (BLEU of a corpus; a search that prefers short sentences; BLEU, beams and
// copied words by hand; the most probable sentence with few calls).

void lesson(Work work) {
  kit::Report& report = work.report;
  report.section("Beam search");
  show_beam(report);
  report.section("BLEU");
  show_bleu(report);
  report.section("Unknown words");
  check_copying(report);
  report.section("Training");
  const auto [rnn, gru] = output_against_cells();
  report.check_quoted("output layer's weights / plain RNN cell's weights", rnn, 12.5, 0.001);
  report.check_quoted("output layer's weights / GRU cell's weights", gru, 4.2, 0.01);
  const Asked asked = ask_before_training(work);
  train(work);
  report.section("New sentences");
  test(work, asked);
  show_looks(work);
  report.section("BLEU by sentence length");
  test_lengths(work, asked);
}

}  // namespace tapestry::lesson15

int main(int argc, char** argv) {
  using namespace tapestry;
  using namespace tapestry::lesson15;
  return run_under_mpi({.timeout = 120}, [&](Communicator& ranks) {
    kit::Lesson program("15_translate", "translate real language, with beam search, BLEU and copied words");
    program.runs_on(ranks);
    program.steps(1000, 8);
    kit::TranslatorSettings settings;
    kit::add_options(program, settings, kGrammarRecipe, kMulti30kRecipe);
    return program.run(argc, argv, [&](const kit::Options& options, kit::Report& report) {
      if (!prepare(program, options, settings)) return;
      lesson({options, settings, report, folder_of_run(options, settings)});
    });
  });
}
