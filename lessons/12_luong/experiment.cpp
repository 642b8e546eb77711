// The lookup task with one decoder and several scores: nn/'s models, their training, accuracy and weights. Also the
// trail task, which shows the effect of input feeding.
#include "lessons/12_luong/experiment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "core/core.hpp"
#include "lessons/kit/check/agreement.hpp"
#include "lessons/kit/text/vocabulary.hpp"
#include "lessons/kit/train/loop.hpp"
#include "nn/attention/weight_recorder.hpp"

namespace tapestry::lesson12 {
namespace {

constexpr Size kEmbedding = 32, kHidden = 64, kMostPairs = 16;
constexpr std::uint64_t kTestStreams = 1'000'000;  // far from the streams of training

using Draw = Lookups (*)(kit::Random random, Size count, Size pairs);

template <class Model>
std::pair<std::unique_ptr<SequenceModel>, const Attention*> make_model(const TranslatorOptions& options) {
  auto model = std::make_unique<Model>(options);
  const Attention* attention = &model->decoder.attention;
  return {std::move(model), attention};
}

void train(LookupModel& model, const std::string& name, Draw draw, const kit::Options& options) {
  constexpr Size kBatch = 64, kFewest = 2, kMost = 8;
  model.network->initialise(options.seed);
  kit::train(*model.network, {.name = name, .steps = options.steps, .batch = kBatch, .seed = options.seed},
             [&](kit::Random random) {
               const Size pairs = random.between(kFewest, kMost);
               const Lookups batch = draw(random, kBatch, pairs);
               return cross_entropy((*model.network)(batch.source, {}, batch.questions), batch.answers);
             });
}

Lookups test_lists(Draw draw, const kit::Options& options, Size pairs) {
  return draw(kit::Random(options.seed, kTestStreams + static_cast<std::uint64_t>(pairs)),
              options.smoke ? 20 : 1000, pairs);
}

/// Returns the answers (B, T), and stores the weights (B, T, 2 · pairs) in `weights`.
Indices answer(const LookupModel& model, const Lookups& lists, Tensor& weights) {
  const WeightRecorder recorder(*model.attention);
  const Indices written = argmax((*model.network)(lists.source, {}, lists.questions));
  weights = concat(recorder.weights(), 1);  // one call for all questions, or one call per question
  return written;
}

LookupAccuracy count(const LookupModel& model, const kit::Options& options, Size pairs) {
  const Lookups lists = test_lists(draw_lookups, options, pairs);
  Tensor weights;
  const Indices written = answer(model, lists, weights);
  LookupAccuracy counted{kit::percent_equal(written, lists.answers),
                         kit::percent_rows_equal(written, lists.answers), 0, 0};
  const kit::Ids source = lists.source.to_vector(), asked = lists.questions.to_vector();
  const std::vector<double> all = weights.to_vector();
  const auto rows = static_cast<std::size_t>(lists.source.shape()[0]), n = static_cast<std::size_t>(pairs);
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t t = 0; t < n; ++t) {
      const double* here = &all[(row * n + t) * 2 * n];
      const double* other = &all[(row * n + (t + 1) % n) * 2 * n];  // of the next question
      for (std::size_t j = 0; j < 2 * n; ++j) {
        if (source[row * 2 * n + j / 2 * 2] == asked[row * n + t]) counted.weight_on_pair += here[j];
        counted.weight_in_common += std::min(here[j], other[j]);
      }
    }
  for (double* sum : {&counted.weight_on_pair, &counted.weight_in_common})
    *sum *= 100 / static_cast<double>(rows * n);
  return counted;
}

const char* formula(Kind kind) {
  switch (kind) {
    case Kind::dot:
      return "q · k";
    case Kind::general:
      return "q · W k";
    case Kind::concat:
      return "v · tanh(W [q; k])";
    case Kind::location:
      return "(W q)_j";
    case Kind::fully_connected:
      return "(W [e; q])_j";
    case Kind::scaled_dot:
      return "q · k / √d";
  }
  return "";
}

void show_weights(const LookupModel& model, const kit::Options& options) {
  constexpr Size kShown = 6;
  const Lookups one = draw_lookups(kit::Random(options.seed, 2'000'000), 1, kShown);
  Tensor weights;
  const kit::Ids written = answer(model, one, weights).to_vector(), questions = one.questions.to_vector(),
                 answers = one.answers.to_vector();
  kit::Heatmap map;
  map.title = fmt::format("{}: {}", model.name(), formula(model.kind));
  map.column_axis = "source", map.row_axis = "questions and answers";
  for (const std::int64_t id : one.source.to_vector()) map.columns.push_back(lookup_symbol(id));
  for (std::size_t t = 0; t < questions.size(); ++t)
    map.rows.push_back(fmt::format("{}? {} {}", lookup_symbol(questions[t]), lookup_symbol(written[t]),
                                   written[t] == answers[t] ? "✓" : "✗"));
  map.values = weights.to_vector();
  std::string file = model.name();
  std::erase(file, ',');
  std::replace(file.begin(), file.end(), ' ', '_');
  kit::show(map, options.out / (file + ".svg"));
}

void draw_scores(const std::vector<Result>& results, const kit::Options& options) {
  kit::Chart chart{"Lookup accuracy with each score", "pairs in the list", "answers right in %", {}, {}};
  for (const Result& result : results) {
    kit::Series& series = chart.series.emplace_back(kit::Series{result.model.name(), {}, {}});
    series.dashes = static_cast<int>(chart.series.size() - 1) % 3;  // some curves overlap
    for (const auto& [pairs, counted] : result.at) {
      series.x.push_back(static_cast<double>(pairs));
      series.y.push_back(counted.symbols);
    }
  }
  kit::show(chart, options.out / "scores.svg");
}

/// Sizes for OneStep. Dot requires that the query is as wide as a key.
constexpr Sizes kSizes{.embedding = 3, .query = 4, .key = 6, .units = 7, .longest = 8};
Size query_width(Kind kind) { return kind == Kind::dot ? kSizes.key : kSizes.query; }

}  // namespace

