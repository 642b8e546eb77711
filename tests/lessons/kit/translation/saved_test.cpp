// Transformer translators back from their checkpoints, a sentence of somebody's own, and what is refused.
#include "lessons/kit/translation/saved.hpp"

#include <algorithm>

#include "lessons/kit/train/resume.hpp"
#include "lessons/kit/train/saved_size.hpp"
#include "lessons/kit/translation/recurrent_config.hpp"
#include "lessons/kit/translation/training.hpp"
#include "lessons/kit/translation/transformer_config.hpp"
#include "tests/catch.hpp"
#include "tests/lessons/kit/scratch.hpp"
#include "tests/lessons/kit/translation/tiny_corpus.hpp"

namespace tapestry::kit {
namespace {

using Catch::Matchers::ContainsSubstring;

TransformerConfig tiny(bool recurrent_decoder) {
  return {.layers = 2,
          .width = 8,
          .heads = 2,
          .hidden = 12,
          .dropout = 0.1,
          .recurrent_decoder = recurrent_decoder};
}

/// A model that was trained for some steps, with its checkpoint in `folder`.
std::unique_ptr<SequenceModel> train(const TransformerConfig& config, const std::filesystem::path& folder,
                                     double average = 0) {
  const Corpus corpus = tiny_corpus();
  auto model = make_translator(config, corpus.source.size(), corpus.target.size());
  model->initialise(1);
  train_translator(*model, corpus,
                   {.name = "test",
                    .out = folder,
                    .steps = 17,
                    .steps_per_look = 17,
                    .batch = 2,
                    .rate = 1e-2,
                    .average = average,
                    .texts = texts_of(config)});
  return model;
}

}  // namespace

TEST_CASE("a transformer translator comes back from its checkpoint, with either decoder", "[kit]") {
  const Scratch scratch;
  const Corpus corpus = tiny_corpus();
  for (const bool recurrent : {false, true})
    for (const double average : {0.0, 0.9}) {
      CAPTURE(recurrent, average);
      const TransformerConfig config = tiny(recurrent);
      const auto folder = scratch.path(std::to_string(recurrent) + std::to_string(average));
      const auto model = train(config, folder, average);
      CHECK(texts_of(transformer_plan_of(load_checkpoint(checkpoint_in(folder)))) == texts_of(config));
      const SavedTranslator saved = load_translator(checkpoint_in(folder));
      CHECK(saved.step == 17);
      CHECK(saved.source == corpus.source);
      CHECK(saved.target == corpus.target);
      CHECK_FALSE(saved.model->training());
      const State state = saved.model->state();  // the average, where there is one
      for (const auto& [name, weight] : model->state())
        CHECK(state.at(name).to_vector() == weight.to_vector());
    }
}

TEST_CASE("a sentence of one's own is translated with a checkpoint", "[kit]") {
  const Scratch scratch;
  const Corpus corpus = tiny_corpus();
  for (const bool recurrent : {false, true}) {
    const auto folder = scratch.path(recurrent ? "recurrent" : "transformer");
    const auto model = train(tiny(recurrent), folder);
    const TranslateOptions how = {.beam = 2, .max_length = 5};
    const TranslatedSentence result = translate_sentence(checkpoint_in(folder), " b  who c ", how);
    CHECK(result.written.source == Words{"b", "who", "c"});
    CHECK(result.written.words ==
          translate(*model, corpus.source, corpus.target, {{"b", "who", "c"}}, how).front().words);
    CHECK(result.written.alignment.size() == result.written.words.size());
    // As one types them: capitals and punctuation that the dictionary does not have.
    CHECK(translate_sentence(checkpoint_in(folder), "B, who? Who C!.", how).written.source ==
          Words{"b", "who", "Who", "c"});
    CHECK_THAT(usage_error([&] { translate_sentence(checkpoint_in(folder), "?!", how); }),
               ContainsSubstring("--translate must have a sentence"));
  }
}

TEST_CASE("what cannot be translated with is refused", "[kit]") {
  const Scratch scratch;
  const auto none = checkpoint_in(scratch.path("none"));
  CHECK_THAT(usage_error([&] { translate_sentence(none, "a", {}); }),
             ContainsSubstring(none.string()) && ContainsSubstring("train one first"));
  CHECK_THAT(usage_error([&] { translate_sentence(none, "  ", {}); }),  // the sentence comes first
             ContainsSubstring("--translate must have a sentence"));
  const auto file = scratch.write("text.safetensors", "not a checkpoint");
  CHECK_THAT(usage_error([&] { load_translator(file); }), ContainsSubstring("text.safetensors"));

  TrainingState state;
  state.set_text("run", "something else");
  state.save(scratch.path("other.safetensors"));
  CHECK_THAT(usage_error([&] { load_translator(scratch.path("other.safetensors")); }),
             ContainsSubstring("other.safetensors"));

  train(tiny(false), scratch.path("good"));
  const auto good = checkpoint_in(scratch.path("good"));
  for (const auto& [name, text] : {std::pair<const char*, const char*>{"width", "x"},
                                   {"width", "9"},
                                   {"width", "16"},
                                   {"width", "0"},
                                   {"heads", "0"},
                                   {"heads", "3"},
                                   {"layers", "3"},
                                   {"layers", "8x"},
                                   {"units", "-1"}}) {
    TrainingState changed = load_checkpoint(good);
    changed.set_text(name, text);
    changed.save(scratch.path("changed.safetensors"));
    CAPTURE(name, text);
    CHECK_THAT(usage_error([&] { load_translator(scratch.path("changed.safetensors")); }),
               ContainsSubstring("must be a translator's checkpoint"));
  }
}

TEST_CASE("sizes above those of a checkpoint's own tensors are refused before a model is built", "[kit]") {
  const Scratch scratch;
  const Corpus corpus = tiny_corpus();
  TranslatorConfig config;
  config.embedding = config.hidden = 4;
  auto recurrent = make_translator(config, corpus.source.size(), corpus.target.size());
  recurrent->initialise(1);
  train_translator(*recurrent, corpus,
                   {.name = "test",
                    .out = scratch.path("recurrent"),
                    .steps = 1,
                    .steps_per_look = 1,
                    .batch = 2,
                    .texts = texts_of(config)});
  train(tiny(false), scratch.path("false"));
  train(tiny(true), scratch.path("true"));
  const TrainingState whole = load_checkpoint(checkpoint_in(scratch.path("false")));
  const ModelBounds bounds = bounds_of_model(whole);
  CHECK(bounds.layers == static_cast<Size>(whole.sections.at("model").size()));
  CHECK(bounds.width == std::max({Size{12}, corpus.source.size(), corpus.target.size()}));
  for (const auto& [folder, name] : {std::pair<const char*, const char*>{"false", "layers"},
                                     {"false", "width"},
                                     {"false", "heads"},
                                     {"false", "units"},
                                     {"true", "layers"},
                                     {"true", "width"},
                                     {"recurrent", "embedding"},
                                     {"recurrent", "hidden"},
                                     {"recurrent", "readout"}})
    for (const char* value : {"1000000", "1000000000000", "18446744073709551615"}) {
      TrainingState changed = load_checkpoint(checkpoint_in(scratch.path(folder)));
      changed.set_text(name, value);
      changed.save(scratch.path("changed.safetensors"));
      CAPTURE(folder, name, value);
      // This sentence comes from the check of the size alone, which is made before anything is built.
      CHECK_THAT(usage_error([&] { load_translator(scratch.path("changed.safetensors")); }),
                 ContainsSubstring("changed.safetensors must be a translator's checkpoint") &&
                     ContainsSubstring(std::string("\"") + name + "\" must be from ") &&
                     ContainsSubstring(std::string(", got ") + value));
    }
}

TEST_CASE("a checkpoint on other text is refused, with dictionaries of one size too", "[kit]") {
  const Scratch scratch;
  TranslatorConfig config;
  config.embedding = config.hidden = 4;
  const auto run = [&](const Corpus& corpus) {
    auto model = make_translator(config, corpus.source.size(), corpus.target.size());
    model->initialise(1);
    train_translator(*model, corpus,
                     {.name = "test", .out = scratch.folder(), .steps = 4, .steps_per_look = 4, .batch = 2});
  };
  const Corpus corpus = tiny_corpus();
  run(corpus);
  CHECK_NOTHROW(run(corpus));
  Corpus pairs = corpus, words = corpus, tests = corpus;
  std::swap(pairs.train[0].target, pairs.train[1].target);  // the same words, otherwise paired
  words.source = Vocabulary::of({"b", "c", "a", "e"});      // the same numbers for other words
  REQUIRE(words.source.size() == corpus.source.size());
  for (const Corpus* other : {&pairs, &words})
    CHECK_THAT(usage_error([&] { run(*other); }), ContainsSubstring("checkpoint of another run (text ") &&
                                                      ContainsSubstring("not of this one (text "));
  tests.valid.source.pop_back();  // nothing is learned from these
  tests.valid.target.pop_back();
  CHECK_NOTHROW(run(tests));
}

TEST_CASE("which translator --translate means", "[kit]") {
  const Scratch scratch;
  const auto real = scratch.path("multi30k"), toy = scratch.path("grammar");
  CHECK(folder_to_translate_with(real, toy, false) == toy);
  CHECK(folder_to_translate_with(real, toy, true) == real);
  train(tiny(false), real);
  CHECK(folder_to_translate_with(real, toy, false) == real);
}

}  // namespace tapestry::kit
