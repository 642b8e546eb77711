// Checks self-attention against nn/'s layer, marks tokens that occur twice, and measures the time of the
// layers.
#include "lessons/16_self_attention/experiment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "lessons/16_self_attention/twice.hpp"
#include "lessons/kit/check/agreement.hpp"
#include "lessons/kit/check/by_hand.hpp"
#include "lessons/kit/program/stopwatch.hpp"
#include "lessons/kit/train/loop.hpp"
#include "nn/embedding.hpp"
#include "nn/recurrent.hpp"

namespace tapestry::lesson16 {
namespace {

constexpr Size kWidth = 64, kReadout = 128;
constexpr DType kDType = DType::f64;  // for checks
using Maps = std::vector<std::vector<double>>;

/// Returns a (1, n, d) with its rows in another order.
Tensor shuffled(const Tensor& a, const Indices& order) {
  return unsqueeze(embedding(select(a, 0, 0), order), 0);
}

/// Computes b_i (d) for token `i` of a (n, d), by the four steps, one token after another.
Tensor four_steps(const Tensor& a, Size i, const SelfAttention& layer) {
  const auto role = [&](const Linear& w, Size j) { return sum(w.weight * select(a, 0, j), {-1}); };
  const Tensor q = role(*layer.query, i);
  std::vector<Tensor> scores;
  for (Size j = 0; j < a.size(0); ++j)
    scores.push_back(sum(q * role(*layer.key, j)) / std::sqrt(static_cast<double>(q.size(0))));
  const Tensor weights = softmax(stack(scores, 0), 0);
  Tensor b = zeros(q.shape(), a.dtype());
  for (Size j = 0; j < a.size(0); ++j) b = b + select(weights, 0, j) * role(*layer.value, j);
  return b;
}

/// Computes b by self-attention or by a recurrent layer. A small network, equal in all models, computes the
/// answer from the token a and its b.
struct Marker : Module {
  explicit Marker(Projected projected) { self.emplace(Parent{*this, "self"}, kWidth, projected); }
  Marker(CellKind cell, Size units) {
    recurrent.emplace(Parent{*this, "recurrent"}, cell, kWidth, units,
                      RecurrentOptions{.both_directions = true});
    widen.emplace(Parent{*this, "widen"}, 2 * units, kWidth);
  }
  /// Computes the logits of "no" and "yes" (B, n, 2) from tokens (B, n).
  Tensor operator()(const Indices& ids) const {
    const Tensor a = kinds(ids);
    const Tensor b = self ? (*self)(a).context : (*widen)((*recurrent)(a).states);
    return answer(relu(compare(concat({a, b}, -1))));
  }