ScoreFactory make_score(Kind kind, const Sizes& sizes) {
  switch (kind) {
    case Kind::dot:
      return dot();
    case Kind::general:
      return general(sizes.query, sizes.key);
    case Kind::concat:
      return concat_score(sizes.query, sizes.key, sizes.units);
    case Kind::location:
      return location(sizes.query, sizes.longest);
    case Kind::fully_connected:
      return fully_connected(sizes.embedding, sizes.query, sizes.longest);
    case Kind::scaled_dot:
      return scaled_dot();
  }
  return dot();
}

std::string name_of(Kind kind) {
  constexpr const char* kNames[] = {"dot", "general", "concat", "location", "fully connected", "scaled dot"};
  return kNames[static_cast<std::size_t>(kind)];
}

OneStep::OneStep(Kind kind_in, std::uint64_t seed)
    : kind(kind_in),
      decoder({.states = kSizes.key, .final = kSizes.key / 2},
              {.vocabulary = 9,
               .embedding = kSizes.embedding,
               .hidden = query_width(kind),
               .readout = 5,
               .score = make_score(
                   kind, {kSizes.embedding, query_width(kind), kSizes.key, kSizes.units, kSizes.longest}),
               .word_in_query = kind == Kind::fully_connected}),
      words({4, 7}),
      fed(variable(random_normal({2, 5}, seed, DType::f64), "fed")),
      before(variable(random_normal({2, query_width(kind)}, seed + 1, DType::f64), "h")),
      source(variable(random_normal({2, 5, kSizes.key}, seed + 2, DType::f64), "source")),
      lengths({5, 3}) {
  decoder.initialise(seed, DType::f64);
}

kit::GruWeights OneStep::gru() const {
  const RecurrentCell& cell = decoder.cell;
  return {cell.weight_ih, cell.weight_hh, cell.bias_ih, cell.bias_hh};
}

Tensor OneStep::by_nn() const {
  DecoderState state{.recurrent = before, .fed = fed, .attention = {}};
  const AutoregressiveModel::Step step =
      decoder.step(words, state, decoder.prepare({.states = source, .final = {}, .lengths = lengths}));
  return concat({step.logits, step.alignment}, -1);
}

std::vector<Tensor> OneStep::leaves() const {
  std::vector<Tensor> all = {fed, before, source};
  for (const Tensor& leaf : decoder.parameters())  // `initial` computes h_0, before this step
    if (leaf.name().rfind("initial", 0) != 0) all.push_back(leaf);
  return all;
}

LookupModel::LookupModel(Kind kind_in, QueryState asks_in, bool input_feeding)
    : kind(kind_in), query_state(asks_in) {
  const TranslatorOptions options{
      {.vocabulary = kLookupVocabulary, .embedding = kEmbedding, .hidden = kHidden / 2},
      {.vocabulary = kLookupVocabulary,
       .embedding = kEmbedding,
       .hidden = kHidden,
       .readout = kHidden,
       .score = make_score(kind, {kEmbedding, kHidden, kHidden, kHidden, 2 * kMostPairs}),
       .input_feeding = input_feeding,
       .word_in_query = kind == Kind::fully_connected}};
  std::tie(network, attention) = query_state == QueryState::new_state ? make_model<LuongTranslator>(options)
                                                                      : make_model<Translator>(options);
}

std::string LookupModel::name() const {
  return name_of(kind) + (query_state == QueryState::old_state ? ", old state asks" : "");
}

