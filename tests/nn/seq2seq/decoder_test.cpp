// The decoders: derivatives of whole models, PyTorch's numbers, and that teacher forcing, single steps and a
// search all walk the same way.
#include "core/check/gradcheck.hpp"
#include "nn/seq2seq/seq2seq.hpp"
#include "tests/nn/golden.hpp"
#include "tests/nn/tensors.hpp"

using namespace tapestry;
using testing::apart;
using testing::GoldenCase;

namespace {

enum class Kind { plain, plain_every, bahdanau, maxout, tied, luong, luong_feeding, luong_lstm, coverage };
constexpr Kind kKinds[] = {Kind::plain, Kind::plain_every,   Kind::bahdanau,   Kind::maxout,  Kind::tied,
                           Kind::luong, Kind::luong_feeding, Kind::luong_lstm, Kind::coverage};

TranslatorOptions small(Kind kind) {
  TranslatorOptions options;
  options.encoder = {.vocabulary = 9, .embedding = 3, .hidden = 4};
  options.decoder = {.vocabulary = 8, .embedding = 4, .hidden = 5, .attention = 6, .readout = 7};
  options.decoder.code_every_step = kind == Kind::plain_every;
  options.decoder.input_feeding = kind == Kind::luong_feeding || kind == Kind::luong_lstm;
  if (kind == Kind::luong_lstm) options.decoder.cell = CellKind::lstm;
  if (kind == Kind::maxout) options.decoder.readout_kind = ReadoutKind::maxout;
  if (kind == Kind::coverage) options.decoder.score = additive(5, 8, 6, Coverage::yes);
  if (kind == Kind::tied) {
    options.decoder.tied = true;
    options.decoder.readout = 4;
  }
  return options;
}

/// The model of that kind, in f64.
std::unique_ptr<SequenceModel> make(Kind kind, double dropout = 0) {
  TranslatorOptions options = small(kind);
  options.encoder.dropout = options.decoder.dropout = dropout;
  std::unique_ptr<SequenceModel> model;
  switch (kind) {
    case Kind::plain:
    case Kind::plain_every:
      model = std::make_unique<PlainTranslator>(options);
      break;
    case Kind::bahdanau:
    case Kind::maxout:
    case Kind::tied:
      model = std::make_unique<Translator>(options);
      break;
    case Kind::luong:
    case Kind::luong_feeding:
    case Kind::luong_lstm:
    case Kind::coverage:  // without input feeding, yet one query at a time
      model = std::make_unique<LuongTranslator>(options);
  }
  model->initialise(3, DType::f64);
  return model;
}

const Indices source() { return Indices{4, 5, 6, 7, 8, 0}.reshape({2, 3}); }
const Indices target() { return Indices{2, 4, 5, 3, 2, 6, 3, 0}.reshape({2, 4}); }
const ValidLengths lengths = {3, 2};

}  // namespace

TEST_CASE("gradients of whole models, for every decoder") {
  const Kind kind = GENERATE(from_range(std::begin(kKinds), std::end(kKinds)));
  CAPTURE(static_cast<int>(kind));
  const auto model = make(kind, 0.2);
  const auto loss = [&](std::span<const Tensor>) {
    return cross_entropy((*model)(source(), lengths, target().columns(0, 3)), target().columns(1, 4),
                         {.smoothing = 0.1, .ignore = 0});
  };
  const GradcheckResult found = gradcheck(loss, GradcheckInputs{}, model->parameters());
  INFO(found.report());
  CHECK(found.ok());
}

TEST_CASE("single steps give the logits of teacher forcing") {
  const Kind kind = GENERATE(from_range(std::begin(kKinds), std::end(kKinds)));
  CAPTURE(static_cast<int>(kind));
  const auto model = make(kind);
  model->eval();
  const Indices words = target().columns(0, 3);
  const Tensor forced = (*model)(source(), lengths, words);
  const auto search = model->begin(source(), lengths);
  for (Size t = 0; t < 3; ++t)
    CHECK(apart(search->step(words.column(t)).logits, select(forced, 1, t)) < 1e-12);
}

TEST_CASE("a forcing ratio of 0 feeds back the likeliest word, 1 the given one") {
  const Kind kind = GENERATE(from_range(std::begin(kKinds), std::end(kKinds)));
  CAPTURE(static_cast<int>(kind));
  const auto model = make(kind);
  const Indices words = target().columns(0, 3);
  const Tensor free = (*model)(source(), lengths, words, 0);
  model->eval();
  const auto search = model->begin(source(), lengths);
  Indices input = words.column(0);
  for (Size t = 0; t < 3; ++t) {
    const Tensor logits = search->step(input).logits;
    CHECK(apart(logits, select(free, 1, t)) < 1e-12);
    input = argmax(logits.detach());
  }
  const Tensor nearly = (*model)(source(), lengths, words, std::nextafter(1.0, 0.0));
  CHECK(apart(nearly, (*model)(source(), lengths, words)) < 1e-12);
}

