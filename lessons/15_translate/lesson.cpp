// 15 translate: it works on real language
//
// The translator of lesson 11 is not a toy. This lesson trains it on sentences: by itself on a small grammar
// that writes English with its French, and with --data on 29,000 real pairs that describe pictures
// (Multi30k). Three things are new, and all of them are about *using* a model: beam search, BLEU, and words
// that are in no dictionary.
//
// You will: 1 search with a beam by hand; 2 count BLEU by hand; 3 copy the words that the model cannot know;
// 4 see where a translator's weights are; 5 train one with attention and one without, on the grammar or on
// real sentences; 6 test them on new sentences; 7 see both against the length of the sentence; 8 see where
// the first one looked.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/core.hpp"
#include "lessons/15_translate/length_curves.hpp"
#include "lessons/15_translate/options.hpp"
#include "lessons/15_translate/train_each.hpp"
#include "lessons/kit/kit.hpp"
#include "lessons/kit/text/utf8.hpp"
#include "lessons/kit/translation/bleu.hpp"
#include "lessons/kit/translation/grammar_corpus.hpp"
#include "lessons/kit/translation/saved.hpp"
#include "nn/linear.hpp"

using namespace tapestry;
using kit::Corpus;
using kit::GrammarSplit;
using kit::Translation;
using kit::TranslatorPlan;
using kit::Words;

namespace {

// ---- 1. Beam search --------------------------------------------------------------------------------------
//
// A decoder gives probabilities for the *next* word. Taking the likeliest each time (greedy) can walk into a
// corner: here a first word of probability 0.6 leads to sentences of at most 0.6 · 0.4, while the one of 0.4
// leads to 0.4 · 0.9. A beam keeps the best few beginnings alive. The whole of it, for a table of
// probabilities in place of a network:

constexpr std::int64_t kBegin = 0, kEnd = 1;
using Row = std::vector<double>;
// next[w]: probabilities of <begin>, <end>, "a", "b", "c", "d" after the word w.
const std::vector<Row> kNext = {{0, 0, .6, .4, 0, 0}, {0, 1, 0, 0, 0, 0},   {0, .2, 0, 0, .4, .4},
                                {0, .1, 0, 0, .9, 0}, {0, .9, .1, 0, 0, 0}, {0, .5, .5, 0, 0, 0}};

struct Beginning {
  std::vector<std::int64_t> words;
  double log_probability = 0;
  bool ended = false;
};

Beginning search_by_hand(std::size_t beam, std::size_t longest) {
  std::vector<Beginning> alive = {{{kBegin}, 0, false}};
  for (std::size_t length = 0; length < longest; ++length) {
    std::vector<Beginning> longer;
    for (const Beginning& beginning : alive) {
      if (beginning.ended) {
        longer.push_back(beginning);
        continue;
      }
      const Row& next = kNext[static_cast<std::size_t>(beginning.words.back())];
      for (std::size_t word = 0; word < next.size(); ++word) {
        if (next[word] == 0) continue;
        Beginning more = beginning;
        more.words.push_back(static_cast<std::int64_t>(word));
        more.log_probability += std::log(next[word]);
        more.ended = static_cast<std::int64_t>(word) == kEnd;
        longer.push_back(std::move(more));
      }
    }
    std::stable_sort(longer.begin(), longer.end(), [](const Beginning& a, const Beginning& b) {
      return a.log_probability > b.log_probability;
    });
    if (longer.size() > beam) longer.resize(beam);
    alive = std::move(longer);
  }
  return alive.front();
}

// nn/decode.hpp searches any StepModel: it hands in the last word of each living beginning, a row each, and
// gets a score for every next word. keep_rows says which beginnings live on. It also makes up for length.
// Each word more makes a sentence less likely, so that the likeliest are the short ones; log P is therefore
// divided by ((5 + words) / 6)^α (Wu et al. 2016). α is .length_power, 0 here, to agree with ours.

/// The same table as a StepModel. It keeps nothing but the number of rows: the last word says it all.
class Table final : public StepModel {
 public:
  Size rows() const override { return rows_; }
  Step step(const Indices& words) override {
    std::vector<double> logits;
    for (const std::int64_t word : words.to_vector())
      for (const double p : kNext[static_cast<std::size_t>(word)])
        logits.push_back(p > 0 ? std::log(p) : -1e30);
    return {tensor(logits, {words.count(), static_cast<Size>(kNext.size())}, DType::f64), {}};
  }
  void keep_rows(const std::vector<Size>& rows) override { rows_ = static_cast<Size>(rows.size()); }

