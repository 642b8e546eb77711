// 15 translate: it works on real language
//
// The translator of lesson 11 is not a toy. This lesson trains it on sentences: by itself on a small grammar
// that writes English with its French, and with --data on 29,000 real pairs that describe pictures
// (Multi30k). Three things are new, and all of them are about *using* a model: beam search, BLEU, and words
// that are in no dictionary.
//
// You will: 1 search with a beam by hand; 2 count BLEU by hand; 3 copy the words that the model cannot know;
// 4 see where a translator's weights are; 5 train one with attention and one without, on the grammar or on
// real sentences, and see both against the length of the sentence, and where the first one looked.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/core.hpp"
#include "lessons/kit/bleu.hpp"
#include "lessons/kit/grammar_corpus.hpp"
#include "lessons/kit/kit.hpp"
#include "lessons/kit/length_curves.hpp"
#include "lessons/kit/trained_translators.hpp"
#include "lessons/kit/translator_options.hpp"
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

/// The same table behind the interface that nn/decode.hpp searches.
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
    const Decoded found = beam_search(table, {kBegin, kEnd, 4, beam, 0}).front();
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

/// What all runs of the program share.
struct Run {
  const kit::Options& options;
  const kit::TranslatorSettings& settings;
  kit::Report& report;
};

// ---- 5. The length of the sentence -----------------------------------------------------------------------
//
// Lesson 10 squeezed a string into one vector, and lost the more of it the longer it was. The same with
// language: BLEU against the length of the source, with attention and without (Bahdanau, Cho and Bengio 2015,
// figure 2). Long sentences are rare, so some are made: the test's, joined in twos and threes. No recurrent
// network does well at lengths that training never showed, with attention or without. So the grammar's
// training text has joined sentences too, the same for both models. (With --joined 0 it has none: then the
// curve with attention falls as well, only later.)

/// What a model writes for the curves' sentences, unknown words copied; it becomes a curve.
std::vector<Words> add_curve(kit::LengthCurves& curves, const TranslatorPlan& plan, SequenceModel& model,
                             const kit::Vocabulary& source, const kit::Vocabulary& target) {
  const auto written = kit::words_of(copy_unknown(
      kit::translate(model, source, target, curves.text().source, {.max_length = curves.longest() + 10})));
  curves.add(plan.label(), written);
  return written;
}

// ---- 6. On the grammar -----------------------------------------------------------------------------------
//
// "the zone of international control" → "la zone de contrôle international": the adjective moves behind its
// noun, and the weights show it. Two neighbouring rows of the picture look at two neighbouring source words
// in the other order: the diagonal crosses over itself. Nobody told the model about adjectives. It has never
// seen this pair either: some pairs of adjective and noun are held out of training.
//
// Some phrases are names ("tom waits behind the red door of marie"), and no name is in the dictionaries.

void judge_on_grammar(const Run& run, SequenceModel& model, const Corpus& corpus) {
  kit::Report& report = run.report;
  const auto sentences = [&](GrammarSplit split, std::uint64_t stream, double names = 0) {
    return kit::grammar_sentences(run.options.seed, stream, split, run.options.smoke ? 20 : 500, names);
  };
  const auto translate = [&](const std::vector<kit::GrammarSentence>& some) {
    return kit::translate(model, corpus.source, corpus.target, kit::parallel(some).source);
  };
  const auto fresh = sentences(GrammarSplit::fresh, 0), held_out = sentences(GrammarSplit::held_out, 1);
  const kit::GrammarScore on_fresh = kit::score_grammar(fresh, translate(fresh)),
                          on_held_out = kit::score_grammar(held_out, translate(held_out));
  report.at_least("exact, new sentences", on_fresh.exact, 98, "%");
  report.at_least("exact, with pairs never seen together", on_held_out.exact, 98, "%");
  report.at_least("noun and adjective cross", on_fresh.crossed, 95, "%");
  report.at_least("the same for pairs never seen", on_held_out.crossed, 95, "%");

  const auto named = sentences(GrammarSplit::fresh, 2, 0.3);
  const auto written = translate(named), copied = copy_unknown(written);
  report.figure("exact with names, as written", kit::score_grammar(named, written).exact, "%");
  report.at_least("exact with names, unknown words copied", kit::score_grammar(named, copied).exact, 95, "%");
  for (std::size_t i = 0; i < 2; ++i)
    fmt::print("  {}\n  → {}\n  → {}\n", kit::join_words(written[i].source),
               kit::join_words(written[i].words), kit::join_words(copied[i].words));

  const kit::GrammarSentence zone = kit::grammar_showcase();
  const Translation shown = kit::translate(model, corpus.source, corpus.target, {zone.source}).front();
  fmt::print("\n  {}\n  → {}\n", kit::join_words(shown.source), kit::join_words(shown.words));
  kit::show(kit::alignment_picture(shown, "Where each French word looked"),
            kit::folder_of(run.options.out, "grammar", run.settings.plan) / "alignment.svg");
}

