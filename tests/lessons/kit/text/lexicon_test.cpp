// Lexicons: whole words, and words in pieces, from a text to a translation and back from a checkpoint.
#include "lessons/kit/text/lexicon.hpp"

#include <algorithm>
#include <numeric>

#include "core/tensor/create.hpp"
#include "lessons/kit/translation/bleu.hpp"
#include "lessons/kit/translation/recurrent_config.hpp"
#include "lessons/kit/translation/saved.hpp"
#include "lessons/kit/translation/training.hpp"
#include "tests/catch.hpp"
#include "tests/lessons/kit/scratch.hpp"

namespace tapestry::kit {
namespace {

using Catch::Matchers::ContainsSubstring;

const std::vector<Words> kText = {{"lower", "low", "new", "low"},
                                  {"lowest", "low", "new", "new"},
                                  {"newer", "new", "new", "low"},
                                  {"low", "newest", "low", "low"}};

Lexicon whole() { return Lexicon::learn(kText, 1); }
Lexicon cut(Size merges = 6) { return Lexicon::learn(kText, 1, merges); }

Size last(const std::vector<Size>& places) { return places.empty() ? -1 : places.back(); }

/// Says what the script says, and looks where the script looks, whatever it reads: one sentence at a time.
class Scripted : public SequenceModel {
 public:
  Scripted(Ids script, std::vector<std::vector<double>> looks, Size words)
      : script_(std::move(script)), looks_(std::move(looks)), words_(words) {}

  Tensor operator()(const Indices&, const ValidLengths&, const Indices&, double) const override { return {}; }
  std::unique_ptr<AutoregressiveModel> begin(const Indices&, const ValidLengths&) const override {
    return std::make_unique<Saying>(*this);
  }

 private:
  struct Saying : AutoregressiveModel {
    explicit Saying(const Scripted& in) : all(in) {}
    Size rows() const override { return 1; }
    Step step(const Indices&) override {
      std::vector<double> logits(static_cast<std::size_t>(all.words_));
      logits[static_cast<std::size_t>(all.script_.at(at))] = 9;
      const std::vector<double>& look = all.looks_.at(at++);
      return {tensor(logits, {1, all.words_}), tensor(look, {1, static_cast<Size>(look.size())})};
    }
    void reorder_rows(const std::vector<Size>&) override {}
    const Scripted& all;
    std::size_t at = 0;
  };

