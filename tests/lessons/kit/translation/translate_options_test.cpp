// translate() searches as its options say, and gives each sentence its own translation back.
#include "core/core.hpp"
#include "lessons/kit/random.hpp"
#include "lessons/kit/tensors.hpp"
#include "lessons/kit/translation/corpus.hpp"
#include "lessons/kit/translation/recurrent_config.hpp"
#include "tests/catch.hpp"

namespace tapestry::kit {
namespace {

/// A translator whose words depend on what it reads, and that ends at different lengths.
std::unique_ptr<SequenceModel> model_of(Size source, Size target) {
  TranslatorConfig config;
  config.embedding = 6;
  config.hidden = 7;
  auto model = make_translator(config, source, target);
  model->initialise(11, DType::f64);
  for (auto& [name, weight] : model->state()) {
    Tensor changed = weight;
    assign(changed, weight * 3.0);
  }
  return model;
}

}  // namespace

TEST_CASE("sentences are translated together as each is alone, whatever the options", "[kit]") {
  std::vector<Words> sentences;
  Random random(2);
  for (int i = 0; i < 23; ++i) {
    Words words;
    for (auto n = random.between(1, 7); n > 0; --n)
      words.push_back(std::string(1, static_cast<char>('a' + random.below(6))));
    sentences.push_back(words);
  }
  const Lexicon source = Vocabulary::build({{"a", "b", "c", "d", "e", "f"}}),
                target = Vocabulary::build({{"p", "q", "r", "s", "t"}});
  const auto model = model_of(source.size(), target.size());
  std::vector<std::vector<Words>> found;
  for (const TranslateOptions& how : {TranslateOptions{.max_length = 12}, TranslateOptions{.max_length = 3},
                                      TranslateOptions{.beam = 4, .max_length = 12},
                                      TranslateOptions{.beam = 4, .max_length = 12, .batch = 5},
                                      TranslateOptions{.beam = 4, .max_length = 12, .length_power = 3}}) {
    const auto together = translate(*model, source, target, sentences, how);
    CHECK(model->training());  // as before
    const Evaluating evaluating(*model);
    for (std::size_t i = 0; i < sentences.size(); ++i) {
      CAPTURE(i, how.beam, how.max_length, how.batch, how.length_power);
      const Ids ids = source.encode_source(sentences[i]);
      const auto search =
          model->begin(Indices(ids, {1, static_cast<Size>(ids.size())}), {static_cast<Size>(ids.size())});
      const Decoded alone = beam_search(*search, {.begin = kStart,
                                                  .end = kEnd,
                                                  .max_length = how.max_length,
                                                  .beam = how.beam,
                                                  .length_power = how.length_power})
                                .front();
      CHECK(together[i].source == sentences[i]);
      CHECK(together[i].words == target.pieces(alone.ids));
      REQUIRE(together[i].alignment.size() == alone.alignment.size());
      for (std::size_t t = 0; t < alone.alignment.size(); ++t)
        for (std::size_t j = 0; j < ids.size(); ++j)
          CHECK(together[i].alignment[t][j] == Approx(alone.alignment[t][j]).margin(1e-10));
    }
    found.push_back(words_of(together));
  }
  // Every option matters here, but for the size of a batch.
  CHECK(found[0] != found[1]);
  CHECK(found[0] != found[2]);
  CHECK(found[2] == found[3]);
  CHECK(found[2] != found[4]);
}

}  // namespace tapestry::kit