void on_the_grammar(const Run& run) {
  kit::Report& report = run.report;
  const std::uint64_t seed = run.options.seed;
  const Corpus corpus = kit::grammar_corpus(seed, {.names = 0.1, .joined = run.settings.recipe.joined});
  fmt::print("  {}; some adjective–noun pairs are never shown\n", corpus.text());
  const auto how = [&](const TranslatorPlan& plan) {
    return kit::training_of(run.options, run.settings, "grammar with names", "grammar", plan);
  };
  const auto all = kit::train_all(kit::plans_of(run.settings, true), corpus, how);

  report.section("Free translation of new sentences");
  for (const kit::TrainedTranslator& each : all)
    if (each.plan.attends() && each.plan.score == run.settings.plan.score)
      judge_on_grammar(run, *each.model, corpus);

  report.section("The length of the sentence");
  const auto sentences = kit::grammar_sentences(seed, 3, GrammarSplit::fresh, run.options.smoke ? 20 : 600);
  kit::LengthCurves curves(kit::parallel(sentences), kit::grammar_joint(), {5, 8, 11, 14, 19, 24, 29, 35});
  kit::Column bleu{"BLEU"}, exact{"exact in %"};
  for (const kit::TrainedTranslator& each : all) {
    const auto written = add_curve(curves, each.plan, *each.model, corpus.source, corpus.target);
    bleu.figures.push_back(kit::corpus_bleu(written, curves.text().target).score);
    exact.figures.push_back(kit::exact_match(written, curves.text().target));
  }
  fmt::print("{}\n{}\n", kit::table_of(all, {bleu, exact}), curves.table());
  if (run.settings.plan.score == "additive") {  // then that is the first, and the last has no attention
    report.at_least("BLEU of the longest, with attention", curves.chart().series.front().y.back(), 70);
    report.at_most("BLEU of the longest, without", curves.chart().series.back().y.back(), 20);
  }
  kit::show(curves.chart(), run.options.out / "grammar-lengths.svg");
}

// ---- 7. On real sentences --------------------------------------------------------------------------------
//
// Two things differ. Words that occur once in the training text are replaced by <unk>: a network cannot learn
// a word from one sentence (--at-least). And the dictionary may start from word vectors that were trained on
// far more text than this (--embeddings): here they are the source words' embedding, and learn on with the
// rest. Words that the file lacks start at random.
//
// The figure by length has every translator that --score or --compare left in the folder. Of Multi30k's
// sentences one in a hundred has more than 25 words: trained on them alone, both curves fall beyond that.
// --compare --joined 0.2 trains on longer ones too.

void on_real_text(const Run& run) {
  kit::Report& report = run.report;
  kit::TranslatorSettings settings = run.settings;
  kit::CorpusOptions reading = {.at_least = settings.at_least, .joined = settings.recipe.joined};
  if (run.options.smoke) reading.most_tests = 20;
  const Corpus corpus = kit::read_multi30k(run.options.data, settings.from(), settings.to(), reading);
  fmt::print("  {}\n", corpus.text());
  const kit::WordVectors vectors = kit::embeddings_for(corpus.source, settings);
  const std::string task = "Multi30k " + settings.direction, folder = "multi30k-" + settings.direction;
  const auto how = [&](const TranslatorPlan& plan) {
    return kit::training_of(run.options, settings, task, folder, plan, corpus.train.size());
  };
  const auto all = kit::train_all(kit::plans_of(settings, false), corpus, how, vectors);

  report.section("The test set");
  std::vector<Translation> shown;
  kit::Column greedy{"greedy"}, searched{fmt::format("beam of {}", settings.beam)}, copied{"words copied"};
  for (const kit::TrainedTranslator& each : all) {
    const auto translate = [&](Size beam) {
      return kit::translate(*each.model, corpus.source, corpus.target, corpus.test.source,
                            {.beam = beam, .length_power = settings.length_power});
    };
    const auto bleu = [&](const std::vector<Translation>& written) {
      return kit::corpus_bleu(kit::words_of(written), corpus.test.target).score;
    };
    const auto written = translate(settings.beam);
    greedy.figures.push_back(bleu(translate(1)));
    searched.figures.push_back(bleu(written));
    copied.figures.push_back(bleu(copy_unknown(written)));
    if (!each.plan.attends() || each.plan.score != settings.plan.score) continue;
    report.at_least("BLEU with a beam", searched.figures.back(), 57);
    shown = written;
  }
  fmt::print("  BLEU:\n{}", kit::table_of(all, {greedy, searched, copied}));

  report.section("The length of the sentence");
  kit::LengthCurves curves(corpus.test, {}, {8, 11, 14, 18, 24, 30, 36, 44});
  for (const std::string& score : kit::kTranslatorScores) {
    TranslatorPlan plan = settings.plan;
    plan.score = score;
    const auto file = kit::folder_of(run.options.out, folder, plan) / "checkpoint.safetensors";
    if (!std::filesystem::exists(file)) continue;
    const kit::SavedTranslator saved = kit::load_translator(file);
    add_curve(curves, plan, *saved.model, saved.source, saved.target);
  }
  fmt::print("{}", curves.table());
  kit::show(curves.chart(), run.options.out / (folder + "-lengths.svg"));

  if (shown.empty()) return;
  report.section("Where it looked");
  int pictures = 0;
  for (const Translation& one : shown) {
    if (pictures == 3) break;
    if (one.words.size() > 11 || kit::crossings(one).empty()) continue;
    ++pictures;
    fmt::print("\n  {}\n  → {}\n", kit::join_words(one.source), kit::join_words(one.words));
    kit::show(
        kit::alignment_picture(one, "Where each word looked"),
        kit::folder_of(run.options.out, folder, settings.plan) / fmt::format("alignment_{}.svg", pictures));
  }
}

