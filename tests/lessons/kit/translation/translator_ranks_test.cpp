// Translators trained by several ranks: what they share, and what each must not do on its own.
#include "lessons/kit/check/agreement.hpp"
#include "lessons/kit/random.hpp"
#include "lessons/kit/translation/recurrent_config.hpp"
#include "lessons/kit/translation/training.hpp"
#include "optim/parallel/thread_ranks.hpp"
#include "tests/catch.hpp"
#include "tests/lessons/kit/scratch.hpp"

namespace tapestry::kit {
namespace {

using Weights = std::vector<Tensor>;

/// 20 sentences of 1 to 9 words: parts of a batch have other numbers of words. The last batch of an epoch is short.
Corpus uneven_corpus() {
  const char* const letters[] = {"a", "b", "c", "d", "e"};
  Random random(1);
  ParallelText all;
  for (int i = 0; i < 20; ++i) {
    Words words;
    for (auto n = random.between(1, 9); n > 0; --n)
      words.push_back(letters[static_cast<std::size_t>(random.below(5))]);
    all.source.push_back(words);
    all.target.emplace_back(words.rbegin(), words.rend());
  }
  Corpus made;
  made.source = Vocabulary::build(all.source);
  made.target = Vocabulary::build(all.target);
  made.train = encode_pairs(all, made.source, made.target);
  made.valid = made.test = {{all.source.front()}, {all.target.front()}};
  return made;
}

struct Run {
  int ranks = 1;
  std::int64_t parts = 0;
  double dropout = 0;
};

/// Rank 0's weights, in f64, after nine steps: three epochs and average twice.
Weights trained(const Run& run) {
  const Scratch scratch;
  const Corpus text = uneven_corpus();
  Weights weights;
  run_on_threads({.ranks = run.ranks}, [&](Communicator& ranks) {
    TranslatorConfig config;
    config.embedding = 3;
    config.hidden = 4;
    config.dropout = run.dropout;
    const auto model = make_translator(config, text.source.size(), text.target.size());
    model->initialise(4 + static_cast<std::uint64_t>(ranks.rank()), DType::f64);  // the first one's are taken
    TranslatorTraining how;
    how.name = "ranks";
    how.out = scratch.folder() / std::to_string(ranks.rank());
    how.steps = how.steps_per_look = 9;
    how.batch = 7;
    how.rate = 0.02;
    how.average = 0.5;
    how.ranks = {&ranks, run.parts};
    train_translator(*model, text, how);
    if (ranks.rank() == 0) weights = model->parameters();
  });
  return weights;
}

}  // namespace

TEST_CASE("translators that ranks train together are those of one process", "[kit]") {
  const Weights alone = trained({});
  for (const int ranks : {2, 3, 8}) {  // with eight some have no sentence in a batch
    CAPTURE(ranks);
    CHECK(farthest(trained({.ranks = ranks}), alone) < 1e-12);
  }
  CHECK(farthest(trained({.ranks = 3}), trained({.ranks = 3})) == 0);
}

TEST_CASE("with as many parts, dropout is the same on any number of ranks", "[kit]") {
  const Weights alone = trained({.parts = 6, .dropout = 0.3});
  for (const int ranks : {2, 3, 6}) CHECK(farthest(trained({ranks, 6, 0.3}), alone) < 1e-12);
  CHECK(farthest(trained({.dropout = 0.3}), alone) > 1e-3);
  CHECK(farthest(trained({.ranks = 2, .dropout = 0.3}), alone) > 1e-3);
}

TEST_CASE("rows of a batch keep their words, and have padding for the longest of them", "[kit]") {
  const Batch all = Batches(uneven_corpus().train, {.size = 7, .seed = 3}).next();
  const Batch some = rows_of(all, 1, 3);
  CHECK(some.pairs == std::vector<Size>{all.pairs[1], all.pairs[2]});
  for (const auto& [part, whole] :
       {std::pair(&some.source, &all.source), std::pair(&some.target, &all.target)}) {
    CHECK(part->rows == 2);
    CHECK(part->columns == std::max(whole->lengths[1], whole->lengths[2]));
    for (Size row = 0; row < 2; ++row)
      for (Size column = 0; column < part->columns; ++column)
        CHECK(part->at(row, column) == whole->at(row + 1, column));
  }
  CHECK(rows_of(all, 0, all.source.rows).source.ids == all.source.ids);
  CHECK(rows_of(all, 2, 2).pairs.empty());
}

}  // namespace tapestry::kit