TEST_CASE("a forcing ratio draws the same coins for the same step, and others for the next") {
  const auto model = make(Kind::bahdanau);
  std::vector<std::int64_t> ids;
  for (int i = 0; i < 60; ++i) ids.push_back(4 + i % 4);
  const Indices words(ids, {2, 30});
  const auto logits = [&](std::uint64_t step) {
    set_random(1, step);
    return (*model)(source(), lengths, words, 0.5);
  };
  CHECK(testing::equal_bits(logits(1), logits(1)));
  CHECK_FALSE(testing::equal_bits(logits(1), logits(2)));
}

TEST_CASE("gradients through a forcing ratio flow through the state, not through the choice") {
  const auto model = make(Kind::luong_feeding);
  const auto loss = [&](std::span<const Tensor>) {
    set_random(1, 7);
    return cross_entropy((*model)(source(), lengths, target().columns(0, 3), 0.5), target().columns(1, 4),
                         {.ignore = 0});
  };
  const GradcheckResult found = gradcheck(loss, GradcheckInputs{}, model->parameters());
  INFO(found.report());
  CHECK(found.ok());
}

TEST_CASE("decoders say what is wrong with their input") {
  const auto model = make(Kind::luong);
  using Catch::Matchers::Contains;
  CHECK_THROWS_WITH((*model)(source(), lengths, target().columns(0, 3), 1.5), Contains("forcing ratio"));
  CHECK_THROWS_WITH((*model)(source(), lengths, Indices{2, 4}), Contains("(batch, time)"));
  for (const Dims& shape : {Dims{1, 3}, Dims{3, 3}, Dims{2, 0}})  // another batch, and no time
    CHECK_THROWS_WITH(
        (*model)(source(), lengths,
                 Indices(std::vector<std::int64_t>(static_cast<std::size_t>(shape.count()), 4), shape)),
        Contains("for 2 source rows"));
  CHECK_THROWS_WITH(model->begin(source(), lengths), Contains("training mode"));
  model->eval();
  CHECK_NOTHROW(model->begin(source(), lengths));
  model->children().back().module->train();  // one part of it is enough
  CHECK_THROWS_WITH(model->begin(source(), lengths), Contains("training mode"));
}

TEST_CASE("tied words are one weight") {
  const auto tied = make(Kind::tied), loose = make(Kind::bahdanau);
  CHECK(tied->state().count("decoder.output.weight") == 0);
  CHECK(loose->state().count("decoder.output.weight") == 1);
}

TEST_CASE("decoders equal PyTorch's") {
  const std::string name =
      GENERATE("luong_feeding", "luong_without", "luong_feeding_lstm", "luong_without_lstm", "plain_first",
               "plain_every", "plain_every_lstm", "maxout");
  INFO(name);
  const GoldenCase golden("decoders", name);
  const auto has = [&](const char* part) { return name.find(part) != std::string::npos; };
  TranslatorOptions options;
  options.encoder = {.vocabulary = 9, .embedding = 4, .hidden = 3, .padding = {}};
  options.decoder = {.vocabulary = 10, .embedding = 4, .hidden = 5, .attention = 7, .readout = 6};
  options.decoder.padding = {};
  options.decoder.cell = has("lstm") ? CellKind::lstm : CellKind::gru;
  options.decoder.input_feeding = has("feeding");
  options.decoder.code_every_step = has("every");
  options.decoder.readout_kind = has("maxout") ? ReadoutKind::maxout : ReadoutKind::tanh;
  std::unique_ptr<SequenceModel> model;
  if (has("luong")) model = std::make_unique<LuongTranslator>(options);
  if (has("plain")) model = std::make_unique<PlainTranslator>(options);
  if (has("maxout")) model = std::make_unique<Translator>(options);
  golden.load_into(*model);
  const Indices target = golden.ids("target");
  const Size steps = target.shape()[1] - 1;
  Tape tape;
  const Tensor logits =
      (*model)(golden.ids("source"), golden.lengths("source.lengths"), target.columns(0, steps));
  golden.check("logits", logits);
  const Tensor loss = cross_entropy(logits, target.columns(1, steps + 1), {.ignore = 0});
  golden.check("loss", loss);
  tape.backward(golden.weigh(loss, "cotangent.loss"));
  golden.check_gradients(model->parameters());
}
