// Lesson 15 on Multi30k (--data), and on your own sentences and files (--translate, --translate-file).
#include <fmt/format.h>

#include <filesystem>

#include "lessons/15_translate/experiment.hpp"
#include "lessons/kit/text/utf8.hpp"
#include "lessons/kit/translation/bleu.hpp"
#include "lessons/kit/translation/saved.hpp"

namespace tapestry::lesson15 {
namespace {

using kit::Translation, kit::TranslatorConfig;

/// Translates your sentence (--translate) or your file (--translate-file) with the model from a checkpoint.
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
  if (!copied.alignment.empty())  // without attention, the alignment is empty
    kit::show(kit::alignment_picture(copied, "Alignment of the source and the translation"),
              folder / "translated.svg");
}

}  // namespace

std::string folder_of_run(const kit::Options& options, const kit::TranslatorSettings& settings) {
  return options.folder(options.data.empty() ? "grammar" : "multi30k-" + settings.direction);
}

bool prepare(const kit::Lesson& program, const kit::Options& options, kit::TranslatorSettings& settings) {
  const bool real = !options.data.empty();
  kit::apply_recipe(program, real ? kMulti30kRecipe : kGrammarRecipe, settings);
  if (kit::only_translates(program)) {
    const auto of = [&](const std::string& task) {
      return kit::folder_of(options.out, task, settings.config);
    };
    const bool asked = real || program.given("--direction");
    translate_yours(kit::folder_to_translate_with(of("multi30k-" + settings.direction), of("grammar"), asked),
                    settings);
    return false;
  }
  kit::expect_real_text(program, options, settings, {"--epochs", "--embeddings"});
  return true;
}

void train_on_real_text(Work& work) {
  kit::TranslatorSettings& settings = work.settings;
  kit::CorpusOptions reading = {.at_least = settings.at_least, .joined = settings.recipe.joined};
  if (work.options.smoke) reading.most_tests = 20;
  work.corpus = kit::read_multi30k(work.options.data, settings.from(), settings.to(), reading);
  fmt::print("  {}\n", work.corpus.text());
  const kit::WordVectors vectors = kit::embeddings_for(work.corpus.source.vocabulary(), settings);
  const auto how = [&](const TranslatorConfig& config) {
    return kit::training_of(work.options, settings, "Multi30k " + settings.direction, work.folder, config,
                            work.corpus.train.size());
  };
  work.all = kit::train_all(kit::plans_of(settings, false), work.corpus, how, vectors);
}

void test_on_real_text(Work& work) {
  const kit::TranslatorSettings& settings = work.settings;
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
    work.written = written;
    bleu_of_chosen = searched.figures.back();
  }
  fmt::print("  BLEU on the test set:\n{}", kit::table_of(work.all, {greedy, searched, copied}));
  const TranslatorConfig& config = work.chosen().config;
  if (settings.direction == "en-fr" && config.score == "additive" && config.encoder == "gru") {
    work.report.at_least("BLEU with a beam", bleu_of_chosen, 57);
  } else {  // only the default translator has a target
    work.report.part_of_lesson();
    work.report.figure("BLEU with a beam", bleu_of_chosen);
  }
}

void lengths_of_real_text(const Work& work) {
  kit::LengthCurves curves(work.corpus.test, {}, {8, 11, 14, 18, 24, 30, 36, 44});
  for (const std::string& score : kit::kTranslatorScores) {
    TranslatorConfig config = work.settings.config;
    config.score = score;
    const auto file = kit::checkpoint_in(kit::folder_of(work.options.out, work.folder, config));
    if (!std::filesystem::exists(file)) continue;
    const kit::SavedTranslator saved = kit::load_translator(file);
    add_curve(curves, config, *saved.model, saved.source, saved.target);
  }
  fmt::print("{}", curves.table());
  kit::show(curves.chart(), work.options.out / (work.folder + "-lengths.svg"));
}

void looks_on_real_text(const Work& work) {
  int pictures = 0;
  for (const Translation& one : work.written)
    if (pictures < 3 && one.words.size() <= 11 && !kit::crossings(one).empty())
      work.show(one, fmt::format("alignment_{}.svg", ++pictures));
  if (pictures == 0) fmt::print("  no two words cross in any short sentence; train for more steps\n");
}

}  // namespace tapestry::lesson15
