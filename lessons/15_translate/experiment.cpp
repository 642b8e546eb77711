// Trains and tests translators on the grammar, and holds the code that grammar and real text share.
#include "lessons/15_translate/experiment.hpp"

#include <fmt/format.h>

#include <cmath>

#include "core/core.hpp"
#include "lessons/kit/text/utf8.hpp"
#include "lessons/kit/translation/bleu.hpp"
#include "nn/linear.hpp"

namespace tapestry::lesson15 {
namespace {

using kit::GrammarSplit, kit::Translation, kit::TranslatorConfig;

/// The chapter's table as a model that nn/ can search. It stores only the number of rows, because the
/// probabilities depend on the last word alone.
class Table final : public AutoregressiveModel {
 public:
  Size rows() const override { return rows_; }
  Step step(const Indices& words) override {
    std::vector<double> logits;
    for (const std::int64_t word : words.to_vector())
      for (const double p : kNext[static_cast<std::size_t>(word)])
        logits.push_back(p > 0 ? std::log(p) : -1e30);
    return {tensor(logits, {words.count(), static_cast<Size>(kNext.size())}, DType::f64), {}};
  }
  void reorder_rows(const std::vector<Size>& rows) override { rows_ = static_cast<Size>(rows.size()); }

 private:
  Size rows_ = 1;
};

}  // namespace

bool nn_finds(const std::vector<std::size_t>& words, double log_probability, Size beam) {
  Table table;
  const Decoded found =
      beam_search(table, {.begin = kFirst, .end = kLast, .max_length = 4, .beam = beam, .length_power = 0})
          .front();
  return std::abs(found.log_probability - log_probability) < 1e-12 && found.ended &&
         std::equal(found.ids.begin(), found.ids.end(), words.begin() + 1, words.end() - 1,
                    [](std::int64_t a, std::size_t b) { return a == static_cast<std::int64_t>(b); });
}

void check_copying(kit::Report& report) {
  const Translation written = {{"tom", "sees", "marie"},
                               {"<unk>", "voit", "<unk>"},
                               {{.7, .2, .1, 0}, {.2, .8, 0, 0}, {0, .1, .4, .5}}};
  report.check("each <unk> is replaced by the word with the largest weight",
               copy_unknown({written}).front().words == Words{"tom", "voit", "marie"});
}

const kit::TrainedTranslator& Work::chosen() const {
  for (const kit::TrainedTranslator& each : all)
    if (each.config.score == settings.config.score) return each;
  return all.front();
}

std::vector<Translation> Work::translate(const std::vector<kit::GrammarSentence>& sentences) const {
  return kit::translate(*chosen().model, corpus.source, corpus.target, kit::parallel(sentences).source);
}

void Work::show(const Translation& translation, const std::string& file) const {
  fmt::print("\n  {}\n  → {}\n", kit::printable(kit::join_words(translation.source)),
             kit::printable(kit::join_words(translation.words)));
  kit::Heatmap map = kit::alignment_picture(translation, "Alignment of the source and the translation");
  map.column_axis = "words of the source", map.row_axis = "words written";
  kit::show(map, kit::folder_of(options.out, folder, chosen().config) / file);
}

std::pair<double, double> output_against_cells() {
  const auto weights = [](const RecurrentCell& cell) {
    return static_cast<double>(cell.weight_ih.count() + cell.weight_hh.count());
  };
  const double rnn = weights(RNNCell(300, 500)), gru = weights(GRUCell(300, 500)),
               output = static_cast<double>(Linear(500, 10'000).weight.count());
  fmt::print("  weights without biases: RNN cell {:.0f}, GRU cell {:.0f}, output layer {:.0f}\n", rnn, gru,
             output);
  return {output / rnn, output / gru};
}

void train(Work& work) {
  if (work.real()) return train_on_real_text(work);
  work.corpus = kit::grammar_corpus(work.options.seed, {.names = 0.1, .joined = work.settings.recipe.joined});
  fmt::print("  {}; some adjective–noun pairs do not occur in it\n", work.corpus.text());
  const auto how = [&](const TranslatorConfig& config) {
    return kit::training_of(work.options, work.settings, "grammar with names", work.folder, config);
  };
  work.all = kit::train_all(kit::plans_of(work.settings, true), work.corpus, how);
}

Asked ask_before_training(const Work& work) {
  Asked asked;
  if (work.real() || !work.settings.config.attends()) return asked;
  asked.never_seen = work.report.ask(
      "never seen together",
      "An adjective and a noun both occur in the training text, but never together. How many new "
      "sentences with such a pair are translated correctly?",
      {"hardly any", "nearly all, as with other new sentences", "about half"});
  if (work.settings.config.score == "additive")
    asked.longest = work.report.ask(
        "the longest sentences",
        "Consider sentences of more than 35 words. How high is BLEU without attention, compared with "
        "BLEU with attention?",
        {"about equally high", "about a fifth lower", "less than a third as high"});
  return asked;
}

void test(Work& work, const Asked& asked) {
  if (work.real()) return test_on_real_text(work);
  kit::Report& report = work.report;
  const auto sentences = [&](GrammarSplit split, std::uint64_t stream, double names = 0) {
    return kit::grammar_sentences(work.options.seed, stream, split, work.options.smoke ? 20 : 500, names);
  };
  const auto fresh = sentences(GrammarSplit::fresh, 0), held_out = sentences(GrammarSplit::held_out, 1);
  const kit::GrammarScore on_fresh = kit::score_grammar(fresh, work.translate(fresh)),
                          on_held_out = kit::score_grammar(held_out, work.translate(held_out));
  if (!work.chosen().config.attends()) {  // without attention there are no targets: words cannot cross
    report.part_of_lesson();
    report.figure("exact, new sentences", on_fresh.exact, "%");
    report.figure("exact, with pairs not in the training text", on_held_out.exact, "%");
    return;
  }
  report.at_least("exact, new sentences", on_fresh.exact, 98, "%");
  report.at_least("exact, with pairs not in the training text", on_held_out.exact, 98, "%");
  report.at_least("noun and adjective cross", on_fresh.crossed, 95, "%");
  report.at_least("cross, for pairs not in the training text", on_held_out.crossed, 95, "%");
  if (asked.never_seen)
    report.answer(
        *asked.never_seen, 'b', on_held_out.exact >= 98,
        "The model has learned each word, and that adjectives move. A new pair is two words that it "
        "attends to one after the other.");

  const auto named = sentences(GrammarSplit::fresh, 2, 0.3);
  const auto written = work.translate(named), copied = copy_unknown(written);
  report.figure("exact with names, before copying", kit::score_grammar(named, written).exact, "%");
  report.at_least("exact with names, unknown words copied", kit::score_grammar(named, copied).exact, 95, "%");
  for (std::size_t i = 0; i < 2; ++i)
    fmt::print("  {}\n  → {}\n  → {}\n", kit::printable(kit::join_words(written[i].source)),
               kit::printable(kit::join_words(written[i].words)),
               kit::printable(kit::join_words(copied[i].words)));
}

std::vector<Words> add_curve(kit::LengthCurves& curves, const TranslatorConfig& config, SequenceModel& model,
                             const kit::Lexicon& source, const kit::Lexicon& target) {
  const auto written = kit::words_of(copy_unknown(
      kit::translate(model, source, target, curves.text().source, {.max_length = curves.longest() + 10})));
  curves.add(config.label(), written);
  return written;
}

void test_lengths(const Work& work, const Asked& asked) {
  if (work.real()) return lengths_of_real_text(work);
  const auto sentences =
      kit::grammar_sentences(work.options.seed, 3, GrammarSplit::fresh, work.options.smoke ? 20 : 600);
  kit::LengthCurves curves(kit::parallel(sentences), kit::grammar_joint(), {5, 8, 11, 14, 19, 24, 29, 35});
  kit::Column bleu{"BLEU"}, exact{"exact in %"};
  for (const kit::TrainedTranslator& each : work.all) {
    const auto written = add_curve(curves, each.config, *each.model, work.corpus.source, work.corpus.target);
    bleu.figures.push_back(kit::corpus_bleu(written, curves.text().target).score);
    exact.figures.push_back(kit::exact_match(written, curves.text().target));
  }
  fmt::print("{}\n{}", kit::table_of(work.all, {bleu, exact}), curves.table());
  kit::show(curves.chart(), work.options.out / "grammar-lengths.svg");
  if (work.settings.config.score != "additive")
    return;  // the first curve is with attention, the last without
  const double with = curves.chart().series.front().y.back(), without = curves.chart().series.back().y.back();
  work.report.at_least("BLEU of the longest sentences, with attention", with, 70);
  work.report.at_most("BLEU of the longest sentences, without attention", without, 20);
  if (asked.longest)
    work.report.answer(
        *asked.longest, 'c', 3 * without < with,
        "Without attention, one vector must hold the whole sentence. This is the bottleneck from "
        "lesson 10: the longer the sentence, the more of it is lost.");
}

void show_looks(const Work& work) {
  if (!work.chosen().config.attends()) return;
  if (work.real()) return looks_on_real_text(work);
  work.show(work.translate({kit::grammar_showcase()}).front(), "alignment.svg");
}

}  // namespace tapestry::lesson15