Result look_up(Kind kind, QueryState query_state, const kit::Options& options) {
  Result result{LookupModel(kind, query_state), {}};
  train(result.model, result.model.name(), draw_lookups, options);
  for (Size pairs = 2; pairs <= kMostPairs; pairs += 2)
    result.at[pairs] = count(result.model, options, pairs);
  return result;
}

void print_table(const std::vector<Result>& results) {
  fmt::print(
      "  score                 formula              weights    answers right in %    lists right in %\n"
      "                                                       4 pairs     8    16   4 pairs     8    16\n");
  for (const Result& result : results) {
    const LookupAccuracy &four = result.at.at(4), &eight = result.at.at(8), &sixteen = result.at.at(16);
    fmt::print("  {:<20}  {:<18}  {:>8}    {:>7.1f} {:>5.1f} {:>5.1f}   {:>7.1f} {:>5.1f} {:>5.1f}\n",
               result.model.name(), formula(result.model.kind), kit::weights_of(*result.model.attention),
               four.symbols, eight.symbols, sixteen.symbols, four.strings, eight.strings, sixteen.strings);
  }
  fmt::print("\n");
}

std::vector<Result> all_scores(Result dot, const kit::Options& options) {
  std::vector<Result> all;
  all.push_back(std::move(dot));
  for (const Kind kind :
       {Kind::general, Kind::concat, Kind::location, Kind::fully_connected, Kind::scaled_dot})
    all.push_back(look_up(kind, QueryState::new_state, options));
  for (const Result& result : all) show_weights(result.model, options);
  draw_scores(all, options);
  print_table(all);
  return all;
}

bool check_scores(const std::vector<Result>& results, kit::Report& report) {
  bool met = true;
  for (const Result& result : results) {
    const std::string name = result.model.name();
    const LookupAccuracy &four = result.at.at(4), &eight = result.at.at(8), &sixteen = result.at.at(16);
    const auto judged = [&](bool one) { met = one && met; };
    if (result.model.kind == Kind::location || result.model.kind == Kind::fully_connected) {
      judged(report.at_most(name + ": right answers, 4 pairs", four.symbols, 60, "%"));
      judged(report.at_least(name + ": lost from 4 to 8 pairs", four.symbols - eight.symbols, 0, "points"));
      judged(report.at_least(name + ": lost from 8 to 16", eight.symbols - sixteen.symbols, 0, "points"));
    } else {
      judged(report.at_least(name + ": whole lists right, 8 pairs", eight.strings, 99, "%"));
      if (result.model.kind == Kind::scaled_dot)
        report.figure(name + ": whole lists right, 16 pairs", sixteen.strings, "%");
      else
        judged(report.at_least(name + ": whole lists right, 16 pairs", sixteen.strings, 99, "%"));
    }
  }
  return met;
}

TrailAccuracy follow_trails(bool input_feeding, const kit::Options& options) {
  LookupModel model(Kind::dot, QueryState::new_state, input_feeding);
  train(model, input_feeding ? "input feeding" : "no input feeding", draw_trails, options);
  const Lookups lists = test_lists(draw_trails, options, 8);
  const Indices written = argmax((*model.network)(lists.source, {}, lists.questions));
  TrailAccuracy trail{{}, kit::percent_rows_equal(written, lists.answers)};
  for (Size t = 0; t < lists.answers.shape()[1]; ++t)
    trail.answers.push_back(kit::percent_equal(written.column(t), lists.answers.column(t)));
  return trail;
}

void draw_trails_right(const TrailAccuracy& without, const TrailAccuracy& with, const kit::Options& options) {
  kit::Heatmap map{"Trails: right answers in %", {"1st", "2nd", "3rd", "4th"}, {}, {}};
  map.rows = {"no input feeding", "input feeding"};
  map.column_axis = "answer", map.most = 100, map.numbers = true;
  for (const TrailAccuracy* trail : {&without, &with})
    map.values.insert(map.values.end(), trail->answers.begin(), trail->answers.end());
  kit::show(map, options.out / "input_feeding.svg");
}

void check_two_widths(const kit::Options& options, kit::Report& report) {
  const Tensor query = random_normal({1, 3, 4}, options.seed), keys = random_normal({1, 5, 6}, options.seed);
  Attention adds{additive(4, 6, 5)};
  adds.initialise(options.seed);
  report.check("additive accepts queries of width 4 and keys of 6",
               adds(query, keys, keys).context.size(-1) == 6);
  bool refused = false;
  try {
    Attention{scaled_dot()}(query, keys, keys);
  } catch (const Error& error) {
    fmt::print("  {}\n", error.what());
    refused = true;
  }
  report.check("scaled dot refuses them", refused);
}

}  // namespace tapestry::lesson12
