// 17 positions: order is an input
//
// Self-attention knows no order (lesson 16): shuffle the words, and the answers come out shuffled alike. So
// order has to be told, and there are two places to tell it. *Absolute* positions are added to the words:
// "you are the fifth". *Relative* ones are told to attention for each pair: "this key stands three places
// before you". Each has several forms, and this lesson puts seven beside each other: none, sinusoidal,
// learned, Shaw, T5 buckets, ALiBi, rotary.
//
// You will: 1 build the sinusoids and see what they are good for; 2 build Shaw's vectors, ALiBi and the
// rotation by hand, and check them; 3 train all schemes on two tasks; 4 see why no scheme wins everywhere.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "core/core.hpp"
#include "lessons/kit/agreement.hpp"
#include "lessons/kit/heatmap_grid.hpp"
#include "lessons/kit/kit.hpp"
#include "lessons/kit/training.hpp"
#include "lessons/kit/vocabulary.hpp"
#include "nn/transformer.hpp"

using namespace tapestry;
using kit::Ids;
using kit::largest;

namespace {

constexpr DType f64 = DType::f64;

// ---- 1. A place as a vector -------------------------------------------------------------------------------
//
// The simplest way to say "fifth" is a vector for it, added to the word. It can be learned, one row of a
// table for each place, like an embedding of words. Or it can be a formula (Vaswani et al. 2017), a clock
// with many hands, each slower than the one before:
//
//     PE[p, 2i] = sin(p ω_i),  PE[p, 2i + 1] = cos(p ω_i),      ω_i = 10000^{−2i/d}
//
// Why sines? A sine and its cosine are a point on a circle. To go k places on is to turn every hand by k ω_i,
// the same turn wherever one stands, so PE[p + k] = R_k PE[p]: "three places back" is *one* matrix, which W_K
// can learn. For the same reason PE[p] · PE[q] = Σ_i cos((p − q) ω_i) depends on the distance alone. But
// note: it is the same to the left and to the right.

/// (places, width), width even
Tensor sinusoids_by_hand(Size places, Size width) {
  std::vector<double> rates;
  for (Size i = 0; i < width / 2; ++i)
    rates.push_back(std::pow(10000.0, -2.0 * static_cast<double>(i) / static_cast<double>(width)));
  std::vector<double> table;
  for (Size p = 0; p < places; ++p)
    for (const double rate : rates) {
      table.push_back(std::sin(static_cast<double>(p) * rate));
      table.push_back(std::cos(static_cast<double>(p) * rate));
    }
  return tensor(table, {places, width}, f64);
}

/// R_k (width, width): turns each pair of components by k ω_i.
Tensor turn_by(Size k, Size width) {
  const Tensor hands = sinusoids_by_hand(k + 1, width);
  std::vector<double> r(static_cast<std::size_t>(width * width), 0);
  for (Size i = 0; i < width; i += 2) {
    const double sine = hands.at({k, i}), cosine = hands.at({k, i + 1});
    const auto at = [&](Size row, Size column) -> double& {
      return r[static_cast<std::size_t>((i + row) * width + i + column)];
    };
    at(0, 0) = at(1, 1) = cosine;  // sin(a + b) = sin a cos b + cos a sin b, and so on
    at(0, 1) = sine;
    at(1, 0) = -sine;
  }
  return tensor(r, {width, width}, f64);
}

std::vector<std::string> counted(Size count) {
  std::vector<std::string> names;
  for (Size i = 0; i < count; ++i) names.push_back(std::to_string(i));
  return names;
}

void show_sinusoids(const kit::Options& options, kit::Report& report) {
  constexpr Size kPlaces = 32, kWide = 32;
  const Tensor table = sinusoids_by_hand(kPlaces, kWide);
  report.check("nn/'s sinusoids are the same to 1e-12",
               largest(table - sinusoids(0, kPlaces, kWide, f64)) < 1e-12);
  const Tensor turned = matmul(slice(table, 0, 0, kPlaces - 3), transpose(turn_by(3, kWide)));
  report.check("three places on: one rotation for all places",
               largest(turned - slice(table, 0, 3, kPlaces)) < 1e-12);
  const Tensor meet = matmul(table, transpose(table));
  report.check("PE[p] · PE[q] depends on p − q alone",
               largest(slice(slice(meet, 0, 3, kPlaces), 1, 3, kPlaces) -
                       slice(slice(meet, 0, 0, kPlaces - 3), 1, 0, kPlaces - 3)) < 1e-12);
  kit::Heatmap map{"Sinusoids: places down, components across", counted(kWide), counted(kPlaces),
                   table.to_vector()};
  map.least = -1;
  kit::show(map, options.out / "sinusoids.svg");
}

// ---- 2. A distance for each pair --------------------------------------------------------------------------
//
// What matters is often not where a word stands but how far from another. So tell attention the distance of
// each pair, j − i:
//
//     Shaw      s_ij = q_i · (k_j + a^K_{j−i}) / √d,   c_i = Σ_j α_ij (v_j + a^V_{j−i})
//               a vector for each distance from −r to r; farther ones count as these (Shaw et al. 2018)
//     ALiBi     s_ij = q_i · k_j / √d − m |i − j|      nothing to learn (Press et al. 2022)
//     rotary    s_ij = (R_i q_i) · (R_j k_j) / √d      R_p turns by p ω_i, as above (Su et al. 2021)
//     T5        s_ij = q_i · k_j / √d + b_{j−i}        a learned number for each *bucket* of distances, far
//                                                      ones wider than near ones (Raffel et al. 2020)
//
// Rotary turns queries and keys, and (R_i q) · (R_j k) = q · (R_{j−i} k): two absolute turns, and only their
// difference is left. Here is attention with one head, with the first three of them.

enum class Told { nothing, shaw, alibi, rotary };

/// The row of `table` for each pair's distance, cut to ±reach: (n, n, d).
Tensor by_distance(const Tensor& table, Size n) {
  const Size reach = table.size(0) / 2;
  Ids rows;
  for (Size i = 0; i < n; ++i)
    for (Size j = 0; j < n; ++j) rows.push_back(std::clamp(j - i, -reach, reach) + reach);
  return embedding(table, Indices(rows, {n, n}));
}

/// Row p turned by p ω_i; the first half of the components is paired with the second, as in nn/.
Tensor rotate(const Tensor& x) {  // (B, n, d)
  const Size n = x.size(1), half = x.size(2) / 2;
  const Tensor hands = reshape(sinusoids_by_hand(n, 2 * half), {n, half, 2});
  const Tensor sine = select(hands, 2, 0), cosine = select(hands, 2, 1);
  const Tensor a = slice(x, 2, 0, half), b = slice(x, 2, half, 2 * half);
  return concat({a * cosine - b * sine, a * sine + b * cosine}, 2);
}

/// x (B, n, d) through one head with the layer's weights; `key` and `value` are Shaw's tables.
Tensor attend_by_hand(const MultiHeadAttention& layer, Told told, const Tensor& x, const Tensor& key = {},
                      const Tensor& value = {}) {
  const Size n = x.size(1), d = x.size(2);
  Tensor q = matmul(x, transpose(layer.query.weight)), k = matmul(x, transpose(layer.key.weight));
  const Tensor v = matmul(x, transpose(layer.value.weight));
  if (told == Told::rotary) {
    q = rotate(q);
    k = rotate(k);
  }
  Tensor scores = matmul(q, transpose(k));
  if (told == Told::shaw)
    scores = scores + sum(unsqueeze(q, 2) * by_distance(key, n), {-1});  // q_i · a_{j−i}
  scores = scores / std::sqrt(static_cast<double>(d));
  if (told == Told::alibi) {
    const Tensor p = arange(0, static_cast<double>(n), 1, f64);
    scores = scores - std::exp2(-8) * abs(unsqueeze(p, 1) - p);  // m of the only head is 2⁻⁸
  }
  const Tensor weights = softmax(scores, -1);
  Tensor context = matmul(weights, v);
  if (told == Told::shaw) context = context + sum(unsqueeze(weights, 3) * by_distance(value, n), {2});
  return matmul(context, transpose(layer.output.weight));
}

void check_scheme(const char* name, Told told, const PositionScheme& scheme, std::uint64_t seed,
                  kit::Report& report) {
  MultiHeadAttention layer({.width = 6, .heads = 1, .bias = Bias::no, .attend = {.positions = scheme}});
  layer.initialise(seed, f64);
  std::vector<Tensor> leaves = layer.parameters();
  const auto table = [&](const char* name_of) {
    for (const Tensor& leaf : leaves)
      if (leaf.name() == fmt::format("attention.positions.{}", name_of)) return leaf;
    return Tensor{};
  };
  const Tensor key = table("key"), value = table("value");
  const Tensor x = variable(random_normal({2, 5, 6}, seed, f64), "x");
  const auto ours = [&](const Tensor& in) { return attend_by_hand(layer, told, in, key, value); };
  const GradcheckResult check = gradcheck(ours, x, leaves);
  if (!check.ok()) fmt::print("{}", check.report());
  leaves.push_back(x);
  const double values = largest(ours(x) - layer(x, x, x).context);
  const double gradients =
      kit::farthest(kit::gradients([&] { return ours(x); }, leaves, seed + 1),
                    kit::gradients([&] { return layer(x, x, x).context; }, leaves, seed + 1));
  fmt::print("  {:<8} {:>4} derivatives checked; nn/ differs by {:.0e}, its gradients by {:.0e}\n", name,
             check.compared, values, gradients);
  report.check(fmt::format("{}: gradcheck, and nn/ the same to 1e-12", name),
               check.ok() && values < 1e-12 && gradients < 1e-12);
}

void show_distances(std::uint64_t seed, kit::Report& report) {
  check_scheme("none", Told::nothing, no_positions(), seed, report);
  check_scheme("Shaw", Told::shaw, shaw(2), seed, report);
  check_scheme("ALiBi", Told::alibi, alibi(), seed, report);
  check_scheme("rotary", Told::rotary, rotary(), seed, report);
  // One query and one key at all places: the scores of a pair depend on its distance alone.
  const Tensor q = rotate(expand(random_normal({1, 1, 6}, seed, f64), {1, 12, 6})),
               k = rotate(expand(random_normal({1, 1, 6}, seed + 1, f64), {1, 12, 6}));
  const Tensor scores = select(matmul(q, transpose(k)), 0, 0);
  report.check(
      "rotary: both seven places on, the same score",
      largest(slice(slice(scores, 0, 7, 12), 1, 7, 12) - slice(slice(scores, 0, 0, 5), 1, 0, 5)) < 1e-12);
}

// ---- 3. Two tasks, eight models ---------------------------------------------------------------------------
//
// Sixteen symbols of 64 kinds come in, all random, and at each place one of them is to be named:
//
//     reverse    at place t the symbol of place n − 1 − t        absolute: where you stand says where to look
//     shift      at place t the symbol of place t − 3            relative: the same step from everywhere
//
// The model is nn/'s TransformerEncoder: self-attention twice, each time four of them side by side and with a
// small network behind it (lessons 18 and 19 take that apart). Between the models nothing differs but the
// scheme. Who knows no order can only name a symbol that it sees somewhere: the ceiling is 13 %, since some
// come more than once. Then all of them get strings of 32, twice as long as any that they were trained on.
// T5's scheme comes twice, with buckets for distances to 128 as published, and with buckets that end at 16.

constexpr Size kSymbols = 64, kTrained = 16, kLonger = 32, kStep = 3, kWidth = 64;

struct Scheme {
  const char* name;
  PositionScheme scheme;
  /// Whether places of a string of one symbol can differ; see section 4.
  bool places = false;
  /// Per cent that it must reach, and must not pass, at the trained length.
  double reverse_least = 0, shift_least = 0, most = 100;
};

std::vector<Scheme> schemes() {
  return {{"none", no_positions(), false, 0, 0, 15},
          {"sinusoidal", sinusoidal(), true, 99},
          {"learned", learned_positions(kLonger), true, 99},
          {"Shaw, 8", shaw(8), true, 90, 99},
          {"T5, 32 to 128", t5_buckets(32, 128), false, 0, 99},
          {"T5, 16 to 16", t5_buckets(16, 16), false, 0, 99},
          {"ALiBi", alibi()},
          {"rotary", rotary(), false, 0, 99}};
}

struct Namer : Module {
  explicit Namer(const PositionScheme& scheme) : encoder{{*this, "encoder"}, options(scheme)} {}
  static TransformerOptions options(const PositionScheme& scheme) {
    TransformerOptions options;
    options.vocabulary = kSymbols;
    options.layers = 2;
    options.block = {.width = kWidth, .heads = 4, .hidden = 2 * kWidth};
    options.positions = scheme;
    return options;
  }
  /// Symbols (B, n) → logits (B, n, symbols).
  Tensor operator()(const Indices& ids) const { return output(encoder(ids)); }