  Ids script_;
  std::vector<std::vector<double>> looks_;
  Size words_;
};

/// Sentences of few words that share pieces, and what becomes of them.
void write_corpus(const Scratch& scratch) {
  const std::string english =
                        "lower low new low\nlowest low new new\nnewer new new low\nlow newest low low\n",
                    french =
                        "plus bas neuf bas\nplusbas bas neuf neuf\nneuve neuf neuf bas\nbas neuve bas bas\n";
  for (const char* part : {"train", "val", "test_2016_flickr"}) {
    scratch.write(std::string(part) + ".en", english);
    scratch.write(std::string(part) + ".fr", french);
  }
}

TranslatorConfig tiny() {
  TranslatorConfig config;
  config.embedding = config.hidden = 16;
  return config;
}

TranslatorTraining training(const Scratch& scratch, Size steps) {
  TranslatorTraining how;
  how.name = "test";
  how.out = scratch.path("run");
  how.steps = how.steps_per_look = steps;
  how.batch = 2;
  how.rate = 0.02;
  how.rise = 0;  // the same rate at every step but the last, however many there are
  how.hold = 0.99;
  how.texts = texts_of(tiny());
  return how;
}

std::unique_ptr<SequenceModel> model_for(const Corpus& corpus) {
  auto model = make_translator(tiny(), corpus.source.size(), corpus.target.size());
  model->initialise(1);
  return model;
}

}  // namespace

TEST_CASE("a lexicon of whole words is its vocabulary", "[kit]") {
  const Lexicon lexicon = whole();
  CHECK(lexicon.vocabulary() == Vocabulary::build(kText));
  CHECK_FALSE(lexicon.byte_pairs());
  CHECK(lexicon.text() == "6 words");
  CHECK(lexicon.split({"lower", "unseen"}) == Words{"lower", "unseen"});
  CHECK(lexicon.join({"lower", "unseen"}) == Words{"lower", "unseen"});
  CHECK(lexicon.places({"lower", "unseen"}) == std::vector<Size>{0, 1});
  CHECK(lexicon.labels({"lower", "unseen"}) == Words{"lower", "unseen"});
  CHECK(lexicon.contains("lower"));
  CHECK_FALSE(lexicon.contains("lowly"));
  CHECK(lexicon.encode_target({"low"}) == Ids{kStart, lexicon.vocabulary().id("low"), kEnd});
  CHECK(Lexicon::learn(kText, 2).size() == 4 + 2);  // low and new
}

TEST_CASE("a lexicon of pieces cuts every word and joins it again", "[kit]") {
  const Lexicon lexicon = cut();
  REQUIRE(lexicon.byte_pairs());
  CHECK(lexicon.byte_pairs()->size() == 6);
  CHECK_THAT(lexicon.text(), ContainsSubstring("pieces of words"));
  for (const Words& words : std::vector<Words>{{"lower"}, {"newest", "low"}, {"été", "日本", "x"}, {}}) {
    const Words pieces = lexicon.split(words);
    CHECK(lexicon.join(pieces) == words);
    CHECK(last(lexicon.places(pieces)) + 1 == static_cast<Size>(words.size()));
    Words labels = lexicon.labels(words);
    CHECK(labels.size() == pieces.size());
    std::string letters = join_words(labels);
    std::string::size_type at = 0;
    while ((at = letters.find("- ")) != letters.npos) letters.erase(at, 2);
    CHECK(letters == join_words(words));
  }
  const Lexicon frequent = Lexicon::learn(kText, 3, 6);  // without "s", which is there twice
  CHECK(frequent.byte_pairs() == lexicon.byte_pairs());
  CHECK(lexicon.vocabulary().contains("s"));
  CHECK_FALSE(frequent.vocabulary().contains("s"));
  // "low" was merged whole; a word that was never seen is known if its pieces are.
  CHECK(lexicon.split({"low"}).size() == 1);
  CHECK_FALSE(lexicon.vocabulary().contains("lower"));
  CHECK(lexicon.contains("lower"));
  CHECK(lexicon.contains("newewer"));
  CHECK_FALSE(lexicon.contains("lowly"));
  CHECK(lexicon.encode_source({"lower"}).size() == lexicon.split({"lower"}).size() + 1);
  CHECK(lexicon.encode_target({"lower"}).size() == lexicon.split({"lower"}).size() + 2);
  const Ids ids = lexicon.vocabulary().encode(lexicon.split({"newest", "lower"}));
  CHECK(lexicon.join(lexicon.pieces(ids)) == Words{"newest", "lower"});
}

TEST_CASE("lexicons travel with a checkpoint", "[kit]") {
  const Scratch scratch;
  for (const Lexicon& lexicon : {whole(), cut()}) {
    std::map<std::string, std::string> texts;
    lexicon.put(texts, "source");
    CHECK(texts.size() == (lexicon.byte_pairs() ? 2 : 1));
    TrainingState state;
    for (const auto& [name, text] : texts) state.set_text(name, text);
    state.save(scratch.path("state"));
    CHECK(Lexicon::from(TrainingState::load(scratch.path("state")), "source", "state") == lexicon);
  }
  CHECK_FALSE(cut() == whole());
  CHECK_FALSE(cut() == Lexicon(cut().vocabulary()));
}

TEST_CASE("weights of pieces become weights of words", "[kit]") {
  const Lexicon lexicon = cut(2);
  const Words read = {"newest", "low"}, written = {"lower", "new"};
  const std::vector<Size> columns = lexicon.places(lexicon.split(read)),
                          rows = lexicon.places(lexicon.split(written));
  REQUIRE(std::count(columns.begin(), columns.end(), 0) > 1);
  REQUIRE(std::count(rows.begin(), rows.end(), 0) > 1);
  Ids script = lexicon.vocabulary().encode(lexicon.split(written));
  script.push_back(kEnd);
  // Row r looks at each piece in proportion to 1 + r + its column, and so at the end.
  std::vector<std::vector<double>> looks(script.size());
  std::vector<std::vector<double>> wanted(written.size(), std::vector<double>(read.size() + 1));
  for (std::size_t r = 0; r < looks.size(); ++r) {
    for (std::size_t c = 0; c <= columns.size(); ++c) looks[r].push_back(static_cast<double>(1 + r + c));
    const double sum = std::accumulate(looks[r].begin(), looks[r].end(), 0.0);
    for (double& weight : looks[r]) weight /= sum;
    if (r == rows.size()) continue;  // <end> has no row
    const auto pieces = static_cast<double>(std::count(rows.begin(), rows.end(), rows[r]));
    std::vector<double>& word = wanted[static_cast<std::size_t>(rows[r])];
    for (std::size_t c = 0; c <= columns.size(); ++c)
      word[c == columns.size() ? read.size() : static_cast<std::size_t>(columns[c])] += looks[r][c] / pieces;
  }
  Scripted model(script, looks, lexicon.size());
  const Translation translation = translate(model, lexicon, lexicon, {read}).front();
  CHECK(translation.source == read);
  CHECK(translation.words == written);
  REQUIRE(translation.alignment.size() == written.size());
  for (std::size_t word = 0; word < written.size(); ++word) {
    REQUIRE(translation.alignment[word].size() == read.size() + 1);
    double sum = 0;
    for (std::size_t c = 0; c <= read.size(); ++c) {
      CHECK(translation.alignment[word][c] == Approx(wanted[word][c]).epsilon(1e-5));
      sum += translation.alignment[word][c];
    }
    CHECK(sum == Approx(1).epsilon(1e-5));
  }
}

TEST_CASE("a translator of pieces is judged by words, resumed, and loaded again", "[kit]") {
  const Scratch scratch;
  write_corpus(scratch);
  const Corpus words = read_multi30k(scratch.folder(), "en", "fr", {.at_least = 1}),
               corpus = read_multi30k(scratch.folder(), "en", "fr", {.at_least = 1, .merges = 5});
  CHECK(words.source == whole());
  CHECK(corpus.source == cut(5));
  CHECK(corpus.target.byte_pairs());
  CHECK_THAT(corpus.text(),
             ContainsSubstring("4 sentence pairs") && ContainsSubstring("pieces of words and"));
  CHECK(corpus.valid.target == words.valid.target);  // words, whatever the model reads
  for (std::size_t i = 0; i < corpus.train.size(); ++i) {
    const Ids& ids = corpus.train[i].target;
    CHECK(corpus.target.join(corpus.target.pieces(Ids(ids.begin() + 1, ids.end() - 1))) ==
          corpus.valid.target[i]);
  }

  constexpr Size kSteps = 120;
  const auto model = model_for(corpus);
  CHECK(train_translator(*model, corpus, training(scratch, kSteps)).step == kSteps);
  const auto written = translate(*model, corpus.source, corpus.target, corpus.test.source);
  CHECK(words_of(written) == corpus.test.target);
  CHECK(corpus_bleu(words_of(written), corpus.test.target).score == Approx(100));
  for (const Translation& one : written) {
    REQUIRE(one.alignment.size() == one.words.size());
    for (const auto& weights : one.alignment) CHECK(weights.size() == one.source.size() + 1);
  }

  // Broken off and gone on with: the same weights.
  std::filesystem::remove_all(scratch.path("run"));
  const auto first = model_for(corpus), second = model_for(corpus);
  train_translator(*first, corpus, training(scratch, kSteps / 3));
  train_translator(*second, corpus, training(scratch, kSteps));
  const SavedTranslator saved = load_translator(scratch.path("run") / "checkpoint.safetensors");
  for (const auto& [name, weight] : model->state()) {
    CHECK(second->state().at(name).to_vector() == weight.to_vector());
    CHECK(saved.model->state().at(name).to_vector() == weight.to_vector());
  }
  CHECK(saved.source == corpus.source);
  CHECK(saved.target == corpus.target);
  CHECK(words_of(translate(*saved.model, saved.source, saved.target, corpus.test.source)) ==
        corpus.test.target);
}

}  // namespace tapestry::kit
