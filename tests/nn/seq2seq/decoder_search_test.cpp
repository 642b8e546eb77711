// Searches with every decoder against plain searches of one sentence, which score each hypothesis from its
// beginning by teacher forcing: no cache, no rows that are kept, no state that is carried on.
#include "nn/attention/weight_recorder.hpp"
#include "nn/sample.hpp"
#include "nn/seq2seq/seq2seq.hpp"
#include "nn/transformer/transformer.hpp"
#include "tests/nn/golden.hpp"
#include "tests/nn/plain_search.hpp"

using namespace tapestry;
using testing::Ids;
using testing::PlainResult;

namespace {

constexpr Size kWords = 11;
constexpr std::int64_t kBegin = 2, kEnd = 3;

/// A model, and where it looks: the attention of its last layer, if any.
struct Searched {
  std::unique_ptr<SequenceModel> model;
  const Attention* attention = nullptr;
};

template <class Model, class Options>
Searched searched(const Options& options, double larger) {
  auto model = std::make_unique<Model>(options);
  model->initialise(5, DType::f64);
  // First values are small: all words would be about equally likely, and ends would come by chance.
  for (const Tensor& leaf : model->parameters()) {
    Tensor target = leaf;
    assign(target, leaf.detach() * larger);
  }
  model->eval();
  const Attention* attention = nullptr;
  if constexpr (requires { model->decoder.attention; })
    attention = &model->decoder.attention;
  else if constexpr (requires { model->stack; })
    attention = &model->stack.blocks[model->stack.blocks.size() - 1].cross->attention;
  return {std::move(model), attention};
}

TranslatorOptions recurrent() {
  TranslatorOptions options;
  options.encoder = {.vocabulary = 12, .embedding = 5, .hidden = 6};
  options.decoder = {.vocabulary = kWords, .embedding = 5, .hidden = 7, .attention = 8, .readout = 5};
  return options;
}

TransformerOptions side(const PositionScheme& positions) {
  TransformerOptions options;
  options.vocabulary = 12;
  options.layers = 2;
  options.block = {.width = 8, .heads = 4, .kv_heads = 2, .hidden = 10};
  options.positions = positions;
  return options;
}

struct Named {
  const char* name;
  std::function<Searched()> make;
};

/// A recurrent translator whose decoder differs from the usual one by what `change` does.
template <class Model>
Named named(const char* name, const std::function<void(DecoderOptions&)>& change = {}) {
  return {name, [change] {
            TranslatorOptions options = recurrent();
            if (change) change(options.decoder);
            return searched<Model>(options, 2.5);
          }};
}

Named transformer(const char* name, const PositionScheme& positions) {
  return {name, [positions] {
            TransformerTranslatorOptions options{side(sinusoidal()), side(positions), false};
            options.decoder.vocabulary = kWords;
            options.decoder.tied = false;
            return searched<TransformerTranslator>(options, 1.6);
          }};
}

std::vector<Named> all() {
  const auto covered = [](DecoderOptions& o) { o.score = additive(7, 12, 6, Coverage::yes); };
  const auto lstm = [](DecoderOptions& o) { o.cell = CellKind::lstm; };
  return {
      named<PlainTranslator>("plain"),
      named<PlainTranslator>("plain, the code at every step", [](auto& o) { o.code_every_step = true; }),
      named<PlainTranslator>("plain, LSTM", lstm),
      named<Translator>("Bahdanau"),
      named<Translator>("Bahdanau, LSTM, maxout",
                        [=](auto& o) { lstm(o), o.readout_kind = ReadoutKind::maxout; }),
      named<Translator>("Bahdanau, tied, dot", [](auto& o) { o.tied = true, o.score = general(7, 12); }),
      named<Translator>("Bahdanau with coverage", covered),
      named<Translator>("Bahdanau, local", [](auto& o) { o.attend.local = local_m(1); }),
      named<LuongTranslator>("Luong", [](auto& o) { o.input_feeding = false; }),
      named<LuongTranslator>("Luong, local",
                             [](auto& o) { o.input_feeding = false, o.attend.local = local_p(2, 7, 4); }),
      named<LuongTranslator>("Luong, input feeding"),
      named<LuongTranslator>("Luong, input feeding, LSTM, coverage", [=](auto& o) { lstm(o), covered(o); }),
      named<LuongTranslator>("Luong with coverage", [=](auto& o) { o.input_feeding = false, covered(o); }),
      named<LuongTranslator>("Luong, the word in the query",
                             [](auto& o) { o.word_in_query = true, o.score = concat_score(12, 12, 6); }),
      {"Bahdanau behind a transformer",
       [] {
         Seq2SeqOptions<TransformerEncoder> options;
         options.encoder = side(sinusoidal());
         options.decoder = recurrent().decoder;
         return searched<Seq2Seq<BahdanauDecoder, TransformerEncoder>>(options, 2.0);
       }},
      transformer("transformer", sinusoidal()),
      transformer("transformer, learned places", learned_positions(16, 0.3)),
      transformer("transformer, Shaw", shaw(2)),
      transformer("transformer, T5", t5_buckets(8, 6)),
      transformer("transformer, ALiBi", alibi()),
      transformer("transformer, rotary", rotary()),
  };
}

/// A batch of sources of different lengths.
struct Sources {
  Ids ids{4, 7, 3, 0, 0, 5, 6, 8, 9, 3, 10, 3, 0, 0, 0, 11, 4, 4, 3, 0};
  std::vector<Size> lengths{3, 5, 2, 4};

