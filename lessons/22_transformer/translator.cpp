#include "lessons/22_transformer/translator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <tuple>

#include "core/core.hpp"
#include "lessons/kit/check/agreement.hpp"
#include "lessons/kit/picture/heatmap_grid.hpp"
#include "lessons/kit/tensors.hpp"
#include "lessons/kit/text/utf8.hpp"
#include "lessons/kit/translation/bleu.hpp"
#include "lessons/kit/translation/grammar_corpus.hpp"
#include "lessons/kit/translation/saved.hpp"
#include "nn/attention/weight_recorder.hpp"

namespace tapestry::lesson22 {

using kit::Corpus;
using kit::TransformerConfig;
using kit::Translation;
using kit::Words;
namespace fs = std::filesystem;

namespace {

// The default recipe for the grammar, and the best recipe for Multi30k's validation sentences. Each field is also
// an option, which --help explains.
const kit::TransformerRecipe kGrammar = {
    .layers = 2, .width = 64, .heads = 4, .hidden = 128, .dropout = 0.1, .rate = 3e-3};
// Four narrow layers pass over the text more often than three wide ones in the same time. Real text has more words
// than a model can learn, so words are split into pieces: a frequent word stays whole, a rare one is spelled.
const kit::TransformerRecipe kMulti30k = {.layers = 4,
                                          .width = 128,
                                          .heads = 4,
                                          .hidden = 256,
                                          .epochs = 24,
                                          .merges = 4000,
                                          .word_dropout = 0.2,
                                          .dropout = 0.15,
                                          .rate = 2.5e-3,
                                          .average = 0.98,
                                          .length_power = 2.6};

/// The recipe of --preset long. With more passes over a text, the model memorises more of it, so the training needs
/// more dropout.
kit::TransformerRecipe lasting() {
  kit::TransformerRecipe recipe = kMulti30k;
  recipe.epochs = 90;
  recipe.word_dropout = 0.3;
  recipe.dropout = 0.25;
  recipe.length_power = 2;
  return recipe;
}

/// Returns the cross-attention weights of each block, (heads, words, source), for the target of a pair.
std::vector<Tensor> crossing_weights(const TransformerTranslator& model, const kit::Pair& pair) {
  const kit::Padded read = kit::pad({pair.source}), write = kit::pad({pair.target});
  std::deque<WeightRecorder> recorders;
  for (const TransformerBlock& block : model.stack.blocks) recorders.emplace_back(block.cross->attention);
  model(kit::indices(read), kit::valid_lengths(read),
        kit::indices(write).columns(0, write.columns - 1));  // all words but <end> are inputs
  std::vector<Tensor> weights;
  for (WeightRecorder& recorder : recorders) weights.push_back(select(recorder.weights().front(), 0, 0));
  return weights;
}

void draw_heads(const TransformerTranslator& model, const kit::Lexicon& source, const kit::Lexicon& target,
                const Translation& written, const fs::path& file) {
  kit::HeatmapGrid grid{
      .title = "Weights of each head, layer.head: a row per output word, a column per source word"};
  Words columns = source.labels(written.source), rows = target.labels(written.words);
  columns.emplace_back("<end>");
  rows.emplace_back("<end>");
  const std::vector<Tensor> layers =
      crossing_weights(model, kit::encode_pairs({{written.source}, {written.words}}, source, target).front());
  for (std::size_t layer = 0; layer < layers.size(); ++layer) {
    grid.across = layers[layer].size(0);
    for (Size head = 0; head < grid.across; ++head)
      grid.maps.push_back({.title = fmt::format("{}.{}", layer + 1, head + 1),
                           .columns = columns,
                           .rows = rows,
                           .values = select(layers[layer], 0, head).to_vector()});
  }
  kit::show(grid, file);
}

/// Shows a sentence, its translation, and the weights of each head (or of the recurrent decoder).
void show_translation(SequenceModel& model, const kit::Lexicon& source, const kit::Lexicon& target,
                      const Translation& written, const fs::path& file) {
  fmt::print("\n  {}\n  → {}\n", kit::printable(kit::join_words(written.source)),
             kit::printable(kit::join_words(written.words)));
  const Evaluating evaluating(model);
  if (const auto* transformer = dynamic_cast<TransformerTranslator*>(&model))
    draw_heads(*transformer, source, target, written, file);
  else
    kit::show(kit::alignment_picture(written, "Attention weights of each output word"), file);
}

/// Translates the user's sentence or file with the model of a checkpoint (--translate, --translate-file).
void translate_yours(const fs::path& folder, const Settings& settings) {
  const kit::TranslateOptions how = {.beam = settings.beam, .length_power = settings.length_power};
  const fs::path checkpoint = kit::checkpoint_in(folder);
  if (!settings.file.file.empty()) return kit::translate_file(checkpoint, settings.file, how);
  const auto [translator, written] = kit::translate_sentence(checkpoint, settings.sentence, how);
  show_translation(*translator.model, translator.source, translator.target, written,
                   folder / "translated.svg");
}

struct Trained {
  TransformerConfig config;
  fs::path folder;
  std::unique_ptr<SequenceModel> model;
};

Trained train(const kit::TranslatorTraining& how, const TransformerConfig& config, const Corpus& corpus) {
  Trained trained{config, how.out, kit::make_translator(config, corpus.source.size(), corpus.target.size())};
  trained.model->initialise(how.seed);
  fmt::print("\n  {}: {} weights\n", config.label(), kit::weights_of(*trained.model));
  kit::train_translator(*trained.model, corpus, how);
  return trained;
}

Corpus read_corpus(const kit::Options& options, const Settings& settings) {
  if (options.data.empty())
    return kit::grammar_corpus(options.seed, {.sentences = options.smoke ? 500 : 20'000});
  kit::CorpusOptions reading{.at_least = settings.at_least, .merges = settings.recipe.merges};
  if (options.smoke) reading.most_tests = 20;
  return kit::read_multi30k(options.data, settings.from(), settings.to(), reading);
}

std::vector<Trained> train_all(const kit::Options& options, const Settings& settings, const Corpus& corpus) {
  std::vector<Trained> all;
  if (!options.data.empty()) {
    const auto how =
        kit::training_of(options, settings, settings.task(), settings.config, corpus.train.size());
    all.push_back(train(how, settings.config, corpus));
    return all;
  }
  for (const bool recurrent : {false, true}) {
    TransformerConfig config = settings.config;
    config.recurrent_decoder = recurrent;
    all.push_back(train(kit::training_of(options, settings, "grammar", config), config, corpus));
  }
  return all;
}

/// Returns true if all targets were met, and a sentence to show.
struct Tested {
  bool all_met = true;
  Translation shown;
};

Tested test_on_grammar(const std::vector<Trained>& all, const Corpus& corpus, const kit::Options& options,
                       kit::Report& report) {
  Tested tested;
  for (const Trained& each : all)
    for (const auto& [what, split, stream] :
         {std::tuple("new sentences", kit::GrammarSplit::fresh, 0),
          std::tuple("held-out pairs of adjective and noun", kit::GrammarSplit::held_out, 1)}) {
      const kit::ParallelText text = kit::parallel(kit::grammar_sentences(
          options.seed, static_cast<std::uint64_t>(stream), split, options.smoke ? 20 : 500));
      const auto written = kit::translate(*each.model, corpus.source, corpus.target, text.source);
      tested.all_met &= report.at_least(fmt::format("exact, {}, {}", what, each.config.label()),
                                        kit::exact_match(kit::words_of(written), text.target), 98, "%");
    }
  tested.shown =
      kit::translate(*all.front().model, corpus.source, corpus.target, {kit::grammar_showcase().source})
          .front();
  return tested;
}

Tested test_on_real_text(const Trained& trained, const Corpus& corpus, const Settings& settings,
                         kit::Report& report) {
  const auto translate = [&](Size beam) {
    return kit::translate(*trained.model, corpus.source, corpus.target, corpus.test.source,
                          {.beam = beam, .length_power = settings.length_power});
  };
  const auto written = translate(settings.beam);
  const kit::Bleu greedy = kit::corpus_bleu(kit::words_of(translate(1)), corpus.test.target),
                  searched = kit::corpus_bleu(kit::words_of(written), corpus.test.target);
  fmt::print("  greedy:    {}\n  beam of {}: {}\n", greedy.text(), settings.beam, searched.text());
  if (settings.direction == "en-fr" && !settings.config.recurrent_decoder) {  // only this setting has targets
    report.at_least("BLEU, greedy", greedy.score, 57);
    report.at_least("BLEU with a beam", searched.score, settings.preset == "long" ? 61 : 59);
  } else {
    report.part_of_lesson();
  }
  for (const Translation& one : written)
    if (one.words.size() <= 11 && !kit::crossings(one).empty()) return {true, one};
  return {true, written.front()};
}

/// Returns the percentage of pairs of heads with their largest weight on the same word, over 200 test sentences.
double agreement(const TransformerTranslator& model, const Corpus& corpus) {
  double agree = 0, pairs = 0;
  std::vector<kit::Pair> all = kit::encode_pairs(corpus.test, corpus.source, corpus.target);
  all.resize(std::min<std::size_t>(all.size(), 200));
  for (const kit::Pair& pair : all) {
    const Tensor heads = concat(crossing_weights(model, pair), 0);  // (heads of all layers, words, source)
    const kit::Ids top = argmax(heads).to_vector();
    const auto words = static_cast<std::size_t>(heads.size(1)),
               count = static_cast<std::size_t>(heads.size(0));
    for (std::size_t word = 0; word < words; ++word)
      for (std::size_t one = 0; one < count; ++one)
        for (std::size_t other = 0; other < one; ++other) {
          agree += top[one * words + word] == top[other * words + word];
          ++pairs;
        }
  }
  return 100 * agree / pairs;
}

}  // namespace

void add_options(kit::Lesson& program, Settings& settings) {
  program.add("--preset", settings.preset,
              "with --data: the recipe; usual takes 17 minutes on two cores; long takes 75 minutes and then "
              "searches with a length power of 2",
              {"usual", "long"});
  program.add("--decoder", settings.decoder, "with --data, --translate or --translate-file: the decoder",
              {"transformer", "recurrent"});
  kit::add_options(program, settings, kGrammar, kMulti30k);
}

bool translates(const kit::Lesson& program, const kit::Options& options, Settings& settings) {
  const bool real = !options.data.empty(), only_translates = kit::only_translates(program);
  // Then the search uses the settings for real text, whatever the model was trained on.
  const kit::TransformerRecipe on_real_text = settings.preset == "long" ? lasting() : kMulti30k;
  kit::apply_recipe(program, real || only_translates ? on_real_text : kGrammar, settings);
  settings.config.recurrent_decoder = settings.decoder == "recurrent";
  if (!only_translates) {
    kit::expect_real_text(program, options, settings, {"--epochs", "--merges", "--preset", "--decoder"});
    return false;
  }
  const auto of = [&](const std::string& task) { return kit::folder_of(options.out, task, settings.config); };
  const bool asked = real || program.given("--direction") || program.given("--preset");
  translate_yours(kit::folder_to_translate_with(of(settings.task()), of("grammar"), asked), settings);
  return true;
}

Outcome train_and_test(const kit::Options& options, const Settings& settings, kit::Report& report) {
  const bool real = !options.data.empty();
  Outcome learned;
  learned.corpus = read_corpus(options, settings);
  fmt::print("  {}{}\n", learned.corpus.text(), real ? "" : "; some adjective–noun pairs are held out");
  std::vector<Trained> all = train_all(options, settings, learned.corpus);
  Tested tested = real ? test_on_real_text(all.front(), learned.corpus, settings, report)
                       : test_on_grammar(all, learned.corpus, options, report);
  learned.folder = all.front().folder;
  learned.model = std::move(all.front().model);
  learned.shown = std::move(tested.shown);
  learned.all_met = tested.all_met;
  return learned;
}

void show_heads(const Outcome& learned, kit::Report& report) {
  show_translation(*learned.model, learned.corpus.source, learned.corpus.target, learned.shown,
                   learned.folder / "heads.svg");
  const Evaluating evaluating(*learned.model);
  const auto* transformer = dynamic_cast<const TransformerTranslator*>(learned.model.get());
  if (transformer != nullptr && !learned.corpus.test.source.empty())
    report.figure("two heads have their largest weight on the same word",
                  agreement(*transformer, learned.corpus), "%");
}

}  // namespace tapestry::lesson22