  Embedding kinds{{*this, "kinds"}, kit::kTokenKinds, kWidth};
  std::optional<SelfAttention> self;
  std::optional<Recurrent> recurrent;
  std::optional<Linear> widen;
  Linear compare{{*this, "compare"}, 2 * kWidth, kReadout}, answer{{*this, "answer"}, kReadout, 2};
};

/// Trains a model, prints its row of the table, and returns the percentage of correct answers. `after_step` is
/// called after each step, and once before the first step with the number 0.
double train_and_test(Marker& model, const char* name, const kit::MarkedTokens& test,
                      const kit::Options& options, const std::function<void(Size step)>& after_step = {}) {
  constexpr Size kBatch = 64;
  model.initialise(options.seed);
  if (after_step) after_step(0);
  kit::train(model,
             {.name = name,
              .steps = options.steps,
              .rate = 5e-3,
              .batch = kBatch,
              .unit = "sequences",
              .seed = options.seed,
              .after_step = after_step},
             [&](kit::Random random) {
               const kit::MarkedTokens batch = kit::draw_marked(random, kBatch);
               return cross_entropy(model(batch.tokens), batch.answers);
             });
  const double right = kit::percent_equal(argmax(model(test.tokens)), test.answers);
  fmt::print("  {:<34}{:>10}{:>10.2f} %\n", name, kit::weights_of(model), right);
  return right;
}

/// Measures the weight of a token on all tokens with its symbol and on each of them, depending on how often the
/// symbol occurs. Draws it to like.svg.
void measure_weights(const Marker& model, const Indices& tokens, Marked& marked,
                     const kit::Options& options) {
  const Tensor kinds = one_hot(tokens, kit::kTokenKinds),
               same = matmul(kinds, transpose(kinds));  // 1: a pair with the same symbol
  const Tensor weights = (*model.self)(model.kinds(tokens)).weights;
  const std::vector<double> own = sum(weights * same, {-1}).to_vector(), count = sum(same, {-1}).to_vector();
  kit::Series together{"all together"}, each{"each"};
  for (double times = 1; times <= 3; ++times) {
    double total = 0, found = 0;
    for (std::size_t i = 0; i < own.size(); ++i)
      if (count[i] == times) {
        total += own[i];
        found += 1;
      }
    for (kit::Series* series : {&together, &each}) series->x.push_back(times);
    together.y.push_back(100 * total / found);
    each.y.push_back(together.y.back() / times);
    const double share = total / found;  // c e^β / (c e^β + n − c), which we solve for e^β
    fmt::print(
        "  symbol that occurs {} ×: {:.1f} % of the weight on all its tokens, {:.1f} % on each (e^β = {:.1f})\n",
        times, together.y.back(), each.y.back(), share * (kit::kTokens - times) / (times * (1 - share)));
  }
  marked.grows = together.y[0] < together.y[1] && together.y[1] < together.y[2];
  marked.each_falls = each.y[0] > each.y[1] && each.y[1] > each.y[2];
  kit::show(kit::Chart{"Weight of a token on its own symbol",
                       "occurrences of the symbol",
                       "weight in %",
                       {together, each}},
            options.out / "like.svg");
}

/// One sequence for the heat map. Tokens with the same symbol are next to each other, because self-attention
/// ignores order.
const std::string kLetters = "aaaabbbccddefghijklmnopq";

std::vector<std::string> names_of_letters() {
  std::vector<std::string> names;
  for (const char letter : kLetters) names.emplace_back(1, letter);
  return names;
}

std::vector<double> weights_of_letters(const Marker& model) {
  std::vector<std::int64_t> ids;
  for (const char letter : kLetters) ids.push_back(letter - 'a');
  return (*model.self)(model.kinds(Indices(ids, {1, kit::kTokens}))).weights.to_vector();
}

kit::TrainingRecorder recorder_of_letters(const kit::Options& options) {
  return {{.title = "Weights of 24 tokens during training: four a, three b, two c, two d",
           .columns = names_of_letters(),
           .rows = names_of_letters(),
           .column_axis = "token of the key",
           .row_axis = "token of the query"},
          options.steps,
          {0, 0.05, 0.1, 0.2, 0.5, 1}};
}

/// Draws the last map of attention weights, and saves the maps recorded during training.
void draw_maps(const kit::TrainingRecorder& recorder, const kit::Options& options) {
  kit::MapSeries series = recorder.series();
  kit::Heatmap map{"Weights of 24 tokens: four a, three b, two c, two d", series.columns, series.rows,
                   series.maps.back()};
  map.most = *std::max_element(map.values.begin(), map.values.end());
  map.row_axis = series.row_axis, map.column_axis = series.column_axis;
  kit::show(map, options.out / "map.svg");
  series.most = map.most;
  kit::save(series, options.out / "like_over_training.json");
}

}  // namespace

SelfAttention::SelfAttention(Parent parent, Size width, Projected projected) : Module(std::move(parent)) {
  if (projected == Projected::no) return;
  query.emplace(Parent{*this, "query"}, width, width, Bias::no);
  key.emplace(Parent{*this, "key"}, width, width, Bias::no);
  value.emplace(Parent{*this, "value"}, width, width, Bias::no);
}

AttentionOutput SelfAttention::operator()(const Tensor& a) const {
  return query ? attention((*query)(a), (*key)(a), (*value)(a)) : attention(a, a, a);
}

void check_layers(const std::function<Tensor(const Tensor&, const SelfAttention&)>& projected,
                  const std::function<Tensor(const Tensor&, const Tensor&, const Tensor&)>& unprojected,
                  std::uint64_t seed, kit::Report& report) {
  SelfAttention layer(6, Projected::yes);
  layer.initialise(seed, kDType);
  const SelfAttention bare(6, Projected::no);
  const Tensor four = random_normal({4, 6}, seed, kDType);
  std::vector<Tensor> one_by_one;
  for (Size i = 0; i < 4; ++i) one_by_one.push_back(four_steps(four, i, layer));
  report.check("four tokens one by one = all at once, to 1e-12",
               kit::largest(stack(one_by_one, 0) - projected(four, layer)) < 1e-12);
  const Tensor a = variable(random_normal({2, 4, 6}, seed + 1, kDType), "a");
  std::vector<Tensor> leaves = layer.parameters();
  leaves.push_back(a);
  kit::check_by_hand(
      report, "with projections", [&] { return projected(a, layer); }, [&] { return layer(a).context; },
      leaves, seed);
  kit::check_by_hand(
      report, "without projections", [&] { return unprojected(a, a, a); }, [&] { return bare(a).context; },
      {a}, seed);
}

void check_order(std::uint64_t seed, kit::Report& report) {
  constexpr Size kWide = 16, kCount = 12;
  SelfAttention layer(kWide, Projected::yes);
  layer.initialise(seed, kDType);
  GRU recurrent({}, kWide, kWide / 2, {.both_directions = true});
  recurrent.initialise(seed, kDType);
  const Tensor a = random_normal({1, kCount, kWide}, seed, kDType);
  const Indices order = {7, 2, 11, 0, 5, 9, 3, 8, 1, 10, 4, 6};
  const double ours = kit::largest(layer(shuffled(a, order)).context - shuffled(layer(a).context, order));
  const double theirs =
      kit::largest(recurrent(shuffled(a, order)).states - shuffled(recurrent(a).states, order));
  fmt::print("  shuffling before / after the layer: difference {:.0e} for self-attention, {:.2f} for a GRU\n",
             ours, theirs);
  report.check("self-attention is equivariant, to 1e-14", ours < 1e-14);
  report.check("a GRU is not equivariant", theirs > 0.01);
}

Marked train_markers(const kit::Options& options) {
  // The stream number is far from the numbers used in training.
  const kit::MarkedTokens test =
      kit::draw_marked(kit::Random(options.seed, 2'000'000), options.smoke ? 20 : 1000);
  const std::vector<std::int64_t> answers = test.answers.to_vector();
  Marked marked;
  marked.always_no = 100 * static_cast<double>(std::count(answers.begin(), answers.end(), 0)) /
                     static_cast<double>(answers.size());
  fmt::print("  {:<34}{:>10}{:>12}\n  {:<34}{:>20.2f} %\n", "", "parameters", "right",
             "majority baseline: always \"no\"", marked.always_no);
  Marker self(Projected::yes), bare(Projected::no), rnn(CellKind::rnn, 38), gru(CellKind::gru, 20),
      wide(CellKind::gru, 64);
  marked.fair = std::min(kit::weights_of(rnn), kit::weights_of(gru)) >= kit::weights_of(self);
  kit::TrainingRecorder recorder = recorder_of_letters(options);
  marked.self = train_and_test(self, "self-attention", test, options, [&](Size step) {
    recorder.after(step, [&] { return Maps{weights_of_letters(self)}; });
  });
  train_and_test(bare, "self-attention, no projections", test, options);
  marked.rnn = train_and_test(rnn, "bidirectional RNN", test, options);
  marked.gru = train_and_test(gru, "bidirectional GRU", test, options);
  marked.wide = train_and_test(wide, "GRU with three times the units", test, options);
  fmt::print("\n");
  measure_weights(self, test.tokens, marked, options);
  draw_maps(recorder, options);
  return marked;
}

void draw_costs(const kit::Options& options) {
  SelfAttention layer(kWidth, Projected::yes);
  GRU recurrent({}, kWidth, kWidth);
  layer.initialise(options.seed);
  recurrent.initialise(options.seed);
  const auto milliseconds = [](const auto& forward) {
    return 1000 * kit::fastest(3, [&] {
             Tape tape;
             const Tensor y = forward();
             tape.backward(y, y.detach());
           });
  };
  kit::Series self{"self-attention"}, gru{"GRU"};
  fmt::print(" tokens   self-attention        GRU   (milliseconds, forward and backward)\n");
  for (Size n = 16; n <= (options.smoke ? 32 : 2048); n *= 2) {
    const Tensor x = variable(random_normal({1, n, kWidth}, options.seed));
    for (kit::Series* series : {&self, &gru}) series->x.push_back(static_cast<double>(n));
    self.y.push_back(milliseconds([&] { return layer(x).context; }));
    gru.y.push_back(milliseconds([&] { return recurrent(x).states; }));
    fmt::print("  {:>5}   {:>14.3f}   {:>8.3f}\n", n, self.y.back(), gru.y.back());
  }
  kit::Chart chart{
      "Time for one sequence of width 64, forward and backward", "tokens", "milliseconds", {self, gru}};
  chart.x_scale = chart.y_scale = kit::Scale::log;
  kit::show(chart, options.out / "time.svg");
}

}  // namespace tapestry::lesson16