  TransformerEncoder encoder;
  Linear output{{*this, "output"}, kWidth, kSymbols};
};

enum class Task { reverse, shift };
constexpr std::int64_t kNothing = -1;  // the first three places of a shift have no answer

struct Strings {
  Indices symbols, answers;  // (B, n)
};

Strings draw(kit::Random random, Task task, Size batch, Size length) {
  Ids symbols, answers;
  for (Size i = 0; i < batch * length; ++i) symbols.push_back(random.below(kSymbols));
  for (Size row = 0; row < batch; ++row)
    for (Size t = 0; t < length; ++t) {
      const Size from = task == Task::reverse ? length - 1 - t : t - kStep;
      answers.push_back(from < 0 ? kNothing : symbols[static_cast<std::size_t>(row * length + from)]);
    }
  return {Indices(symbols, {batch, length}), Indices(answers, {batch, length})};
}

/// Per cent right at each place; NaN where nothing was asked.
std::vector<double> right_by_place(const Namer& model, Task task, Size length, const kit::Options& options) {
  // Streams far from those of training.
  const Size count = options.smoke ? 10 : 300;
  const Strings test =
      draw(kit::Random(options.seed, static_cast<std::uint64_t>(1'000'000 + length)), task, count, length);
  const Indices said = argmax(model(test.symbols));
  std::vector<double> right;
  for (Size t = 0; t < length; ++t)
    right.push_back(task == Task::shift && t < kStep
                        ? std::nan("")
                        : kit::percent_equal(said.column(t), test.answers.column(t)));
  return right;
}

double mean_of(const std::vector<double>& values, std::size_t first = 0, std::size_t last = kLonger) {
  double sum = 0, count = 0;
  for (std::size_t i = first; i < std::min(last, values.size()); ++i)
    if (!std::isnan(values[i])) {
      sum += values[i];
      ++count;
    }
  return sum / count;
}

/// Mean weights (n, n) of the one head, of all in both layers, that looks most at the place `kStep` before;
/// over some strings of the longer length.
Tensor best_map(const Namer& model, const kit::Options& options) {
  const Strings strings =
      draw(kit::Random(options.seed, 3'000'000), Task::shift, options.smoke ? 4 : 32, kLonger);
  Tensor best;
  double most = -1;
  for (const TransformerBlock& block : model.encoder.stack.blocks) {
    const WeightRecorder recorder(block.self.attention);
    model.encoder(strings.symbols);
    const Tensor maps = mean(recorder.weights().front(), {0});  // (heads, n, n)
    for (Size head = 0; head < maps.size(0); ++head) {
      const Tensor map = select(maps, 0, head);
      double on = 0;
      for (Size i = kStep; i < kTrained; ++i) on += map.at({i, i - kStep});
      if (on > most) {
        most = on;
        best = map;
      }
    }
  }
  return best;
}

/// The largest difference between the states of two places of a string of one symbol.
double places_apart(const Namer& model) {
  const Tensor states = model.encoder(Indices(Ids(kTrained, 7), {1, kTrained}));
  return largest(states - slice(states, 1, 0, 1));
}

struct Row {
  Scheme scheme;
  double apart = 0;                 // before training
  std::vector<double> right[2][2];  // [task][length], by place
  Tensor map;                       // of the shift
};

Row run(const Scheme& scheme, const kit::Options& options) {
  constexpr Size kBatch = 32;
  Row row{scheme, 0, {}, {}};
  for (const Task task : {Task::reverse, Task::shift}) {
    Namer model(scheme.scheme);
    model.initialise(options.seed);
    row.apart = places_apart(model);
    kit::train(model,
               {.name = fmt::format("{}, {}", scheme.name, task == Task::reverse ? "reverse" : "shift"),
                .steps = options.steps,
                .batch = kBatch,
                .seed = options.seed},
               [&](kit::Random random) {
                 const Strings strings = draw(random, task, kBatch, kTrained);
                 return cross_entropy(model(strings.symbols), strings.answers, {.ignore = kNothing});
               });
    auto& right = row.right[task == Task::shift];
    right[0] = right_by_place(model, task, kTrained, options);
    right[1] = right_by_place(model, task, kLonger, options);
    if (task == Task::shift) row.map = best_map(model, options);
  }
  fmt::print("  {:<16}{:>10.1f}{:>12.1f}{:>12.1f}{:>12.1f}{:>20}\n", scheme.name, mean_of(row.right[0][0]),
             mean_of(row.right[0][1]), mean_of(row.right[1][0]), mean_of(row.right[1][1]),
             row.apart > 1e-3 ? "yes" : "no");
  return row;
}

std::vector<Row> train_all(const kit::Options& options, kit::Report& report) {
  fmt::print("  {:<16}{:>10}{:>12}{:>12}{:>12}{:>20}\n", "% right", "reverse 16", "at 32", "shift 16",
             "at 32", "tells places apart");
  std::vector<Row> rows;
  for (const Scheme& scheme : schemes()) rows.push_back(run(scheme, options));
  fmt::print("\n");
  for (const Row& row : rows) {
    const Scheme& scheme = row.scheme;
    const double reverse = mean_of(row.right[0][0]), shift = mean_of(row.right[1][0]);
    const auto named = [&](const char* task) { return fmt::format("{}: {}", scheme.name, task); };
    if (scheme.reverse_least > 0) report.at_least(named("reverse"), reverse, scheme.reverse_least, "%");
    if (scheme.shift_least > 0) report.at_least(named("shift"), shift, scheme.shift_least, "%");
    if (scheme.most < 100) {
      report.at_most(named("reverse"), reverse, scheme.most, "%");
      report.at_most(named("shift"), shift, scheme.most, "%");
    }
  }
  return rows;
}

// ---- 4. Why -----------------------------------------------------------------------------------------------
//
// The table asks four questions.
//
// Why can ALiBi not even shift? Its score falls with |i − j|: three to the left is three to the right. (In a
// causal model nothing stands to the right, and there it is at home; lesson 26.)
//
// Why do some relative schemes fail to reverse, and Shaw does not? To reverse, a place must know where it
// stands. Feed a string of one symbol, aaaa…: all values are equal, and whatever the weights, they add up to
// 1 and give that value back. Every place reads the same, so it cannot know where it stands. T5, ALiBi and
// rotary change the weights only. Shaw's a^V are values of another sort: Σ α a^V tells a place how much of
// the string lies left and right of it. Look at the column "tells places apart" (with random strings the
// others have a few clues left: at the edge a neighbour is missing).
//
// Why do the absolute ones break off at place 16 in the shift? Beyond, a learned vector is still the random
// numbers that it started from, and the sinusoids turn to where they never were in training. What was learned
// holds for places that were seen. In reverse, moreover, n − 1 − t was only ever learned for one n.
//
// Why does Shaw hold at 32, and T5 with 32 buckets "to 128" does not? At n = 32 there are distances that
// training never had. Shaw's farthest are cut to 8: nothing is new. T5's distances from 16 on have buckets of
// their own whose numbers were never trained, and among so many strangers the right key loses. With 16
// buckets "to 16" they fall into the last one, which was trained.
//
// And rotary? Its clock comes round. After 19 places the fastest hand has made three turns and the next one
// nearly a whole one: to a head that watches those two, 22 to the left and 16 to the right look like 3 to the
// left. At n = 16 there are no such pairs, so nothing kept it from relying on them; at 32 its map has two
// lines too many.

/// The ceiling of who knows no order, in per cent: of the symbols that stand elsewhere, name the commonest.
double ceiling_without_order(const kit::Options& options) {
  const Ids symbols =
      draw(kit::Random(options.seed, 4'000'000), Task::reverse, 1000, kTrained).symbols.to_vector();
  double right = 0;
  for (std::size_t first = 0; first < symbols.size(); first += kTrained) {
    // Of the first place only; the others are as likely.
    const auto others = symbols.begin() + static_cast<std::ptrdiff_t>(first) + 1, end = others + kTrained - 1;
    std::ptrdiff_t most = 0;
    for (auto symbol = others; symbol != end; ++symbol)
      most = std::max(most, std::count(others, end, *symbol));
    right += static_cast<double>(most) / (kTrained - 1);
  }
  return 100 * right * kTrained / static_cast<double>(symbols.size());
}

void why(const std::vector<Row>& rows, const kit::Options& options, kit::Report& report) {
  const auto row = [&](const char* name) {
    return *std::find_if(rows.begin(), rows.end(),
                         [&](const Row& r) { return r.scheme.name == std::string(name); });
  };
  report.quoted("the ceiling without order", ceiling_without_order(options), 13, 0.05, "%");
  for (const Row& one : rows)
    report.check(fmt::format("{}: the places of a string of one symbol {}", one.scheme.name,
                             one.scheme.places ? "differ" : "are the same"),
                 one.scheme.places ? one.apart > 0.01 : one.apart < 1e-4);
  for (const char* name : {"sinusoidal", "learned"}) {
    const std::vector<double> right = row(name).right[1][1];
    report.at_least(fmt::format("{}: shift at 32, places below 16", name), mean_of(right, 0, kTrained), 90,
                    "%");
    report.at_most(fmt::format("{}: shift at 32, places from 16 on", name), mean_of(right, kTrained), 20,
                   "%");
  }
  const BucketPositions far({}, {}, 32, 128), near({}, {}, 16, 16);
  report.check("T5 32 to 128: distance 31 has a bucket that 15 has not", far.bucket(-31) > far.bucket(-15));
  report.check("T5 16 to 16: it shares one with 15", near.bucket(-31) == near.bucket(-15));
  report.at_least("Shaw: shift at 32", mean_of(row("Shaw, 8").right[1][1]), 99, "%");
  report.at_least("T5, 16 to 16: shift at 32", mean_of(row("T5, 16 to 16").right[1][1]), 95, "%");

  kit::Heatmap table{
      "Share right, trained at 16", {"reverse 16", "reverse 32", "shift 16", "shift 32"}, {}, {}};
  kit::Heatmap places{"Shift at n = 32, place by place: % right", counted(kLonger), {}, {}};
  for (const Row& one : rows) {
    table.rows.emplace_back(one.scheme.name);
    places.rows.emplace_back(one.scheme.name);
    for (const int task : {0, 1})
      for (const int length : {0, 1}) table.values.push_back(mean_of(one.right[task][length]) / 100);
    places.values.insert(places.values.end(), one.right[1][1].begin(), one.right[1][1].end());
  }
  places.most = 100;
  table.numbers = true;
  kit::show(table, options.out / "table.svg");
  kit::show(places, options.out / "places.svg");

  kit::HeatmapGrid all{"Shift at n = 32: who looks where", {}, 4}, two{all.title, {}, 2};
  for (const Row& one : rows) {
    kit::Heatmap map{one.scheme.name, counted(kLonger), counted(kLonger), one.map.to_vector()};
    map.most = 0.6;
    all.maps.push_back(map);
    if (map.title == "learned" || map.title == "Shaw, 8") two.maps.push_back(map);
  }
  kit::save_svg(kit::svg(all), options.out / "maps.svg");
  kit::show_text(kit::text(two, kit::Terminal::of(1)), options.out / "maps.svg");
}

void lesson(const kit::Options& options, kit::Report& report) {
  report.section("A place as a vector");
  show_sinusoids(options, report);
  report.section("A distance for each pair");
  show_distances(options.seed, report);
  report.section("Two tasks, eight models");
  const std::vector<Row> rows = train_all(options, report);
  report.section("Why");
  why(rows, options, report);
}

}  // namespace

int main(int argc, char** argv) {
  kit::Lesson program("17_positions", "order is an input");
  program.steps(500, 4);
  return program.run(argc, argv, lesson);
}