  Indices batch() const { return Indices(ids, {4, 5}); }
  Ids alone(std::size_t i) const {
    const auto first = ids.begin() + static_cast<std::ptrdiff_t>(5 * i);
    return {first, first + lengths[i]};
  }
};

/// Many rows of one source, without padding, and of target words that begin alike, through teacher forcing.
testing::NextWord teacher_forced(const SequenceModel& model, const Ids& source) {
  return [&model, source](const std::vector<Ids>& prefixes) {
    const auto rows = static_cast<Size>(prefixes.size());
    Ids read, words;
    for (const Ids& prefix : prefixes) {
      read.insert(read.end(), source.begin(), source.end());
      words.push_back(kBegin);
      words.insert(words.end(), prefix.begin(), prefix.end());
    }
    const auto time = static_cast<Size>(words.size()) / rows;
    const Tensor logits =
        model(Indices(read, {rows, static_cast<Size>(source.size())}), {}, Indices(words, {rows, time}), 1);
    std::vector<std::vector<double>> found;
    for (Size row = 0; row < rows; ++row)
      found.push_back(log_softmax(select(select(logits, 0, row), 0, time - 1), -1).to_vector());
    return found;
  };
}

/// Where teacher forcing looks while it writes these words: a row of weights over the source for each.
std::vector<std::vector<double>> looks(const Searched& searched, const Ids& source, const Ids& words) {
  if (!searched.attention || words.empty()) return {};
  const WeightRecorder recorder(*searched.attention);
  Ids input{kBegin};
  input.insert(input.end(), words.begin(), words.end() - 1);
  (*searched.model)(Indices(source, {1, static_cast<Size>(source.size())}), {},
                    Indices(input, {1, static_cast<Size>(input.size())}), 1);
  std::vector<std::vector<double>> all;
  for (const Tensor& weights : recorder.weights()) {  // (1, heads…, some queries, source)
    Tensor mean_of_heads = weights;
    while (mean_of_heads.rank() > 3) mean_of_heads = mean(mean_of_heads, {1});
    for (Size t = 0; t < mean_of_heads.size(1); ++t)
      all.push_back(select(select(mean_of_heads, 1, t), 0, 0).to_vector());
  }
  return all;
}

void check_looks(const Decoded& found, const std::vector<std::vector<double>>& wanted) {
  REQUIRE(found.alignment.size() == wanted.size());
  for (std::size_t t = 0; t < wanted.size(); ++t)
    for (std::size_t j = 0; j < found.alignment[t].size(); ++j)
      CHECK(std::abs(found.alignment[t][j] - (j < wanted[t].size() ? wanted[t][j] : 0)) < 1e-10);
}

/// log P of what was written, the end too, scored from the beginning.
double rescored(const testing::NextWord& next, const Decoded& found) {
  double sum = 0;
  Ids so_far;
  for (const std::int64_t id : found.ids) {
    sum += next({so_far}).front().at(static_cast<std::size_t>(id));
    so_far.push_back(id);
  }
  return found.ended ? sum + next({so_far}).front().at(kEnd) : sum;
}

}  // namespace

