// Recurrent translators by description, trained, and back from their checkpoints.
#include "lessons/kit/translation/recurrent_config.hpp"

#include "core/ops/reduce.hpp"
#include "lessons/15_translate/train_each.hpp"
#include "lessons/kit/tensors.hpp"
#include "lessons/kit/train/resume.hpp"
#include "lessons/kit/translation/saved.hpp"
#include "tests/catch.hpp"
#include "tests/lessons/kit/scratch.hpp"
#include "tests/lessons/kit/translation/tiny_corpus.hpp"

namespace tapestry::kit {
namespace {

using Catch::Matchers::ContainsSubstring;

TranslatorConfig tiny(const std::string& score, const std::string& encoder = "gru") {
  TranslatorConfig config;
  config.score = score;
  config.encoder = encoder;
  config.embedding = 5;
  config.hidden = 6;
  return config;
}

TranslatorTraining training(const Scratch& scratch, const TranslatorConfig& config, Size steps) {
  TranslatorTraining how;
  how.name = "test " + config.score + config.encoder;
  how.out = scratch.path(config.score + config.encoder);
  how.steps = steps;
  how.steps_per_look = steps;
  how.batch = 2;
  how.texts = texts_of(config);
  return how;
}

Size part(const Module& model, const std::string& name) {
  for (const auto& [each, weights] : weights_by_part(model))
    if (each == name) return weights;
  return 0;
}

}  // namespace

TEST_CASE("each score and each encoder makes a translator of its sizes", "[kit]") {
  const auto weights = [](const TranslatorConfig& config, const std::string& name) {
    return part(*make_translator(config, 10, 12), name);
  };
  const Size h = 6, e = 5;
  CHECK(weights(tiny("additive"), "decoder.attention") == h * h + h * 2 * h + h);
  CHECK(weights(tiny("general"), "decoder.attention") == h * 2 * h);
  CHECK(weights(tiny("scaled_dot"), "decoder.attention") == 0);
  CHECK(weights(tiny("none"), "decoder.attention") == 0);
  for (const auto& [encoder, gates] : {std::pair<const char*, Size>{"rnn", 1}, {"gru", 3}, {"lstm", 4}}) {
    const Size each_way = gates * (h * (e + h) + 2 * h);
    CHECK(weights(tiny("additive", encoder), "encoder.rnn") == 2 * each_way);
  }
  const Size half = 3;  // of the width each way, so that keys are as wide as queries
  CHECK(weights(tiny("scaled_dot"), "encoder.rnn") == 2 * 3 * (half * (e + half) + 2 * half));

  TranslatorConfig wide = tiny("additive");
  CHECK(weights(wide, "decoder.output") == 12 * e + 12);
  wide.readout = 7;
  CHECK(weights(wide, "decoder.output") == 12 * 7 + 12);
  TranslatorConfig tied = tiny("additive");
  tied.tied = true;
  CHECK(weights(tied, "decoder.output") == 12);  // the matrix is the embedding
  CHECK_THAT(table_of_parts(*make_translator(tied, 10, 12)),
             ContainsSubstring("encoder.embedding") && ContainsSubstring("%"));
}

TEST_CASE("sizes that do not go together are refused", "[kit]") {
  TranslatorConfig odd = tiny("scaled_dot");
  odd.hidden = 7;
  CHECK_THAT(usage_error([&] { make_translator(odd, 10, 10); }),
             ContainsSubstring("--hidden must be even, got 7") && ContainsSubstring("same width"));
  TranslatorConfig tied = tiny("additive");
  tied.tied = true;
  tied.readout = 4;
  CHECK_THAT(usage_error([&] { make_translator(tied, 10, 10); }),
             ContainsSubstring("--readout (4) must equal --embedding (5)"));
}

TEST_CASE("translators are trained one after another, and come back from their checkpoints", "[kit]") {
  const Scratch scratch;
  const Corpus corpus = tiny_corpus();
  const auto how = [&](const TranslatorConfig& config) { return training(scratch, config, 3); };
  const auto all = train_all(
      {tiny("additive"), tiny("general"), tiny("scaled_dot", "lstm"), tiny("none", "rnn")}, corpus, how);
  REQUIRE(all.size() == 4);
  for (const TrainedTranslator& one : all) {
    CAPTURE(one.config.score);
    CHECK(one.place.step == 3);
    const auto file = checkpoint_in(how(one.config).out);
    CHECK(texts_of(translator_plan_of(load_checkpoint(file))) == texts_of(one.config));
    const SavedTranslator saved = load_translator(file);
    CHECK(saved.step == 3);
    CHECK(saved.source == corpus.source);
    CHECK(saved.target == corpus.target);
    const State state = saved.model->state();
    for (const auto& [name, weight] : one.model->state())
      CHECK(state.at(name).to_vector() == weight.to_vector());
    const auto here =
                   translate(*one.model, corpus.source, corpus.target, corpus.test.source, {.max_length = 5}),
               there =
                   translate(*saved.model, saved.source, saved.target, corpus.test.source, {.max_length = 5});
    CHECK(words_of(here) == words_of(there));
    for (const Translation& each : here)
      CHECK(each.alignment.size() == (one.config.attends() ? each.words.size() : 0));
  }
  CHECK_THAT(table_of(all, {{"BLEU", {1, 2, 3, 4}}}),
             ContainsSubstring("scaled_dot") && ContainsSubstring("BLEU") && ContainsSubstring("4.00"));
}

TEST_CASE("training of translators starts from word vectors", "[kit]") {
  const Scratch scratch;
  const Corpus corpus = tiny_corpus();
  WordVectors vectors;
  vectors.width = 5;
  vectors.of[corpus.source.vocabulary().id("b")] = {1, 2, 3, 4, 5};
  // A step whose rate is nearly 0 moves nothing that one can see.
  const auto how = [&](const TranslatorConfig& config) {
    TranslatorTraining training_of_one = training(scratch, config, 1);
    training_of_one.rate = 1e-12;
    return training_of_one;
  };
  const auto all = train_all({tiny("additive")}, corpus, how, vectors);
  const Tensor table = all[0].model->state().at("encoder.embedding.weight");
  for (Size i = 0; i < 5; ++i)
    CHECK(table.at({corpus.source.vocabulary().id("b"), i}) == Approx(static_cast<double>(i + 1)));
}

}  // namespace tapestry::kit
