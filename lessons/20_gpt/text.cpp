// Lesson 20 on the course's text or on your own (--data): the same model, with characters as tokens.
//
// The first nine tenths of the text are for training, and the last tenth is for validation. The loss is the
// mean per character, in nats, over the whole last tenth, which is split into adjacent windows of the context
// length.
//
// --preset small is the setting for course.txt. This file contains sentences from an earlier version of the
// lessons and exercises, so it has the course's own licence.
//
// --preset usual is the setting of many tutorials for a CPU: 4 blocks of width 128, a context of 64
// characters, and 2,000 steps of 12 windows.
//
// --preset large fills a quarter of an hour on two cores. It has a context of 256 characters. The first
// characters of a window are hard to predict, because few characters come before them. In a longer window, they
// are a smaller part of all characters. The training passes over the text about ten times, with a dropout of a
// tenth, so that the model does not memorise the text. With rotary positions, every head knows the distances
// between characters from the first step on.
#include "lessons/20_gpt/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "lessons/kit/check/agreement.hpp"
#include "lessons/kit/program/wasm_bridge.hpp"
#include "lessons/kit/text/utf8.hpp"

namespace tapestry::lesson20 {

namespace {

const LanguageRecipe kUsual;
const LanguageRecipe kSmall = {.layers = 2,
                               .heads = 4,
                               .width = 64,
                               .context = 64,
                               .batch = 16,
                               .steps = 600,
                               .rate = 5e-3,
                               .positions = "rotary"};
const LanguageRecipe kLarge = {.layers = 4,
                               .heads = 6,
                               .width = 192,
                               .context = 256,
                               .batch = 12,
                               .steps = 3200,
                               .dropout = 0.1,
                               .rate = 2e-3,
                               .positions = "rotary"};

/// Hash of Tiny Shakespeare, the text with targets. For any other text the loss is only reported.
constexpr std::uint64_t kTinyShakespeare = 0x4016c93c3be74c18;

std::filesystem::path folder_of(const TextSettings& settings, const kit::Options& options) {
  return options.out / options.folder(settings.preset);
}

/// Returns the default prompt: a line break, or the first character of an alphabet without one.
std::string beginning(const Characters& characters) {
  const std::string alphabet = characters.alphabet();
  return alphabet.find('\n') != std::string::npos ? "\n" : characters.decode(kit::Ids{0});
}

/// Generates text. The model cannot use more than its context. When the context is full, its later half becomes
/// the next prompt.
kit::Ids go_on(const SavedLanguageModel& saved, kit::Ids text, SamplingOptions how, Size length) {
  const Size context = saved.recipe.context;
  const Size whole = static_cast<Size>(text.size()) + length;
  for (Size size = whole - length; size < whole; size = static_cast<Size>(text.size())) {
    const Size seen = std::min(size, context / 2);
    const Indices prompt(kit::Ids(text.end() - seen, text.end()), {1, seen});
    how.first = {text.back()};
    how.max_length = std::min(whole - size, context - seen + 1);
    how.seed += 1;
    Size kept = seen - 1;  // tokens with keys and values in the cache
    how.on_token = [&](Size, std::int64_t id) {
      kit::tell_written(saved.characters.decode(kit::Ids{id}), static_cast<double>(++kept),
                        static_cast<double>(context));
    };
    const auto model = saved.model->begin(prompt, context);
    const kit::Ids more = sample(*model, how).front().ids;
    text.insert(text.end(), more.begin(), more.end());
  }
  return text;
}

/// Prints a text line by line, with control characters replaced by spaces.
void print(const std::string& text) {
  for (std::size_t from = 0, end = 0; from <= text.size(); from = end + 1) {
    end = std::min(text.find('\n', from), text.size());
    fmt::print("  {}\n", kit::printable(text.substr(from, end - from)));
  }
}

}  // namespace

void add_options(kit::Lesson& program, TextSettings& settings) {
  program.takes_data("a UTF-8 text file to train on instead of sorting");
  program.add(
      "--preset", settings.preset,
      "with --data: the model's sizes; usual takes 45 seconds on two cores, large 16 minutes; with --prompt: "
      "the model to use; small is the model of the course's text",
      {"small", "usual", "large"});
  add_options(program, settings.recipe, kUsual, kLarge, "with --preset large");
  program.add_flag("--fresh", settings.fresh,
                   "with --data: ignore the checkpoint and start from the beginning");
  program.takes_parts();
  program.add("--prompt", settings.prompt,
              "generate text after these words with the trained model, without training");
  program.add("--length", settings.length, "number of characters to generate", 1, 1'000'000);
  program.add("--temperature", settings.sampling.temperature,
              "sampling temperature; 0 always chooses the most likely character", 0, 100);
  program.add("--top-k", settings.sampling.top_k,
              "sample among this number of most likely characters; 0 for all", 0, 1'000'000);
  program.add("--top-p", settings.sampling.top_p,
              "sample among the fewest characters whose probabilities sum to this or more", 1e-6, 1);
}

bool only_writes(const kit::Lesson& program, const kit::Options& options, TextSettings& settings) {
  const bool writes = program.given("--prompt");
  if (writes) program.require_single_process("--prompt");
  if (options.data.empty() && !writes) settings.preset = "small";
  const bool small = settings.preset == "small", large = settings.preset == "large";
  apply_recipe(program, small ? kSmall : large ? kLarge : kUsual, settings.recipe);
  if (program.given("--steps") || options.smoke) settings.recipe.steps = options.steps;
  settings.sampling.seed = options.seed;
  settings.fresh = settings.fresh || options.smoke;  // a smoke run is never resumed
  if (writes) write_on(settings, options, settings.prompt);
  return writes;
}

void learn_text(const TextSettings& settings, const kit::Options& options, kit::Report& report) {
  report.section("Training on text");
  const LanguageRecipe& recipe = settings.recipe;
  const kit::CharCorpus corpus = kit::read_characters(options.data);
  LanguageModel gpt(language_model_options(recipe, corpus.characters.size()));
  gpt.initialise(options.seed);
  fmt::print("  {} characters for training, {} for validation, {} different; {} weights\n",
             corpus.train.size(), corpus.valid.size(), corpus.characters.size(), kit::weights_of(gpt));
  train_language_model(gpt, corpus,
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
  report.section("Generated text");
  write_on(settings, options, "");
}

void write_on(const TextSettings& settings, const kit::Options& options, const std::string& words) {
  const SavedLanguageModel saved =
      load_language_model(folder_of(settings, options) / "checkpoint.safetensors");
  const kit::Ids start = saved.characters.encode(words.empty() ? beginning(saved.characters) : words);
  print(saved.characters.decode(go_on(saved, start, settings.sampling, settings.length)));
}

CourseLosses learn_course(const TextSettings& settings, const kit::Options& options) {
  const LanguageRecipe& recipe = settings.recipe;
  const kit::CharCorpus corpus = kit::read_characters_or_course({});
  LanguageModel gpt(language_model_options(recipe, corpus.characters.size()));
  gpt.initialise(options.seed);
  fmt::print("  {} characters for training, {} held out; {} weights\n", corpus.train.size(),
             corpus.valid.size(), kit::weights_of(gpt));
  train_language_model(gpt, corpus,
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
  const SavedLanguageModel saved =
      load_language_model(folder_of(settings, options) / "checkpoint.safetensors");
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