TEST_CASE("every decoder's searches find what a plain search by teacher forcing finds") {
  const Sources sources;
  for (const Named& named : all()) {
    CAPTURE(named.name);
    const Searched searched = named.make();
    const SequenceModel& model = *searched.model;
    std::size_t differ = 0;
    for (const Size beam : {1, 2, 4}) {
      const SearchOptions how{.begin = kBegin, .end = kEnd, .max_length = 9, .beam = beam};
      const auto by_greedy = greedy(*model.begin(sources.batch(), ValidLengths(sources.lengths)), how),
                 by_beam = beam_search(*model.begin(sources.batch(), ValidLengths(sources.lengths)), how);
      for (std::size_t i = 0; i < sources.lengths.size(); ++i) {
        CAPTURE(beam, i);
        const Ids source = sources.alone(i);
        const auto next = teacher_forced(model, source);
        const PlainResult alone = testing::plain_greedy(next, how), wide = testing::plain_beam(next, how);
        const auto check = [&](const Decoded& found, const PlainResult& wanted) {
          REQUIRE(found.ids == wanted.ids);
          CHECK(found.ended == wanted.ended);
          CHECK(found.log_probability == Approx(wanted.log_probability).epsilon(1e-9));
          CHECK(found.score == Approx(wanted.score).epsilon(1e-9));
          check_looks(found, looks(searched, source, wanted.ids));
        };
        check(by_greedy[i], alone);
        check(by_beam[i], wide);
        differ += alone.ids != wide.ids;
      }
    }
    CHECK(differ > 0);  // or no hypothesis ever overtook another
  }
}

TEST_CASE("what is drawn from every decoder is as likely as teacher forcing says") {
  const Sources sources;
  for (const Named& named : all()) {
    CAPTURE(named.name);
    const Searched searched = named.make();
    std::size_t ended = 0;
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
      const auto drawn =
          sample(*searched.model->begin(sources.batch(), ValidLengths(sources.lengths)),
                 {.begin = kBegin, .end = kEnd, .max_length = 8, .temperature = 1.5, .seed = seed});
      for (std::size_t i = 0; i < drawn.size(); ++i) {
        const Ids source = sources.alone(i);
        CHECK(drawn[i].log_probability ==
              Approx(rescored(teacher_forced(*searched.model, source), drawn[i])).epsilon(1e-9));
        check_looks(drawn[i], looks(searched, source, drawn[i].ids));
        ended += drawn[i].ended;
      }
    }
    CHECK(ended > 0);  // or no row ever left
  }
}

namespace {

/// What follows a text by the whole text's logits.
testing::NextWord goes_on(const LanguageModel& model, const Ids& prompt) {
  return [&model, prompt](const std::vector<Ids>& prefixes) {
    const auto rows = static_cast<Size>(prefixes.size());
    Ids words;
    for (const Ids& prefix : prefixes) {
      words.insert(words.end(), prompt.begin(), prompt.end());
      words.insert(words.end(), prefix.begin(), prefix.end());
    }
    const auto time = static_cast<Size>(words.size()) / rows;
    const Tensor logits = model(Indices(words, {rows, time}));
    std::vector<std::vector<double>> found;
    for (Size row = 0; row < rows; ++row)
      found.push_back(log_softmax(select(select(logits, 0, row), 0, time - 1), -1).to_vector());
    return found;
  };
}

}  // namespace

