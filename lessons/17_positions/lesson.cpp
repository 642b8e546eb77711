// 17 positions: order is an input
//
// Self-attention knows no order (lesson 16): shuffle the words, and the answers come out shuffled alike. So
// order has to be told, and there are two places to tell it. *Absolute* positions are added to the words:
// "you are the fifth". *Relative* ones are told to attention for each pair: "this key stands three places
// before you". Each has several forms, and this lesson puts seven beside each other: none, sinusoidal,
// learned, Shaw, T5 buckets, ALiBi, rotary.
//
// You will: 1 build the sinusoids and see what they are good for; 2 build the relative schemes by hand, and
// check them; 3 train all schemes on two tasks; 4 see why no scheme wins everywhere.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "core/core.hpp"
#include "lessons/17_positions/moves.hpp"
#include "lessons/kit/check/agreement.hpp"
#include "lessons/kit/check/by_hand.hpp"
#include "lessons/kit/kit.hpp"
#include "lessons/kit/picture/heatmap_grid.hpp"
#include "lessons/kit/train/loop.hpp"
#include "nn/transformer/transformer.hpp"

using namespace tapestry;
using kit::largest;
using kit::Move;

namespace {

constexpr DType f64 = DType::f64;

// ---- 1. A place as a vector -------------------------------------------------------------------------------
//
// The simplest way to say "fifth" is a vector for it, added to the word. It can be learned, one row of a
// table for each place, like an embedding of words. Or it can be a formula (Vaswani et al. 2017). There the
// vector of place p, PE[p], has d numbers, and shows d / 2 hands of a clock, each by its sine and cosine:
//
//     PE[p, 2i] = sin(p ω_i),  PE[p, 2i + 1] = cos(p ω_i),      ω_i = 10000^{−2i/d}
//
// Hand 0 turns by one radian for each place, the last one is nearly ten thousand times slower. Fast hands
// tell neighbours apart, slow ones tell the beginning from the end.
//
// Why sines? A sine and its cosine are a point on a circle. To go k places on is to turn every hand by k ω_i,
// the same turn wherever one stands, so PE[p + k] = R_k PE[p]: "three places back" is *one* matrix, which W_K
// can learn. For the same reason PE[p] · PE[q] = Σ_i cos((p − q) ω_i) depends on the distance alone. (This
// bare product is the same to the left and to the right. It takes W_Q and W_K to prefer one side.)

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

/// R_k (width, width) turns each pair of components by k ω_i: sin(a + b) = sin a cos b + cos a sin b, and
/// cos(a + b) = cos a cos b − sin a sin b.
Tensor turn_by(Size k, Size width) {
  const Tensor hands = select(sinusoids_by_hand(k + 1, width), 0, k);
  std::vector<double> r;
  for (Size row = 0; row < width; ++row)
    for (Size column = 0; column < width; ++column) {
      const double sine = hands.at({row / 2 * 2}), cosine = hands.at({row / 2 * 2 + 1});
      r.push_back(row / 2 != column / 2 ? 0 : row == column ? cosine : row < column ? sine : -sine);
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
  const Tensor sines = select(reshape(table, {kPlaces, kWide / 2, 2}), 2, 0);
  kit::Heatmap map{"Sines of 16 hands, fast to slow: places down", counted(kWide / 2), counted(kPlaces),
                   sines.to_vector()};
  map.least = -1;
  kit::show(map, options.out / "sinusoids.svg");
}

// ---- 2. A distance for each pair --------------------------------------------------------------------------
//
// What matters is often not where a word stands but how far from another. So tell attention the distance
// j − i of each pair, query i and key j:
//
//     Shaw      s_ij = q_i · (k_j + a^K_{j−i}) / √d,   c_i = Σ_j α_ij (v_j + a^V_{j−i})
//               a vector for each distance from −r to r; farther ones count as these (Shaw et al. 2018)
//     T5        s_ij = q_i · k_j / √d + b_{j−i}        a number for each *bucket* of distances: near ones
//               have buckets of their own, far ones share, ever more of them (Raffel et al. 2020)
//     ALiBi     s_ij = q_i · k_j / √d − m |i − j|      nothing to learn: m = 2^{−8h/H} for head h of H, so
//               that some heads see near and some far (Press et al. 2022)
//     rotary    s_ij = (R_i q_i) · (R_j k_j) / √d      R_p turns the hands by p, as above (Su et al. 2021)
//
// Rotary turns queries and keys, and (R_i q) · (R_j k) = q · (R_{j−i} k): two absolute turns, and only their
// difference is left. Here they are for attention with one head.

/// Half of the buckets are for keys to the left, half for keys to the right. Of each half, the nearest
/// distances fill one half, a bucket each; the others grow like the logarithm up to `farthest`, and all from
/// there on share the last.
Size bucket(Size distance, Size buckets, Size farthest) {
  const Size side = buckets / 2, single = side / 2, far = std::abs(distance), first = distance > 0 ? side : 0;
  if (far < single) return first + far;
  const auto log_of = [&](Size x) { return std::log(static_cast<double>(x) / static_cast<double>(single)); };
  const double share = log_of(far) / log_of(farthest) * static_cast<double>(side - single);
  return first + std::min(side - 1, single + static_cast<Size>(share));
}

/// For each pair the row of `table` that `row` names for its distance: (n, n, columns of the table).
template <class Row>
Tensor by_distance(const Tensor& table, Size n, const Row& row) {
  std::vector<std::int64_t> rows;
  for (Size i = 0; i < n; ++i)
    for (Size j = 0; j < n; ++j) rows.push_back(row(j - i));
  return embedding(table, Indices(rows, {n, n}));
}

/// Row p turned as the hands of place p; the first half of the components is paired with the second, as in
/// nn/.
Tensor rotate(const Tensor& x) {  // (B, n, d)
  const Size n = x.size(1), half = x.size(2) / 2;
  const Tensor hands = reshape(sinusoids_by_hand(n, 2 * half), {n, half, 2});
  const Tensor sine = select(hands, 2, 0), cosine = select(hands, 2, 1);
  const Tensor a = slice(x, 2, 0, half), b = slice(x, 2, half, 2 * half);
  return concat({a * cosine - b * sine, a * sine + b * cosine}, 2);
}

constexpr Size kReach = 2, kBuckets = 8, kFarthest = 6;  // of the small ones that are checked

/// x (B, n, d) through one head, with the layer's weights and what it is told of order.
Tensor attend_by_hand(MultiHeadAttention& layer, const Tensor& x) {
  const Size n = x.size(1), d = x.size(2);
  const PairPositions* told = layer.attention.positions() ? &*layer.attention.positions() : nullptr;
  const auto* shaw = dynamic_cast<const ShawPositions*>(told);
  const auto* t5 = dynamic_cast<const BucketPositions*>(told);
  const auto row = [](Size distance) { return std::clamp(distance, -kReach, kReach) + kReach; };

  Tensor q = matmul(x, transpose(layer.query.weight)), k = matmul(x, transpose(layer.key.weight));
  const Tensor v = matmul(x, transpose(layer.value.weight));
  if (dynamic_cast<const RotaryPositions*>(told)) {
    q = rotate(q);
    k = rotate(k);
  }
  Tensor scores = matmul(q, transpose(k));
  if (shaw) scores = scores + sum(unsqueeze(q, 2) * by_distance(shaw->key, n, row), {-1});  // + q_i · a_{j−i}
  scores = scores / std::sqrt(static_cast<double>(d));
  if (t5) {
    const auto of = [](Size distance) { return bucket(distance, kBuckets, kFarthest); };
    scores = scores + squeeze(by_distance(t5->weight, n, of), 2);
  }
  if (dynamic_cast<const AlibiPositions*>(told)) {
    const Tensor p = arange(0, static_cast<double>(n), 1, f64);
    scores = scores - std::exp2(-8) * abs(unsqueeze(p, 1) - p);  // h = H = 1
  }
  const Tensor weights = softmax(scores, -1);
  Tensor context = matmul(weights, v);
  if (shaw) context = context + sum(unsqueeze(weights, 3) * by_distance(shaw->value, n, row), {2});
  return matmul(context, transpose(layer.output.weight));
}

void check_scheme(const char* name, const PositionScheme& scheme, std::uint64_t seed, kit::Report& report) {
  MultiHeadAttention layer({.width = 6, .heads = 1, .bias = Bias::no, .attend = {.positions = scheme}});
  layer.initialise(seed, f64);
  const Tensor x = variable(random_normal({2, 7, 6}, seed, f64), "x");
  std::vector<Tensor> leaves = layer.parameters();
  leaves.push_back(x);
  kit::check_by_hand(
      report, name, [&] { return attend_by_hand(layer, x); }, [&] { return layer(x, x, x).context; }, leaves,
      seed);
}

void show_distances(std::uint64_t seed, kit::Report& report) {
  check_scheme("none", no_positions(), seed, report);
  check_scheme("Shaw", shaw(kReach), seed, report);
  check_scheme("T5", t5_buckets(kBuckets, kFarthest), seed, report);
  check_scheme("ALiBi", alibi(), seed, report);
  check_scheme("rotary", rotary(), seed, report);
  // One query and one key at all places: the scores of a pair depend on its distance alone.
  const Tensor q = rotate(expand(random_normal({1, 1, 6}, seed, f64), {1, 12, 6})),
               k = rotate(expand(random_normal({1, 1, 6}, seed + 1, f64), {1, 12, 6}));
  const Tensor scores = select(matmul(q, transpose(k)), 0, 0);
  report.check(
      "rotary: both seven places on, the same score",
      largest(slice(slice(scores, 0, 7, 12), 1, 7, 12) - slice(slice(scores, 0, 0, 5), 1, 0, 5)) < 1e-12);
  for (const auto& [buckets, farthest] : {std::pair<Size, Size>{32, 128}, std::pair<Size, Size>{16, 16}}) {
    fmt::print("  buckets of 0 … 31 to the left, {} to {}:\n   ", buckets, farthest);
    const BucketPositions library({}, {}, buckets, farthest);
    bool same = true;
    for (Size far = 0; far < 32; ++far) {
      fmt::print(" {}", bucket(-far, buckets, farthest));
      same &= bucket(-far, buckets, farthest) == library.bucket(-far) &&
              bucket(far, buckets, farthest) == library.bucket(far);
    }
    fmt::print("\n");
    report.check("nn/'s buckets are the same, left and right", same);
  }
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
// scheme. Shaw's vectors reach 8 places. T5 comes twice: "32 to 128" are the buckets as published, for
// distances up to 128, and "16 to 16" end at 16. Who knows no order can do no better than name the symbol
// that stands most often at the other places, and is right in 13 % of cases. Then all of them get strings of
// 32, twice as long as any that they were trained on.

constexpr Size kTrained = 16, kLonger = 32, kWidth = 64;

struct Scheme {
  const char* name;
  PositionScheme scheme;
  /// Targets for reverse and shift at the trained length, in per cent.
  std::array<double, 2> least = {0, 0}, most = {100, 100};
  bool tells_places = false;  // see section 4
};

std::vector<Scheme> schemes() {
  return {{.name = "none", .scheme = no_positions(), .most = {15, 15}},
          {.name = "sinusoidal", .scheme = sinusoidal(), .least = {99, 0}, .tells_places = true},
          {.name = "learned", .scheme = learned_positions(kLonger), .least = {99, 0}, .tells_places = true},
          {.name = "Shaw", .scheme = shaw(8), .least = {90, 99}, .tells_places = true},
          {.name = "T5, 32 to 128", .scheme = t5_buckets(32, 128), .least = {0, 99}, .most = {40, 100}},
          {.name = "T5, 16 to 16", .scheme = t5_buckets(16, 16), .least = {0, 99}, .most = {40, 100}},
          {.name = "ALiBi", .scheme = alibi(), .most = {20, 20}},
          {.name = "rotary", .scheme = rotary(), .least = {0, 99}, .most = {40, 100}}};
}

struct Namer : Module {
  explicit Namer(const PositionScheme& scheme) : encoder{{*this, "encoder"}, options(scheme)} {}
  static TransformerOptions options(const PositionScheme& scheme) {
    TransformerOptions options;
    options.vocabulary = kit::kMoveSymbols;
    options.layers = 2;
    options.block = {.width = kWidth, .heads = 4, .hidden = 2 * kWidth};
    options.positions = scheme;
    return options;
  }
  /// Symbols (B, n) → logits (B, n, symbols).
  Tensor operator()(const Indices& ids) const { return output(encoder(ids)); }

  TransformerEncoder encoder;
  Linear output{{*this, "output"}, kWidth, kit::kMoveSymbols};
};

/// Of all heads in both layers the one that looks most at the key three places before: its mean weights (n,
/// n) over some strings of the longer length.
Tensor best_map(const Namer& model, const kit::Options& options) {
  const kit::MovedSymbols strings =
      kit::draw_moves(kit::Random(options.seed, 3'000'000), Move::shift, options.smoke ? 2 : 32, kLonger);
  Tensor best;
  double most = -1;
  for (const TransformerBlock& block : model.encoder.stack.blocks) {
    const WeightRecorder recorder(block.self.attention);  // while it lives, it keeps the weights
    model.encoder(strings.symbols);
    const Tensor maps = mean(recorder.weights().front(), {0});  // (heads, n, n)
    for (Size head = 0; head < maps.size(0); ++head) {
      double on = 0;
      for (Size i = kit::kShift; i < kTrained; ++i) on += maps.at({head, i, i - kit::kShift});
      if (on > most) best = select(maps, 0, head);
      most = std::max(most, on);
    }
  }
  return best;
}

/// The largest difference between the states of two places of a string of one symbol.
double places_apart(const Namer& model) {
  const Tensor states = model.encoder(Indices(std::vector<std::int64_t>(kTrained, 7), {1, kTrained}));
  return largest(states - slice(states, 1, 0, 1));
}

struct Row {
  Scheme scheme;
  double apart = 0;
  /// Per cent by place: reverse at 16, at 32, shift at 16, at 32.
  std::vector<std::vector<double>> right = {};
  Tensor map = {};  // of the shift
};

Row run(const Scheme& scheme, const kit::Options& options) {
  const Size batch = options.smoke ? 2 : 32;
  Row row{scheme};
  for (const Move move : {Move::reverse, Move::shift}) {
    Namer model(scheme.scheme);
    model.initialise(options.seed);
    row.apart = places_apart(model);
    kit::train(model,
               {.name = fmt::format("{}, {}", scheme.name, move == Move::reverse ? "reverse" : "shift"),
                .steps = options.steps,
                .batch = batch,
                .seed = options.seed},
               [&](kit::Random random) {
                 const kit::MovedSymbols strings = kit::draw_moves(random, move, batch, kTrained);
                 return cross_entropy(model(strings.symbols), strings.answers, {.ignore = kit::kNoAnswer});
               });
    for (const Size length : {kTrained, kLonger}) {  // strings from streams far from those of training
      const kit::Random random(options.seed, static_cast<std::uint64_t>(1'000'000 + length));
      const kit::MovedSymbols test = kit::draw_moves(random, move, options.smoke ? 4 : 300, length);
      row.right.push_back(kit::right_by_place(argmax(model(test.symbols)), test.answers));
    }
    if (move == Move::shift) row.map = best_map(model, options);
  }
  fmt::print("  {:<16}", scheme.name);
  for (const std::vector<double>& right : row.right) fmt::print("{:>12.1f}", kit::mean_right(right));
  fmt::print("{:>14}\n", row.apart > 1e-3 ? "yes" : "no");
  return row;
}

std::vector<Row> train_all(const kit::Options& options, kit::Report& report) {
  fmt::print("  {:<16}{:>12}{:>12}{:>12}{:>12}{:>14}\n", "% right", "reverse 16", "at 32", "shift 16",
             "at 32", "tells places");
  std::vector<Row> rows;
  for (const Scheme& scheme : schemes()) rows.push_back(run(scheme, options));
  fmt::print("\n");
  for (const Row& row : rows)
    for (std::size_t task = 0; task < 2; ++task) {
      const std::string what = fmt::format("{}: {}", row.scheme.name, task == 0 ? "reverse" : "shift");
      const double right = kit::mean_right(row.right[2 * task]), least = row.scheme.least[task],
                   most = row.scheme.most[task];
      if (least > 0) report.at_least(what, right, least, "%");
      if (most < 100) report.at_most(what, right, most, "%");
    }
  return rows;
}

// ---- 4. Why -----------------------------------------------------------------------------------------------
//
// The table asks five questions. Have the pictures beside you: how much is right at each place, and where the
// head looks that does the shift.
//
// Why can ALiBi not even shift? Its score falls with |i − j|: three to the left is three to the right. (In a
// causal model nothing stands to the right, and there it is at home.)
//
// Why do some relative schemes not reverse, and Shaw does? To reverse, a place must know where it stands.
// Feed a string of one symbol, aaaa…: all values are equal, and whatever the weights, they add up to 1 and
// give that value back. Every place reads the same, so it cannot know where it stands. T5, ALiBi and rotary
// change the weights only. Shaw's a^V are values of another sort: Σ α a^V tells a place how much of the
// string lies left and right of it. The column "tells places" says who passes this test, before any training.
// (Random strings give the others a clue or two, such as a neighbour that is missing at the edge. It brings
// rotary to a quarter of the answers, T5 to a sixth.)
//
// Why do the absolute ones break off at place 16 in the shift? Beyond, a learned vector is still the random
// numbers that it started from, and the sinusoids turn to where they never were in training. What was learned
// holds for places that were seen. In reverse, moreover, n − 1 − t was only ever learned for one n.
//
// Why does Shaw hold at 32, and T5 "32 to 128" not? At n = 32 there are distances that training never had.
// Shaw's count as 8: nothing is new. T5's distances from 16 on have buckets of their own whose numbers were
// never trained, and among so many strangers the right key loses. With "16 to 16" they fall into the last
// bucket, which was trained.
//
// And rotary? Its clock comes round. After 19 places the fastest hand has made three turns and the next one
// nearly a whole one: to a head that watches those two, 22 to the left and 16 to the right look like 3 to the
// left. At n = 16 there are no such pairs, so nothing kept it from relying on these hands. At 32 its map has
// two lines too many. Only places 16 to 21 stand so that neither such key exists, and there it is right.

void why(const std::vector<Row>& rows, const kit::Options& options, kit::Report& report) {
  const auto shift_at_32 = [&](const std::string& name) {
    return std::find_if(rows.begin(), rows.end(), [&](const Row& row) { return row.scheme.name == name; })
        ->right[3];
  };
  const kit::MovedSymbols some =
      kit::draw_moves(kit::Random(options.seed, 4'000'000), Move::reverse, 1000, kTrained);
  report.quoted("the ceiling without order", kit::commonest_elsewhere(some.symbols), 13, 0.05, "%");
  for (const Row& row : rows)
    report.check(fmt::format("{}: the places of a string of one symbol {}", row.scheme.name,
                             row.scheme.tells_places ? "differ" : "are the same"),
                 row.scheme.tells_places ? row.apart > 0.01 : row.apart < 1e-4);
  for (const char* name : {"sinusoidal", "learned"}) {
    const std::vector<double> right = shift_at_32(name);
    report.at_least(fmt::format("{}: shift at 32, below 16", name), kit::mean_right(right, 0, kTrained), 90,
                    "%");
    report.at_most(fmt::format("{}: shift at 32, from 16 on", name), kit::mean_right(right, kTrained), 20,
                   "%");
  }
  report.at_least("Shaw: shift at 32", kit::mean_right(shift_at_32("Shaw")), 99, "%");
  report.at_least("T5, 16 to 16: shift at 32", kit::mean_right(shift_at_32("T5, 16 to 16")), 95, "%");
  const std::vector<double> turned = shift_at_32("rotary");
  report.at_least("rotary: shift at 32, places 16 to 21", kit::mean_right(turned, 16, 22), 95, "%");
  report.at_most("rotary: shift at 32, below 16", kit::mean_right(turned, 0, 16), 95, "%");
  report.at_most("rotary: shift at 32, from 22 on", kit::mean_right(turned, 22), 95, "%");

  kit::Heatmap table{
      "Share right, trained at 16", {"reverse 16", "reverse 32", "shift 16", "shift 32"}, {}, {}};
  kit::Heatmap places{"Shift at n = 32, place by place: % right", counted(kLonger), {}, {}};
  kit::HeatmapGrid all{"Shift at n = 32: who looks where", {}, 4}, two{all.title, {}, 2};
  for (const Row& row : rows) {
    table.rows.emplace_back(row.scheme.name);
    for (const std::vector<double>& right : row.right) table.values.push_back(kit::mean_right(right) / 100);
    places.rows.emplace_back(row.scheme.name);
    places.values.insert(places.values.end(), row.right[3].begin(), row.right[3].end());
    all.maps.push_back({row.scheme.name, counted(kLonger), counted(kLonger), row.map.to_vector()});
    all.maps.back().most = 0.6;
  }
  table.numbers = true;
  places.most = 100;
  kit::show(table, options.out / "table.svg");
  kit::show(places, options.out / "places.svg");
  kit::save_svg(kit::svg(all), options.out / "maps.svg");
  two.maps = {all.maps[2], all.maps.back()};  // learned, rotary
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
  program.steps(500, 2);
  return program.run(argc, argv, lesson);
}