 private:
  Size rows_ = 1;
};

void show_beam(kit::Report& report) {
  const char* names[] = {"<begin>", "<end>", "a", "b", "c", "d"};
  bool same = true;
  for (const Size beam : {1, 2}) {
    const Beginning by_hand = search_by_hand(static_cast<std::size_t>(beam), 4);
    Table table;
    const Decoded found =
        beam_search(table, {.begin = kBegin, .end = kEnd, .max_length = 4, .beam = beam, .length_power = 0})
            .front();
    std::string text;
    for (const std::int64_t word : by_hand.words) text += fmt::format(" {}", names[word]);
    fmt::print("  beam of {}: {:<22} probability {:.3f}\n", beam, text, std::exp(by_hand.log_probability));
    same = same && std::abs(found.log_probability - by_hand.log_probability) < 1e-12 &&
           found.ids.size() + 2 == by_hand.words.size();
  }
  report.check("nn/decode finds the same sentences", same);
}

// ---- 2. BLEU ---------------------------------------------------------------------------------------------
//
// Many translations are right, so exact match is too strict for real text. BLEU (Papineni et al. 2002) counts
// which runs of 1, 2, 3 and 4 words of the output also stand in a reference, takes the geometric mean of the
// four shares, and punishes output that is too short (precision alone would love a single safe word):
//
//     BLEU = 100 · min(1, e^(1 − r/c)) · (p₁ p₂ p₃ p₄)^¼        c, r: words written, words in the reference

void show_bleu(kit::Report& report) {
  const Words reference = kit::split_words("un homme fait du vélo dans la rue"),
              output = kit::split_words("un homme fait du vélo dans une rue");
  // By hand: 7 of 8 words, 5 of 7 pairs, 4 of 6 triples, 3 of 5 runs of four; the length is right.
  const double by_hand = 100 * std::pow(7.0 / 8 * 5 / 7 * 4 / 6 * 3 / 5, 0.25);
  const kit::Bleu bleu = kit::corpus_bleu({output}, {reference});
  fmt::print("  \"{}\" for \"{}\": {}\n", kit::join_words(output), kit::join_words(reference), bleu.text());
  report.check("BLEU as counted by hand", std::abs(bleu.score - by_hand) < 1e-9);
}

// ---- 3. Words that are in no dictionary ------------------------------------------------------------------
//
// A dictionary ends somewhere. A word outside it, a name above all, is read as <unk>, and what the model
// learns to write for an <unk> is <unk>. But it looked somewhere while it wrote it! That word is the unknown
// one; copy it (Luong, Sutskever, Le, Vinyals and Zaremba 2015; Jean, Cho, Memisevic and Bengio 2015, who
// first ask a dictionary for it). Names come out right, and so does what both languages spell alike. A
// decoder without attention looks nowhere, and its <unk> stays.

std::vector<Translation> copy_unknown(std::vector<Translation> translations) {
  for (Translation& each : translations)
    for (std::size_t j = 0; j < each.alignment.size(); ++j) {
      if (each.words[j] != "<unk>") continue;
      const std::vector<double>& weights = each.alignment[j];  // the last one is that of <end>
      const auto most = std::max_element(weights.begin(), weights.end() - 1) - weights.begin();
      each.words[j] = each.source[static_cast<std::size_t>(most)];
    }
  return translations;
}

void show_copying(kit::Report& report) {
  const Translation written = {{"tom", "sees", "marie"},
                               {"<unk>", "voit", "<unk>"},
                               {{.7, .2, .1, 0}, {.2, .8, 0, 0}, {0, .1, .4, .5}}};
  const Translation copied = copy_unknown({written}).front();
  fmt::print("  \"{}\": \"{}\" becomes \"{}\"\n", kit::join_words(written.source),
             kit::join_words(written.words), kit::join_words(copied.words));
  report.check("each <unk> became the word that it looked at", copied.words == Words{"tom", "voit", "marie"});
}

// ---- 4. The model, and where its weights are -------------------------------------------------------------
//
// Nothing here is new: encoder in both directions, Bahdanau's decoder, and any of lesson 12's scores
// (--score). A dot product wants a query as wide as its keys; so for scaled_dot the encoder gets half the
// width each way. For --score none the decoder gets the encoder's two ends at every step, as lesson 11's one
// vector.
//
// How large is a real one? Take 300 numbers for a word, states of 500, and a dictionary of 10,000 words. A
// plain RNN's cell reads 300 + 500 numbers for each of its 500 units. The layer that chooses the next word
// reads 500 for each of 10,000 words: 12.5 times as many weights, and still 4.2 times as many as a GRU's.
// With so many words most of a translator is its dictionaries; with the grammar's hundred they are a small
// part of the model below. (With --data, --embedding 300 --hidden 500 --readout 500 --untied
// --at-least 1 trains one of that size.)

void show_sizes(kit::Report& report) {
  const auto weights = [](const RecurrentCell& cell) {
    return static_cast<double>(cell.weight_ih.count() + cell.weight_hh.count());
  };
  const double rnn = weights(RNNCell(300, 500)), gru = weights(GRUCell(300, 500)),
               output = static_cast<double>(Linear(500, 10'000).weight.count());
  fmt::print("  RNN {:.0f}, GRU {:.0f}, output {:.0f} weights (biases not counted)\n", rnn, gru, output);
  report.quoted("output layer against a plain RNN's cell", output / rnn, 12.5, 0.001);
  report.quoted("output layer against a GRU's", output / gru, 4.2, 0.01);
}

// ---- 5. Training -----------------------------------------------------------------------------------------
//
// The loop is the one you know, with what real text needs: batches of sentences of similar length,
// checkpoints, BLEU on the way. It is in kit/translation/training.cpp, and the recipes stand at the end of
// this file.
//
// On the grammar, some pairs of adjective and noun are held out of training; and some phrases are names ("tom
// waits behind the red door of marie"), none of which is in the dictionaries. A second translator has no
// attention: section 7 needs both.
//
// On real text two things differ. Words that occur once in the training text are replaced by <unk>: a network
// cannot learn a word from one sentence (--at-least). And the dictionary may start from word vectors that
// were trained on far more text than this (--embeddings): here they are the source words' embedding, and
// learn on with the rest. Words that the file lacks start at random.

/// What a run of the program is about, and what came of it.
struct Work {
  const kit::Options& options;
  kit::TranslatorSettings settings;
  kit::Report& report;
  std::string folder;  // of its checkpoints and pictures, in options.out
  Corpus corpus = {};
  std::vector<kit::TrainedTranslator> all = {};

  /// The one that --score asked for.
  const kit::TrainedTranslator& chosen() const {
    for (const kit::TrainedTranslator& each : all)
      if (each.plan.score == settings.plan.score) return each;
    return all.front();
  }
  void show(const Translation& translation, const std::string& file) const {
    fmt::print("\n  {}\n  → {}\n", kit::printable(kit::join_words(translation.source)),
               kit::printable(kit::join_words(translation.words)));
    kit::show(kit::alignment_picture(translation, "Where each word looked"),
              kit::folder_of(options.out, folder, chosen().plan) / file);
  }
};

void train_on_grammar(Work& work) {
  work.corpus = kit::grammar_corpus(work.options.seed, {.names = 0.1, .joined = work.settings.recipe.joined});
  fmt::print("  {}; some adjective–noun pairs are never shown\n", work.corpus.text());
  const auto how = [&](const TranslatorPlan& plan) {
    return kit::training_of(work.options, work.settings, "grammar with names", work.folder, plan);
  };
  work.all = kit::train_all(kit::plans_of(work.settings, true), work.corpus, how);
}

void train_on_real_text(Work& work) {
  kit::TranslatorSettings& settings = work.settings;
  kit::CorpusOptions reading = {.at_least = settings.at_least, .joined = settings.recipe.joined};
  if (work.options.smoke) reading.most_tests = 20;
  work.corpus = kit::read_multi30k(work.options.data, settings.from(), settings.to(), reading);
  fmt::print("  {}\n", work.corpus.text());
  const kit::WordVectors vectors = kit::embeddings_for(work.corpus.source.vocabulary(), settings);
  const auto how = [&](const TranslatorPlan& plan) {
    return kit::training_of(work.options, settings, "Multi30k " + settings.direction, work.folder, plan,
                            work.corpus.train.size());
  };
  work.all = kit::train_all(kit::plans_of(settings, false), work.corpus, how, vectors);
}

// ---- 6. New sentences ------------------------------------------------------------------------------------
//
// The grammar's are judged exactly, since each has one right translation. "the zone of international control"
// → "la zone de contrôle international": the adjective moves behind its noun, and the weights cross. Is it so
// for pairs of adjective and noun that were never seen together? Real sentences get their BLEU.

void test_on_grammar(const Work& work) {
  kit::Report& report = work.report;
  const kit::TrainedTranslator& chosen = work.chosen();
  const auto sentences = [&](GrammarSplit split, std::uint64_t stream, double names = 0) {
    return kit::grammar_sentences(work.options.seed, stream, split, work.options.smoke ? 20 : 500, names);
  };
  const auto translate = [&](const std::vector<kit::GrammarSentence>& some) {
    return kit::translate(*chosen.model, work.corpus.source, work.corpus.target, kit::parallel(some).source);
  };
  const auto fresh = sentences(GrammarSplit::fresh, 0), held_out = sentences(GrammarSplit::held_out, 1);
  const kit::GrammarScore on_fresh = kit::score_grammar(fresh, translate(fresh)),
                          on_held_out = kit::score_grammar(held_out, translate(held_out));
  if (!chosen.plan.attends()) {  // no target: it cannot cross, and long sentences are too much for it
    report.part_of_lesson();
    report.figure("exact, new sentences", on_fresh.exact, "%");
    report.figure("exact, with pairs never seen together", on_held_out.exact, "%");
    return;
  }
  report.at_least("exact, new sentences", on_fresh.exact, 98, "%");
  report.at_least("exact, with pairs never seen together", on_held_out.exact, 98, "%");
  report.at_least("noun and adjective cross", on_fresh.crossed, 95, "%");
  report.at_least("the same for pairs never seen", on_held_out.crossed, 95, "%");

  const auto named = sentences(GrammarSplit::fresh, 2, 0.3);
  const auto written = translate(named), copied = copy_unknown(written);
  report.figure("exact with names, as written", kit::score_grammar(named, written).exact, "%");
  report.at_least("exact with names, unknown words copied", kit::score_grammar(named, copied).exact, 95, "%");
  for (std::size_t i = 0; i < 2; ++i)
    fmt::print("  {}\n  → {}\n  → {}\n", kit::printable(kit::join_words(written[i].source)),
               kit::printable(kit::join_words(written[i].words)),
               kit::printable(kit::join_words(copied[i].words)));
}

/// Returns what the chosen one wrote for the test set.
std::vector<Translation> test_on_real_text(const Work& work) {
  const kit::TranslatorSettings& settings = work.settings;
  std::vector<Translation> of_chosen;
  double bleu_of_chosen = 0;
  kit::Column greedy{"greedy"}, searched{fmt::format("beam of {}", settings.beam)}, copied{"words copied"};
  for (const kit::TrainedTranslator& each : work.all) {
    const auto translate = [&](Size beam) {
      return kit::translate(*each.model, work.corpus.source, work.corpus.target, work.corpus.test.source,
                            {.beam = beam, .length_power = settings.length_power});
    };
    const auto bleu = [&](const std::vector<Translation>& written) {
      return kit::corpus_bleu(kit::words_of(written), work.corpus.test.target).score;
    };
    const auto written = translate(settings.beam);
    greedy.figures.push_back(bleu(translate(1)));
    searched.figures.push_back(bleu(written));
    copied.figures.push_back(bleu(copy_unknown(written)));
    if (&each != &work.chosen()) continue;
    of_chosen = written;
    bleu_of_chosen = searched.figures.back();
  }
  fmt::print("  BLEU on the test set:\n{}", kit::table_of(work.all, {greedy, searched, copied}));
  const TranslatorPlan& plan = work.chosen().plan;
  if (settings.direction == "en-fr" && plan.score == "additive" && plan.encoder == "gru") {
    work.report.at_least("BLEU with a beam", bleu_of_chosen, 57);
  } else {  // the target is for the usual translator
    work.report.part_of_lesson();
    work.report.figure("BLEU with a beam", bleu_of_chosen);
  }
  return of_chosen;
}

// ---- 7. The length of the sentence -----------------------------------------------------------------------
//
// Lesson 10 squeezed a string into one vector, and lost the more of it the longer it was. The same with
// language: BLEU against the length of the source, with attention and without (Bahdanau, Cho and Bengio 2015,
// figure 2). Long sentences are rare, so some are made: the test's, joined in twos and threes. No recurrent
// network does well at lengths that training never showed, with attention or without. So the grammar's
// training text has joined sentences too, the same for both models. (With --joined 0 it has none: then the
// curve with attention falls as well, only later.)
//
// Of Multi30k's sentences one in a hundred has more than 25 words: trained on them alone, both curves fall
// beyond that. --compare --joined 0.2 trains on longer ones too. The figure has every translator that --score
// or --compare left in the folder.

/// What a model writes for the curves' sentences, unknown words copied; it becomes a curve.
std::vector<Words> add_curve(kit::LengthCurves& curves, const TranslatorPlan& plan, SequenceModel& model,
                             const kit::Lexicon& source, const kit::Lexicon& target) {
  const auto written = kit::words_of(copy_unknown(
      kit::translate(model, source, target, curves.text().source, {.max_length = curves.longest() + 10})));
  curves.add(plan.label(), written);
  return written;
}

void lengths_of_grammar(const Work& work) {
  const auto sentences =
      kit::grammar_sentences(work.options.seed, 3, GrammarSplit::fresh, work.options.smoke ? 20 : 600);
  kit::LengthCurves curves(kit::parallel(sentences), kit::grammar_joint(), {5, 8, 11, 14, 19, 24, 29, 35});
  kit::Column bleu{"BLEU"}, exact{"exact in %"};
  for (const kit::TrainedTranslator& each : work.all) {
    const auto written = add_curve(curves, each.plan, *each.model, work.corpus.source, work.corpus.target);
    bleu.figures.push_back(kit::corpus_bleu(written, curves.text().target).score);
    exact.figures.push_back(kit::exact_match(written, curves.text().target));
  }
  fmt::print("{}\n{}", kit::table_of(work.all, {bleu, exact}), curves.table());
  if (work.settings.plan.score == "additive") {  // then that is the first, and the last has no attention
    work.report.at_least("BLEU of the longest, with attention", curves.chart().series.front().y.back(), 70);
    work.report.at_most("BLEU of the longest, without", curves.chart().series.back().y.back(), 20);
  }
  kit::show(curves.chart(), work.options.out / "grammar-lengths.svg");
}

void lengths_of_real_text(const Work& work) {
  kit::LengthCurves curves(work.corpus.test, {}, {8, 11, 14, 18, 24, 30, 36, 44});
  for (const std::string& score : kit::kTranslatorScores) {
    TranslatorPlan plan = work.settings.plan;
    plan.score = score;
    const auto file = kit::checkpoint_in(kit::folder_of(work.options.out, work.folder, plan));
    if (!std::filesystem::exists(file)) continue;
    const kit::SavedTranslator saved = kit::load_translator(file);
    add_curve(curves, plan, *saved.model, saved.source, saved.target);
  }
  fmt::print("{}", curves.table());
  kit::show(curves.chart(), work.options.out / (work.folder + "-lengths.svg"));
}

// ---- 8. Where it looked ----------------------------------------------------------------------------------
//
// Two neighbouring rows of the picture look at two neighbouring source words in the other order: the diagonal
// crosses over itself. Nobody told the model about adjectives. The grammar's sentence is one that it has
// never seen; of real ones, three short ones are shown in which something crosses.

void looks_on_grammar(const Work& work) {
  work.show(kit::translate(*work.chosen().model, work.corpus.source, work.corpus.target,
                           {kit::grammar_showcase().source})
                .front(),
            "alignment.svg");
}

void looks_on_real_text(const Work& work, const std::vector<Translation>& written) {
  int pictures = 0;
  for (const Translation& one : written)
    if (pictures < 3 && one.words.size() <= 11 && !kit::crossings(one).empty())
      work.show(one, fmt::format("alignment_{}.svg", ++pictures));
  if (pictures == 0) fmt::print("  in no short sentence did two words cross: train for longer\n");
}

/// --translate and --translate-file: the model of a checkpoint, on a sentence of yours, or on a file.
void translate_yours(const std::filesystem::path& folder, const kit::TranslatorSettings& settings) {
  const kit::TranslateOptions how = {.beam = settings.beam, .length_power = settings.length_power};
  const auto checkpoint = kit::checkpoint_in(folder);
  if (!settings.file.file.empty()) return kit::translate_file(checkpoint, settings.file, how, copy_unknown);
  const Translation written = kit::translate_sentence(checkpoint, settings.sentence, how).written;
  const Translation copied = copy_unknown({written}).front();
  fmt::print("  {}\n  → {}\n", kit::printable(kit::join_words(written.source)),
             kit::printable(kit::join_words(written.words)));
  if (copied.words != written.words)
    fmt::print("  → {}  (unknown words copied)\n", kit::printable(kit::join_words(copied.words)));
  if (!copied.alignment.empty())  // there is none without attention
    kit::show(kit::alignment_picture(copied, "Where each word looked"), folder / "translated.svg");
}

}  // namespace

int main(int argc, char** argv) {
  // The recipes: what is usual on the grammar, and what was best on Multi30k's validation sentences. Each
  // field is an option too: --help says what it does.
  const kit::TranslatorRecipe grammar = {
      .embedding = 64,  // numbers for a word
      .hidden = 96,     // units of a state
      .batch = 64,      // sentences in a step
      .dropout = 0.1,   // share of embeddings and readout that is set to 0 in training, each time another
      .rate = 4e-3,     // the learning rate at its highest
      .joined = 0.25,   // so many joined sentences more: section 7
  };
  const kit::TranslatorRecipe multi30k = {
      .embedding = 256,
      .hidden = 256,
      .batch = 64,
      .epochs = 16,  // passes over the text
      .dropout = 0.3,
      .rate = 1e-3,
      .hold = 0.4,      // share of the steps at that rate, before it falls
      .average = 0.98,  // not the last weights are used but a running mean of them, with this decay
      .tied = true,     // one matrix for the words that go into the decoder and those that come out
  };
  kit::Lesson program("15_translate", "it works on real language");
  program.steps(1000, 8);
  program.takes_data("folder with Multi30k: train, val, test_2016_flickr, each with .en and .fr");
  kit::TranslatorSettings settings;
  kit::offer(program, settings, grammar, multi30k);
  return program.run(argc, argv, [&](const kit::Options& options, kit::Report& report) {
    const bool real = !options.data.empty();
    kit::follow(program, real ? multi30k : grammar, settings);
    const std::string folder = options.folder(real ? "multi30k-" + settings.direction : "grammar");
    if (kit::only_translates(program)) {
      const auto of = [&](const std::string& task) {
        return kit::folder_of(options.out, task, settings.plan);
      };
      const bool asked = real || program.given("--direction");
      return translate_yours(
          kit::folder_to_translate_with(of("multi30k-" + settings.direction), of("grammar"), asked),
          settings);
    }
    kit::expect_real_text(program, options, settings, {"--epochs", "--embeddings"});

    report.section("Beam search");
    show_beam(report);
    report.section("BLEU");
    show_bleu(report);
    report.section("Words that are in no dictionary");
    show_copying(report);
    report.section("The model, and where its weights are");
    show_sizes(report);
    Work work = {options, settings, report, folder};
    report.section("Training");
    real ? train_on_real_text(work) : train_on_grammar(work);
    report.section("New sentences");
    std::vector<Translation> written;
    if (real)
      written = test_on_real_text(work);
    else
      test_on_grammar(work);
    report.section("The length of the sentence");
    real ? lengths_of_real_text(work) : lengths_of_grammar(work);
    if (!work.chosen().plan.attends()) return;
    report.section("Where it looked");
    real ? looks_on_real_text(work, written) : looks_on_grammar(work);
  });
}
