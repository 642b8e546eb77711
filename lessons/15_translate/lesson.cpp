// 15 translate: it works on real language
//
// 20 minutes to read, two minutes to run. Needs lessons 10 (free decoding) and 11 (the translator that looks back).
// Afterwards you can search with a beam, count BLEU, copy words that no dictionary has, and train a translator on a
// small grammar, or with --data on 29,000 real pairs (lessons/real_text.md).
//
// The network is lesson 11's. New is what one does with its probabilities. Which sentence do they say? How
// good is it, where many are right? What if a word is in no dictionary?

#include <algorithm>
#include <cmath>
#include <map>

#include "lessons/15_translate/experiment.hpp"
#include "lessons/kit/check/worked_example.hpp"
#include "optim/parallel/mpi/mpi.hpp"

namespace tapestry::lesson15 {

// ---- 1. Beam search ---------------------------------------------------------------------------------------
// A decoder gives probabilities for the *next* word, given those before. To take the likeliest each time is
// called *greedy*. Here is a table in place of a network: what follows each word, and how probably.
//
//     <begin>: a .6, b .4     a: <end> .2, c .4, d .4     b: <end> .1, c .9     c: <end> .9, a .1
//
//     greedy       a 0.6          →  a c 0.6 · 0.4 = 0.24        →  a c <end> 0.24 · 0.9 = 0.216
//     beam of 2    a 0.6, b 0.4   →  b c 0.4 · 0.9 = 0.36, a c   →  b c <end> 0.36 · 0.9 = 0.324
//
// A *beam* keeps the best few beginnings alive. So b, the less likely first word, leads to the likelier
// sentence, and greedy had left it behind. The table is kNext[w], with the probabilities of all words after
// w; logs of them are summed up, since long products get too small.

struct Beginning {
  std::vector<std::size_t> words;
  double log_probability = 0;
  bool operator<(const Beginning& other) const { return log_probability > other.log_probability; }
};

Beginning search_by_hand(std::size_t beam, int longest) {
  std::vector<Beginning> alive = {{{kFirst}}};
  for (int length = 0; length < longest; ++length) {
    std::vector<Beginning> longer;
    for (const Beginning& beginning : alive) {
      const std::size_t last = beginning.words.back();
      if (last == kLast) longer.push_back(beginning);  // a whole sentence waits
      for (std::size_t word = 0; last != kLast && word < kNext.size(); ++word) {
        if (kNext[last][word] == 0) continue;
        longer.push_back({beginning.words, beginning.log_probability + std::log(kNext[last][word])});
        longer.back().words.push_back(word);
      }
    }
    std::stable_sort(longer.begin(), longer.end());  // likelier first
    longer.resize(std::min(beam, longer.size()));
    alive = std::move(longer);
  }
  return alive.front();
}

// Each word more makes a sentence less likely, so short ones win. So log P is divided by ((5 + n) / 6)^α, n
// words with <end> (Wu et al. 2016). With α = 0.6, five words with P = 0.24 win against two with P = 0.3:
//
//     log 0.3 / (7/6)^0.6 = −1.098              log 0.24 / (10/6)^0.6 = −1.050

void show_beam(kit::Report& report) {
  const Beginning one = search_by_hand(1, 4), two = search_by_hand(2, 4);
  kit::check_worked_example(report, "two searches, and two lengths",
                            {{std::exp(one.log_probability), 0.216},
                             {std::exp(two.log_probability), 0.324},
                             {0.4 * 0.9, 0.36},
                             {std::log(0.3) / std::pow(7.0 / 6, 0.6), -1.098},
                             {std::log(0.24) / std::pow(10.0 / 6, 0.6), -1.050}});
  report.check("nn/decode finds the same sentences",
               nn_finds(one.words, one.log_probability, 1) && nn_finds(two.words, two.log_probability, 2));
}

// ---- 2. BLEU ----------------------------------------------------------------------------------------------
// Many translations are right, so exact match is too strict. BLEU (Papineni et al. 2002) counts runs of 1, 2,
// 3 and 4 words. p_n is the share of the output's runs of n words that stand in the reference as well; but
// each run there can be used up. Of "la la la" for "la maison rouge" one "la" counts, p_1 = 1/3: *clipping*.
// Without it a single safe word, said often, would be perfect. And output that is too short scores less:
//
//     BLEU = 100 · min(1, e^(1 − r/c)) · (p_1 p_2 p_3 p_4)^¼        c, r: words written, in the reference
//
//     "un homme fait du vélo dans une rue" for "… dans la rue": 7 of 8 words, 5 of 7 pairs, 4 of 6, 3 of 5;
//     7/8 · 5/7 · 4/6 · 3/5 = 0.25, its fourth root 0.707: BLEU 70.7
//
// For a corpus, counts are summed up over its sentences first: it is no mean of the sentences' scores.

/// Runs of n words of the output that count.
int matches(const Words& output, const Words& reference, std::ptrdiff_t n) {
  std::map<Words, int> left;  // how often each run may still be used
  int count = 0;
  for (auto i = n; i <= std::ssize(reference); ++i)
    ++left[Words(reference.begin() + i - n, reference.begin() + i)];
  for (auto i = n; i <= std::ssize(output); ++i)
    count += left[Words(output.begin() + i - n, output.begin() + i)]-- > 0;
  return count;
}

double bleu_by_hand(const Words& output, const Words& reference) {  // of four words or more
  const auto c = static_cast<double>(output.size()), r = static_cast<double>(reference.size());
  double product = 1;
  for (int n = 1; n <= 4; ++n) product *= matches(output, reference, n) / (c - n + 1);
  return 100 * std::min(1.0, std::exp(1 - r / c)) * std::pow(product, 0.25);
}

void show_bleu(kit::Report& report) {
  const kit::Question half =
      report.ask("BLEU of a half", "And if only \"un homme fait du\" was written, with nothing wrong in it?",
                 {"it gets less", "it gets more: all its runs stand in the reference", "it gets 50"});
  const Words reference = kit::split_words("un homme fait du vélo dans la rue"),
              whole = kit::split_words("un homme fait du vélo dans une rue");
  const double of_whole = bleu_by_hand(whole, reference);
  kit::check_worked_example(report, "clipping, the four shares, BLEU",
                            {{matches({"la", "la", "la"}, {"la", "maison", "rouge"}, 1) / 3.0, 0.333},
                             {7.0 / 8 * 5 / 7 * 4 / 6 * 3 / 5, 0.25},
                             {std::pow(0.25, 0.25), 0.707},
                             {of_whole, 70.7}});
  const double of_kit = kit::corpus_bleu({whole}, {reference}).score;
  report.check("the kit's BLEU is the same", std::abs(of_kit - of_whole) < 1e-9);
  report.answer(half, 'a', std::abs(bleu_by_hand({"un", "homme", "fait", "du"}, reference) - 36.8) < 0.05,
                "It gets 36.8: all shares are 1, but it is half as long as it should be: times e^(1 − 2).");
}

// ---- 3. Words that are in no dictionary -------------------------------------------------------------------
// A word outside the dictionary, a name above all, is read as <unk>, and what the model learns to write for
// it is <unk>. But it looked somewhere while it wrote it: copy the word there (Luong, Sutskever, Le, Vinyals
// and Zaremba 2015; Jean, Cho, Memisevic and Bengio 2015). Without attention <unk> stays.
//
//     tom sees marie → <unk> voit <unk>, weights .7 .2 .1 and 0 .1 .4 (<end>: .5) → tom voit marie

Translations copy_unknown(Translations translations) {
  for (kit::Translation& each : translations)
    for (std::size_t j = 0; j < each.alignment.size(); ++j) {
      if (each.words[j] != "<unk>") continue;
      const std::vector<double>& weights = each.alignment[j];  // the last one is that of <end>
      const auto most = std::max_element(weights.begin(), weights.end() - 1) - weights.begin();
      each.words[j] = each.source[static_cast<std::size_t>(most)];
    }
  return translations;
}
// ---- 4. Training ------------------------------------------------------------------------------------------
// The grammar's training text holds out some pairs of adjective and noun; its dictionaries have no names. A tenth of
// each target goes to the other words (*label smoothing*), so the loss stays far above 0 even at BLEU 100. The second
// translator has no attention: it gets the encoder's two ends at each step, lesson 11's one vector. A real one
// may have 300 numbers for a word, states of 500 and 10,000 words. A plain RNN's cell has 300 + 500 numbers for each of
// 500 units. The layer that chooses the next word has 500 for each of 10,000: 12.5 times as many, 4.2 times a GRU's.

// ---- 5. New sentences -------------------------------------------------------------------------------------
// Each sentence of the grammar has one right translation, so exact match judges it. An adjective and its noun
// *cross* if French turns them round and each looked at its own word, as in the picture below: "the zone of
// international control" → "la zone de contrôle international". Nobody told it about adjectives.

// ---- 6. The length of the sentence ------------------------------------------------------------------------
// BLEU against the length of the source (Bahdanau, Cho and Bengio 2015, figure 2). Long sentences are two or
// three joined; some are in the grammar's training text, for both translators (--joined 0: none).

// What to remember. A beam keeps several beginnings: the likeliest word may lead to an unlikely sentence.
// BLEU counts runs of words, clipped, over a corpus, and punishes brevity. Attention says which word to copy.
//
// Exercises: lessons/practise 15 (BLEU of a corpus; long and short sentences; figures; few questions).

void lesson(Work work) {
  kit::Report& report = work.report;
  report.section("Beam search");
  show_beam(report);
  report.section("BLEU");
  show_bleu(report);
  report.section("Words that are in no dictionary");
  check_copying(report);
  report.section("Training");
  const auto [rnn, gru] = output_against_cells();
  report.check_quoted("output layer against a plain RNN's cell", rnn, 12.5, 0.001);
  report.check_quoted("output layer against a GRU's", gru, 4.2, 0.01);
  const Asked asked = ask_before_training(work);
  train(work);
  report.section("New sentences");
  test(work, asked);
  show_looks(work);
  report.section("The length of the sentence");
  test_lengths(work, asked);
}

}  // namespace tapestry::lesson15

int main(int argc, char** argv) {
  using namespace tapestry;
  using namespace tapestry::lesson15;
  return run_under_mpi({.timeout = 120}, [&](Communicator& ranks) {
    kit::Lesson program("15_translate", "it works on real language");
    program.runs_on(ranks);
    program.steps(1000, 8);
    kit::TranslatorSettings settings;
    kit::offer(program, settings, kGrammarRecipe, kMulti30kRecipe);
    return program.run(argc, argv, [&](const kit::Options& options, kit::Report& report) {
      if (!prepare(program, options, settings)) return;
      lesson({options, settings, report, folder_of_run(options, settings)});
    });
  });
}