TEST_CASE("a language model goes on from its prompts as whole texts say, by any search") {
  const std::vector<std::pair<const char*, PositionScheme>> schemes{
      {"none", no_positions()}, {"sinusoidal", sinusoidal()}, {"learned", learned_positions(24, 0.3)},
      {"shaw", shaw(2)},        {"t5", t5_buckets(8, 6)},     {"alibi", alibi()},
      {"rotary", rotary()}};
  const std::vector<Ids> prompts{{4, 5, 6, 7}, {8, 3, 2, 1}, {1, 1, 9, 2}};
  Ids flat, last;
  for (const Ids& prompt : prompts) {
    flat.insert(flat.end(), prompt.begin(), prompt.end());
    last.push_back(prompt.back());
  }
  for (const auto& [name, scheme] : schemes) {
    CAPTURE(name);
    LanguageModel model(side(scheme));
    model.initialise(3, DType::f64);
    for (const Tensor& leaf : model.parameters()) {
      Tensor target = leaf;
      assign(target, leaf.detach() * 1.5);
    }
    model.eval();
    const auto begun = [&] { return model.begin(Indices(flat, {3, 4}), 2); };
    for (const Size beam : {1, 3}) {
      const SearchOptions how{.first = last, .end = kEnd, .max_length = 12, .beam = beam};
      const auto by_greedy = greedy(*begun(), how), by_beam = beam_search(*begun(), how);
      for (std::size_t i = 0; i < prompts.size(); ++i) {
        const auto next = goes_on(model, prompts[i]);
        const PlainResult alone = testing::plain_greedy(next, how), wide = testing::plain_beam(next, how);
        CHECK(by_greedy[i].ids == alone.ids);
        CHECK(by_greedy[i].log_probability == Approx(alone.log_probability).epsilon(1e-9));
        CHECK(by_beam[i].ids == wide.ids);
        CHECK(by_beam[i].log_probability == Approx(wide.log_probability).epsilon(1e-9));
      }
    }
    const auto drawn = sample(*begun(), {.first = last, .end = kEnd, .max_length = 12});
    for (std::size_t i = 0; i < prompts.size(); ++i)
      CHECK(drawn[i].log_probability == Approx(rescored(goes_on(model, prompts[i]), drawn[i])).epsilon(1e-9));
  }
}

TEST_CASE("a text longer than a cache had room for goes on as if it had") {
  const bool grouped = GENERATE(false, true);
  TransformerOptions options = side(rotary());
  options.layers = 1;
  if (!grouped) options.block.kv_heads = 0;
  LanguageModel model(options);
  model.initialise(4, DType::f64);
  model.eval();
  const SearchOptions how{.first = {6, 9}, .end = -1, .max_length = 140};
  const auto written = greedy(*model.begin(Indices{4, 5, 6, 7, 8, 9}.reshape({2, 3})), how);  // room for 64
  for (std::size_t row = 0; row < 2; ++row) {
    Ids text = row == 0 ? Ids{4, 5, 6} : Ids{7, 8, 9};
    REQUIRE(written[row].ids.size() == 140);
    text.insert(text.end(), written[row].ids.begin(), written[row].ids.end());
    // At every place the likeliest word by the whole text.
    const Tensor logits = log_softmax(model(Indices(text, {1, static_cast<Size>(text.size())})), -1);
    const Ids likeliest = argmax(logits).to_vector();
    double sum = 0;
    for (std::size_t at = 3; at < text.size(); ++at) {
      CHECK(likeliest[at - 1] == text[at]);
      sum += logits.at({0, static_cast<Size>(at) - 1, text[at]});
    }
    CHECK(written[row].log_probability == Approx(sum).epsilon(1e-9));
  }
}

TEST_CASE("a translation longer than a cache had room for goes on as if it had") {
  TransformerTranslatorOptions options{side(sinusoidal()), side(alibi()), false};
  TransformerTranslator model(options);
  model.initialise(4, DType::f64);
  model.eval();
  const Ids source{4, 5, 6};
  const auto written = greedy(*model.begin(Indices(source, {1, 3}), {3}),
                              {.begin = kBegin, .end = -1, .max_length = 70});  // room for 32
  Ids words{kBegin};
  words.insert(words.end(), written[0].ids.begin(), written[0].ids.end() - 1);
  const Tensor logits = log_softmax(model(Indices(source, {1, 3}), {3}, Indices(words, {1, 70})), -1);
  CHECK(argmax(logits).to_vector() == written[0].ids);
  double sum = 0;
  for (Size at = 0; at < 70; ++at) sum += logits.at({0, at, written[0].ids[static_cast<std::size_t>(at)]});
  CHECK(written[0].log_probability == Approx(sum).epsilon(1e-9));
}