/// --translate: the model of a checkpoint, on a sentence of yours.
void translate_one(const std::filesystem::path& folder, const std::string& sentence, Size beam) {
  const kit::SavedTranslator saved = kit::load_translator(folder / "checkpoint.safetensors");
  const Words words = kit::split_words(sentence);
  if (words.empty())
    throw kit::UsageError("--translate wants a sentence: --translate \"a man rides a bike\"");
  for (const std::string& word : words)
    if (!saved.source.contains(word))
      fmt::print("  \"{}\" is not in the dictionary: it is read as <unk>\n", word);
  const Translation written =
      kit::translate(*saved.model, saved.source, saved.target, {words}, {.beam = beam}).front();
  const Translation copied = copy_unknown({written}).front();
  fmt::print("  {}\n  → {}\n", kit::join_words(written.source), kit::join_words(written.words));
  if (copied.words != written.words)
    fmt::print("  → {}  (unknown words copied)\n", kit::join_words(copied.words));
  if (saved.plan.attends())
    kit::show(kit::alignment_picture(copied, "Where each word looked"), folder / "translated.svg");
}

}  // namespace

int main(int argc, char** argv) {
  // The recipes: what is usual on the grammar, and what was best on Multi30k's validation sentences.
  const kit::TranslatorRecipe grammar = {
      .embedding = 64, .hidden = 96, .batch = 64, .dropout = 0.1, .rate = 4e-3, .joined = 0.25};
  const kit::TranslatorRecipe multi30k = {.embedding = 256,
                                          .hidden = 256,
                                          .batch = 64,
                                          .epochs = 16,
                                          .dropout = 0.3,
                                          .rate = 1e-3,
                                          .hold = 0.4,
                                          .average = 0.98,
                                          .tied = true};
  kit::Lesson program("15_translate", "it works on real language");
  program.steps(1000, 8);
  program.takes_data("folder with Multi30k: train, val, test_2016_flickr, each with .en and .fr");
  kit::TranslatorSettings settings;
  kit::offer(program, settings, grammar, multi30k);
  return program.run(argc, argv, [&](const kit::Options& options, kit::Report& report) {
    const bool real = !options.data.empty();
    kit::follow(program, real ? multi30k : grammar, settings);
    if (program.given("--translate")) {
      const auto folder = kit::folder_of(options.out, "multi30k-" + settings.direction, settings.plan);
      const bool trained = std::filesystem::exists(folder / "checkpoint.safetensors");
      return translate_one(real || trained ? folder : kit::folder_of(options.out, "grammar", settings.plan),
                           settings.sentence, settings.beam);
    }
    if (!real && !settings.embeddings.empty())
      throw kit::UsageError("--embeddings is for real words: give --data too");

    report.section("Beam search, by hand");
    show_beam(report);
    report.section("BLEU, by hand");
    show_bleu(report);
    report.section("Unknown words, by hand");
    show_copying(report);
    report.section("Where a translator's weights are");
    show_sizes(report);
    report.section(real ? "Training on real sentences" : "Training on the grammar");
    const Run run = {options, settings, report};
    real ? on_real_text(run) : on_the_grammar(run);
  });
}
