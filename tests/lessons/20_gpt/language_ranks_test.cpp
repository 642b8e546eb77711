// A language model trained by several ranks that stop, and go on as others.
#include "core/core.hpp"
#include "lessons/20_gpt/train_on_text.hpp"
#include "lessons/kit/check/agreement.hpp"
#include "optim/parallel/thread_ranks.hpp"
#include "tests/catch.hpp"
#include "tests/lessons/kit/scratch.hpp"

using namespace tapestry;

namespace {

using Weights = std::vector<Tensor>;

struct Run {
  int ranks = 1;
  std::string folder;
  Size stop_after = 0;
  double dropout = 0;
};

/// Rank 0's weights; the other ranks' folders are gone afterwards, as on machines of their own.
Weights run(const kit::Scratch& scratch, const Run& how) {
  std::string text;
  for (int i = 0; i < 40; ++i) text += "to be, or not to be?\n";
  const kit::CharCorpus corpus = kit::read_characters(scratch.write("text.txt", text));
  Weights weights;
  run_on_threads({.ranks = how.ranks}, [&](Communicator& ranks) {
    lesson20::LanguageTraining training;
    training.recipe = {.layers = 1,
                       .heads = 2,
                       .width = 8,
                       .context = 6,
                       .batch = 5,
                       .steps = 9,
                       .dropout = how.dropout,
                       .rate = 1e-2,
                       .positions = "rotary"};
    training.out = scratch.folder() / how.folder / std::to_string(ranks.rank());
    training.steps_per_look = 4;
    training.stop_after = how.stop_after;
    training.ranks = {&ranks};
    LanguageModel model(lesson20::language_model_options(training.recipe, corpus.characters.size()));
    model.initialise(
        static_cast<std::uint64_t>(ranks.rank()));  // the first one's are taken, as a checkpoint's are
    lesson20::train_language_model(model, corpus, training);
    if (ranks.rank() == 0)
      weights = model.parameters();
    else
      std::filesystem::remove_all(training.out);
  });
  return weights;
}

}  // namespace

TEST_CASE("ranks that stopped go on to the same bits, and other numbers of ranks to the same weights") {
  const kit::Scratch scratch;
  const Weights alone = run(scratch, {1, "alone"}), three = run(scratch, {3, "three"});
  CHECK(kit::farthest(alone, three) < 1e-5);
  for (const int ranks : {3, 1, 2, 7}) {  // with seven two have nothing to do
    CAPTURE(ranks);
    const std::string folder = "from three to " + std::to_string(ranks);
    const Weights stopped = run(scratch, {3, folder, 4});
    CHECK(kit::farthest(stopped, three) > 1e-3);
    const Weights whole = run(scratch, {ranks, folder});
    CHECK(kit::farthest(whole, three) < 1e-5);
    CHECK((ranks != 3 || kit::farthest(whole, three) == 0));
  }
}

TEST_CASE("ranks drop other places than each other") {
  const kit::Scratch scratch;
  CHECK(kit::farthest(run(scratch, {2, "once", 0, 0.3}), run(scratch, {2, "again", 0, 0.3})) == 0);
  CHECK(kit::farthest(run(scratch, {1, "alone", 0, 0.3}), run(scratch, {2, "both", 0, 0.3})) > 1e-3);
}
