// A language model's training run: stopped, resumed, saved and loaded.
#include "core/core.hpp"
#include "lessons/20_gpt/train_on_text.hpp"
#include "lessons/kit/program/peak_memory.hpp"
#include "lessons/kit/program/usage_error.hpp"
#include "tests/catch.hpp"
#include "tests/lessons/kit/scratch.hpp"

using namespace tapestry;

namespace {

constexpr Size kSteps = 9;

kit::CharCorpus corpus_in(const kit::Scratch& scratch) {
  std::string text;
  for (int i = 0; i < 40; ++i) text += "to be, or not to be?\n";
  return kit::read_characters(scratch.write("text.txt", text));
}

lesson20::LanguageTraining training(const std::filesystem::path& out,
                                    const std::string& positions = "learned") {
  lesson20::LanguageTraining how;
  how.recipe = {.layers = 1,
                .heads = 2,
                .width = 8,
                .context = 6,
                .batch = 3,
                .steps = kSteps,
                .dropout = 0.2,
                .rate = 1e-2,
                .positions = positions};
  how.out = out;
  how.steps_per_look = 4;
  return how;
}

std::vector<double> weights(const LanguageModel& model) {
  std::vector<double> all;
  for (const Tensor& weight : model.parameters())
    for (const double value : weight.to_vector()) all.push_back(value);
  return all;
}

/// Trains, or goes on, and returns all weights.
std::vector<double> run(const kit::CharCorpus& corpus, const lesson20::LanguageTraining& how) {
  LanguageModel model(lesson20::language_model_options(how.recipe, corpus.characters.size()));
  model.initialise(how.seed);
  lesson20::train_language_model(model, corpus, how);
  return weights(model);
}

}  // namespace

TEST_CASE("a run that stopped goes on to the same bits") {
  const kit::Scratch scratch;
  const kit::CharCorpus corpus = corpus_in(scratch);
  const std::vector<double> unbroken = run(corpus, training(scratch.folder() / "unbroken"));
  for (const Size stop : {1, 4, 8}) {
    lesson20::LanguageTraining how = training(scratch.folder() / ("stopped" + std::to_string(stop)));
    how.stop_after = stop;
    CHECK(run(corpus, how) != unbroken);
    how.stop_after = 0;
    CHECK(run(corpus, how) == unbroken);
    CHECK(run(corpus, how) == unbroken);  // nothing left to do
  }
}

TEST_CASE("a checkpoint becomes the model again, and another run's is refused") {
  const kit::Scratch scratch;
  const kit::CharCorpus corpus = corpus_in(scratch);
  for (const char* positions : {"learned", "rotary"}) {
    const lesson20::LanguageTraining how = training(scratch.folder() / positions, positions);
    const std::vector<double> trained = run(corpus, how);
    const lesson20::SavedLanguageModel saved =
        lesson20::load_language_model(how.out / "checkpoint.safetensors");
    CHECK(weights(*saved.model) == trained);
    CHECK(saved.characters == corpus.characters);
    CHECK(saved.recipe.context == 6);
    CHECK(saved.recipe.positions == positions);
    CHECK_FALSE(saved.model->training());
  }
  lesson20::LanguageTraining other = training(scratch.folder() / "learned");
  other.seed = 2;
  CHECK_THROWS_AS(run(corpus, other), kit::UsageError);
  other.fresh = true;
  CHECK_NOTHROW(run(corpus, other));
  CHECK_THROWS_AS(lesson20::load_language_model(scratch.folder() / "none"), kit::UsageError);
  CHECK_THROWS_AS(lesson20::load_language_model(scratch.folder() / "text.txt"), kit::UsageError);
}

TEST_CASE("a checkpoint with sizes that its weights do not have is refused without their memory") {
  const kit::Scratch scratch;
  const kit::CharCorpus corpus = corpus_in(scratch);
  const lesson20::LanguageTraining how = training(scratch.folder() / "run", "rotary");
  run(corpus, how);
  const double before = kit::peak_memory();
  for (const auto& [name, value] : {std::pair<const char*, const char*>{"width", "2048"},
                                    {"width", "1000000"},
                                    {"layers", "1000000"},
                                    {"layers", "100"},
                                    {"layers", "0"},
                                    {"heads", "1000000"},
                                    {"context", "1000000000000"},
                                    {"batch", "18446744073709551615"}}) {
    TrainingState changed = kit::load_checkpoint(how.out / "checkpoint.safetensors");
    changed.set_text(name, value);
    changed.save(scratch.path("changed.safetensors"));
    CAPTURE(name, value);
    CHECK_THAT(kit::usage_error([&] { lesson20::load_language_model(scratch.path("changed.safetensors")); }),
               Catch::Matchers::ContainsSubstring(
                   "changed.safetensors is not the checkpoint of a language model ("));
  }
  CHECK(kit::peak_memory() - before < 100);
}

TEST_CASE("it learns") {
  const kit::Scratch scratch;
  const kit::CharCorpus corpus = corpus_in(scratch);
  lesson20::LanguageTraining how = training(scratch.folder() / "long");
  how.recipe.steps = 150;
  how.recipe.dropout = 0;
  LanguageModel model(lesson20::language_model_options(how.recipe, corpus.characters.size()));
  model.initialise(1);
  const double before = kit::loss_per_character(model, corpus.valid, 6);
  lesson20::train_language_model(model, corpus, how);
  CHECK(kit::loss_per_character(model, corpus.valid, 6) < before / 2);
}
