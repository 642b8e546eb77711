// Lesson 20 on a text, the course's own or any other (--data): the same model, on characters.
//
// The first nine tenths of the text are for training, the last tenth for validation; the loss is per
// character, in nats, over the whole last tenth, which is read in windows of the context side by side.
// --preset small is what the lesson trains on course.txt: sentences from the lessons and exercises of this
// course as they once were, so under the course's own licence.
// --preset usual is the setting that tutorials train on a CPU: 4 blocks of width 128 that see 64 characters,
// 2,000 steps of 12 windows. --preset large is what a quarter of an hour on two cores is good for. It sees
// 256 characters, which alone helps (the first characters of a window have little to go by), reads the
// training text about ten times, and drops a tenth of everything, so that it does not learn the text by
// heart. Its rotary positions tell every head how far back a character stands, from the first step on.
#include "lessons/20_gpt/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "lessons/kit/check/agreement.hpp"
#include "lessons/kit/program/wasm_bridge.hpp"
#include "lessons/kit/text/utf8.hpp"

namespace tapestry::lesson20 {

namespace {

const std::string kCourse =
#include "lessons/20_gpt/course.txt"
    ;

const kit::LanguageRecipe kUsual;
const kit::LanguageRecipe kSmall = {.layers = 2,
                                    .heads = 4,
                                    .width = 64,
                                    .context = 64,
                                    .batch = 16,
                                    .steps = 600,
                                    .rate = 5e-3,
                                    .positions = "rotary"};
const kit::LanguageRecipe kLarge = {.layers = 4,
                                    .heads = 6,
                                    .width = 192,
                                    .context = 256,
                                    .batch = 12,
                                    .steps = 3200,
                                    .dropout = 0.1,
                                    .rate = 2e-3,
                                    .positions = "rotary"};

/// Of Tiny Shakespeare, the text that the targets are for; of another text the loss is only reported.
constexpr std::uint64_t kTinyShakespeare = 0x4016c93c3be74c18;

std::filesystem::path folder_of(const TextSettings& settings, const kit::Options& options) {
  return options.out / options.folder(settings.preset);
}

/// What a text begins after: the end of a line, or where there was none, the first character of the alphabet.
std::string beginning(const Characters& characters) {
  const std::string alphabet = characters.alphabet();
  return alphabet.find('\n') != std::string::npos ? "\n" : characters.decode(kit::Ids{0});
}

/// A context is all that the model can see: when it is full, its later half becomes the next prompt.
kit::Ids go_on(const kit::SavedLanguageModel& saved, kit::Ids text, SamplingOptions how, Size length) {
  const Size context = saved.recipe.context;
  const Size whole = static_cast<Size>(text.size()) + length;
  for (Size size = whole - length; size < whole; size = static_cast<Size>(text.size())) {
    const Size seen = std::min(size, context / 2);
    const Indices prompt(kit::Ids(text.end() - seen, text.end()), {1, seen});
    how.first = {text.back()};
    how.max_length = std::min(whole - size, context - seen + 1);
    how.seed += 1;
    Size kept = seen - 1;  // keys and values in the cache
    how.on_word = [&](Size, std::int64_t id) {
      kit::tell_written(saved.characters.decode(kit::Ids{id}), static_cast<double>(++kept),
                        static_cast<double>(context));
    };
    const auto model = saved.model->begin(prompt, context);
    const kit::Ids more = sample(*model, how).front().ids;
    text.insert(text.end(), more.begin(), more.end());
  }
  return text;
}

/// Line by line, safe to print.
void print(const std::string& text) {
  for (std::size_t from = 0, end = 0; from <= text.size(); from = end + 1) {
    end = std::min(text.find('\n', from), text.size());
    fmt::print("  {}\n", kit::printable(text.substr(from, end - from)));
  }
}

}  // namespace

void offer(kit::Lesson& program, TextSettings& settings) {
  program.takes_data("a text of any kind, in UTF-8, to learn instead of sorting");
  program.add("--preset", settings.preset,
              "with --data: the sizes; usual takes 45 seconds on two cores, large 16 minutes; with --prompt: "
              "whose model; small is that of the course's own text",
              {"small", "usual", "large"});
  kit::offer(program, settings.recipe, kUsual, kLarge, "with --preset large");
  program.add_flag("--fresh", settings.fresh, "with --data: forget the checkpoint and start anew");
  program.takes_parts();
  program.add("--prompt", settings.prompt,
              "go on from these words with the trained model, and train nothing");
  program.add("--length", settings.length, "characters to write", 1, 1'000'000);
  program.add("--temperature", settings.sampling.temperature, "of writing; 0: the likeliest always", 0, 100);
  program.add("--top-k", settings.sampling.top_k, "draw among so many characters; 0: among all", 0,
              1'000'000);
  program.add("--top-p", settings.sampling.top_p, "draw among the fewest whose shares reach this", 1e-6, 1);
}

bool only_writes(const kit::Lesson& program, const kit::Options& options, TextSettings& settings) {
  const bool writes = program.given("--prompt");
  if (writes) program.alone_for("--prompt");
  if (options.data.empty() && !writes) settings.preset = "small";
  const bool small = settings.preset == "small", large = settings.preset == "large";
  kit::follow(program, small ? kSmall : large ? kLarge : kUsual, settings.recipe);
  if (program.given("--steps") || options.smoke) settings.recipe.steps = options.steps;
  settings.sampling.seed = options.seed;
  settings.fresh = settings.fresh || options.smoke;  // a smoke run is never worth going on with
  if (writes) write_on(settings, options, settings.prompt);
  return writes;
}

void learn_text(const TextSettings& settings, const kit::Options& options, kit::Report& report) {
  report.section("Training on text");
  const kit::LanguageRecipe& recipe = settings.recipe;
  const kit::CharCorpus corpus = kit::read_characters(options.data);
  LanguageModel gpt(kit::language_model_options(recipe, corpus.characters.size()));
  gpt.initialise(options.seed);
  fmt::print("  {} characters to train on, {} to validate with, {} different; {} weights\n",
             corpus.train.size(), corpus.valid.size(), corpus.characters.size(), kit::weights_of(gpt));
  kit::train_language_model(gpt, corpus,
                            {.recipe = recipe,
                             .out = folder_of(settings, options),
                             .fresh = settings.fresh,
                             .seed = options.seed,
                             .steps_per_look = std::max<Size>(1, recipe.steps / 20),
                             .ranks = options.ranks});
  const double loss = kit::loss_per_character(gpt, corpus.valid, recipe.context, options.smoke ? 100 : 1);
  constexpr const char* kWhat = "validation loss per character";
  if (corpus.hash == kTinyShakespeare && settings.preset != "small") {
    report.at_most(kWhat, loss, settings.preset == "large" ? 1.55 : 1.88, "nats");
  } else {
    report.part_of_lesson();
    report.figure(kWhat, loss, "nats");
  }
  report.section("It writes");
  write_on(settings, options, "");
}

void write_on(const TextSettings& settings, const kit::Options& options, const std::string& words) {
  const kit::SavedLanguageModel saved =
      kit::load_language_model(folder_of(settings, options) / "checkpoint.safetensors");
  const kit::Ids start = saved.characters.encode(words.empty() ? beginning(saved.characters) : words);
  print(saved.characters.decode(go_on(saved, start, settings.sampling, settings.length)));
}

CourseLosses learn_course(const TextSettings& settings, const kit::Options& options) {
  const kit::LanguageRecipe& recipe = settings.recipe;
  const kit::CharCorpus corpus = kit::cut_characters(kCourse, "course.txt");
  LanguageModel gpt(kit::language_model_options(recipe, corpus.characters.size()));
  gpt.initialise(options.seed);
  fmt::print("  {} characters to train on, {} held out; {} weights\n", corpus.train.size(),
             corpus.valid.size(), kit::weights_of(gpt));
  kit::train_language_model(gpt, corpus,
                            {.recipe = recipe,
                             .out = folder_of(settings, options),
                             .fresh = true,
                             .seed = options.seed,
                             .steps_per_look = std::max<Size>(1, recipe.steps / 5),
                             .ranks = options.ranks});
  return {kit::loss_of_pairs(corpus),
          kit::loss_per_character(gpt, corpus.valid, recipe.context, options.smoke ? 20 : 1)};
}

double write_course(const TextSettings& settings, const kit::Options& options, double temperature,
                    Size top_k) {
  constexpr Size kWritten = 400, kShown = 240, kPiece = 12;
  fmt::print("  \n  temperature {}{}:\n", temperature, top_k > 0 ? fmt::format(", top-k {}", top_k) : "");
  const kit::SavedLanguageModel saved =
      kit::load_language_model(folder_of(settings, options) / "checkpoint.safetensors");
  SamplingOptions how = settings.sampling;
  how.temperature = temperature;
  how.top_k = top_k;
  const kit::Ids start = saved.characters.encode("\nThe ");
  const std::string text = saved.characters.decode(go_on(saved, start, how, options.smoke ? 40 : kWritten));
  print(text.substr(1, kShown));
  std::set<std::string> pieces;
  double again = 0, all = 0;
  for (std::size_t i = 0; i + kPiece <= text.size(); ++i, ++all)
    again += pieces.insert(text.substr(i, kPiece)).second ? 0 : 1;
  return 100 * again / all;
}

}  // namespace tapestry::lesson20
