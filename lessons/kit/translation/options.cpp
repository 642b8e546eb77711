// Command-line options of every program that trains translators: languages, vocabulary, search, checkpoints.
#include "lessons/kit/translation/options.hpp"

#include <fmt/format.h>

#include "lessons/kit/program/usage_error.hpp"
#include "lessons/kit/translation/corpus.hpp"

namespace tapestry::kit {

void add_options(Lesson& program, TranslationSettings& settings) {
  program.takes_data("folder with Multi30k: train, val, test_2016_flickr, each with .en and .fr");
  program.add("--translate", settings.sentence,
              "translate this sentence with the trained model instead of training");
  add_options(program, settings.file);
  program.add("--direction", settings.direction, "with --data: source and target language",
              {"en-fr", "fr-en"});
  program.add("--at-least", settings.at_least, "with --data: smallest count of a word in the vocabulary", 1,
              1'000'000);
  program.add("--beam", settings.beam, "with --data, --translate or --translate-file: beam width", 1, 100);
  program.add("--length-power", settings.length_power,
              "with --data, --translate or --translate-file: exponent of the length normalisation in beam "
              "search; 0: none, which favours short sentences",
              0, 3);
  program.add_flag("--fresh", settings.fresh, "delete the checkpoint and start again");
  program.takes_parts();
}

bool only_translates(const Lesson& program) {
  const bool file = program.given("--translate-file"), sentence = program.given("--translate");
  if (file && sentence)
    throw UsageError(
        "--translate (a sentence) and --translate-file (a file) must not be combined; give one of them");
  for (const char* name : {"--output", "--references"})
    if (!file && program.given(name)) throw UsageError(fmt::format("{} needs --translate-file", name));
  if (file || sentence) program.require_single_process(file ? "--translate-file" : "--translate");
  return file || sentence;
}

void expect_real_text(const Lesson& program, const Options& options, const TranslationSettings& settings,
                      const std::vector<std::string>& more) {
  if (!options.data.empty()) return expect_multi30k(options.data, settings.from(), settings.to());
  std::vector<std::string> names = {"--direction", "--at-least", "--beam", "--length-power"};
  names.insert(names.end(), more.begin(), more.end());
  for (const std::string& name : names)
    if (program.given(name)) throw UsageError(fmt::format("{} needs real sentences; give --data too", name));
}

}  // namespace tapestry::kit
