// A config's dropout reaches every place that it promises: counted on the tape.
#include "core/core.hpp"
#include "lessons/20_gpt/train_on_text.hpp"
#include "lessons/kit/translation/recurrent_config.hpp"
#include "lessons/kit/translation/transformer_config.hpp"
#include "tests/catch.hpp"
#include "tests/dropped.hpp"

namespace tapestry::kit {
namespace {

using test::Dropped;
using test::dropped;

/// What a translator drops of sources (2,3) and targets (2,4).
Dropped dropped_by(const std::unique_ptr<SequenceModel>& model) {
  model->initialise(1);
  const Indices source = Indices{4, 5, 6, 7, 8, 0}.reshape({2, 3}),
                target = Indices{2, 4, 5, 3, 2, 6, 3, 0}.reshape({2, 4});
  const auto run = [&] { return (*model)(source, {3, 2}, target, 1); };
  const Dropped found = dropped(run);
  model->eval();
  CHECK(dropped(run).empty());
  return found;
}

}  // namespace

TEST_CASE("a recurrent translator's config drops words on both sides and the readout", "[kit]") {
  for (const char* score : {"additive", "general", "scaled_dot", "none"}) {
    CAPTURE(score);
    TranslatorConfig config;
    config.score = score;
    config.embedding = 5;
    config.hidden = 6;
    config.dropout = 0.2;
    CHECK(dropped_by(make_translator(config, 10, 12)) ==
          Dropped{{"where (2,3,5)", 1}, {"where (2,4,5)", 1}, {"tanh (2,4,5)", 1}});
    config.dropout = 0;
    CHECK(dropped_by(make_translator(config, 10, 12)).empty());
  }
}

TEST_CASE("a transformer translator's config drops in every block, and words by a rate of their own",
          "[kit]") {
  TransformerConfig config{.layers = 2, .width = 4, .heads = 2, .hidden = 6};
  config.word_dropout = 0.1;
  CHECK(dropped_by(make_translator(config, 10, 12)) == Dropped{{"add (2,3,4)", 1}, {"add (2,4,4)", 1}});
  config.word_dropout = 0;
  config.dropout = 0.1;
  const Dropped encoder{{"linear (2,3,4)", 4}, {"masked_softmax (2,2,3,3)", 2}, {"relu (2,3,6)", 2}};
  Dropped both = encoder;
  both.insert({{"linear (2,4,4)", 6},
               {"masked_softmax (2,2,4,4)", 2},
               {"masked_softmax (2,2,4,3)", 2},
               {"relu (2,4,6)", 2}});
  CHECK(dropped_by(make_translator(config, 10, 12)) == both);
  config.recurrent_decoder = true;
  CHECK(dropped_by(make_translator(config, 10, 12)) == encoder);
  config.word_dropout = 0.1;
  both = encoder;
  both.insert({{"add (2,3,4)", 1}, {"where (2,4,4)", 1}, {"tanh (2,4,4)", 1}});
  CHECK(dropped_by(make_translator(config, 10, 12)) == both);
}

TEST_CASE("a language model's recipe drops words, weights and what each part adds", "[kit]") {
  const lesson20::LanguageRecipe recipe{.layers = 3, .heads = 2, .width = 8, .context = 6, .dropout = 0.2};
  LanguageModel model(language_model_options(recipe, 11));
  model.initialise(1);
  const Indices ids = Indices{4, 5, 6, 7, 8, 0}.reshape({2, 3});
  CHECK(dropped([&] { return model(ids); }) ==
        Dropped{{"add (2,3,8)", 1}, {"linear (2,3,8)", 6}, {"masked_softmax (2,2,3,3)", 3}});
  model.eval();
  CHECK(dropped([&] { return model(ids); }).empty());
}

}  // namespace tapestry::kit
