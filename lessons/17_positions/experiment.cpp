// Trains eight models with different position schemes on two tasks at length 16, and tests them at length 32.
//
// Each model is nn/'s TransformerEncoder: two layers of self-attention with four heads, each followed by a
// small network (see lessons 18 and 19). The models differ only in the scheme.
#include "lessons/17_positions/experiment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/core.hpp"
#include "lessons/kit/check/agreement.hpp"
#include "lessons/kit/picture/heatmap_grid.hpp"
#include "lessons/kit/train/loop.hpp"
#include "nn/attention/weight_recorder.hpp"
#include "nn/transformer/transformer.hpp"

namespace tapestry::lesson17 {
namespace {

using kit::Move;

constexpr Size kWidth = 64;

struct Scheme {
  const char* name;
  PositionScheme scheme;
  /// Targets for reverse and shift at the trained length, in per cent.
  std::array<double, 2> least = {0, 0}, most = {100, 100};
  bool distinguishes_positions = false;  // distinguishes the positions of a string of one symbol
};

std::vector<Scheme> schemes() {
  return {{.name = "none", .scheme = no_positions(), .most = {15, 15}},
          {.name = "sinusoidal", .scheme = sinusoidal(), .least = {99, 0}, .distinguishes_positions = true},
          {.name = "learned",
           .scheme = learned_positions(kLonger),
           .least = {99, 0},
           .distinguishes_positions = true},
          {.name = "Shaw", .scheme = shaw(8), .least = {90, 99}, .distinguishes_positions = true},
          {.name = "T5, 32 to 128", .scheme = t5_buckets(32, 128), .least = {0, 99}, .most = {40, 100}},
          {.name = "T5, 16 to 16", .scheme = t5_buckets(16, 16), .least = {0, 99}, .most = {40, 100}},
          {.name = "ALiBi", .scheme = alibi(), .most = {20, 20}},
          {.name = "rotary", .scheme = rotary(), .least = {0, 99}, .most = {40, 100}}};
}

struct SymbolModel : Module {
  explicit SymbolModel(const PositionScheme& scheme) : encoder{{*this, "encoder"}, options(scheme)} {}
  static TransformerOptions options(const PositionScheme& scheme) {
    TransformerOptions options;
    options.vocabulary = kit::kMoveSymbols;
    options.layers = 2;
    options.block = {.width = kWidth, .heads = 4, .hidden = 2 * kWidth};
    options.positions = scheme;
    return options;
  }
  /// Computes logits (B, n, symbols) from symbols (B, n).
  Tensor operator()(const Indices& ids) const { return output(encoder(ids)); }

  TransformerEncoder encoder;
  Linear output{{*this, "output"}, kWidth, kit::kMoveSymbols};
};

/// Computes Row::map as a mean over several strings.
std::vector<double> best_map(const SymbolModel& model, const kit::Options& options) {
  const kit::MovedSymbols strings =
      kit::draw_moves(kit::Random(options.seed, 3'000'000), Move::shift, options.smoke ? 2 : 32, kLonger);
  Tensor best;
  double most = -1;
  for (const TransformerBlock& block : model.encoder.stack.blocks) {
    const WeightRecorder recorder(block.self->attention);  // records the weights during its lifetime
    model.encoder(strings.symbols);
    const Tensor maps = mean(recorder.weights().front(), {0});  // (heads, n, n)
    for (Size head = 0; head < maps.size(0); ++head) {
      double on = 0;
      for (Size i = kit::kShift; i < kTrained; ++i) on += maps.at({head, i, i - kit::kShift});
      if (on > most) best = select(maps, 0, head);
      most = std::max(most, on);
    }
  }
  return best.to_vector();
}

/// Returns the largest difference between the states at position 0 and at any position of a string of one
/// symbol.
double difference_between_positions(const SymbolModel& model) {
  const Tensor states = model.encoder(Indices(std::vector<std::int64_t>(kTrained, 7), {1, kTrained}));
  return kit::largest(states - slice(states, 1, 0, 1));
}

/// Returns the percentage of right answers at each position of new strings. Their streams are far from the
/// streams used in training.
std::vector<double> test(const SymbolModel& model, Move move, Size length, const kit::Options& options) {
  const kit::Random random(options.seed, static_cast<std::uint64_t>(1'000'000 + length));
  const kit::MovedSymbols strings = kit::draw_moves(random, move, options.smoke ? 4 : 300, length);
  return kit::accuracy_by_position(argmax(model(strings.symbols)), strings.answers);
}

Row train_both(const Scheme& scheme, const kit::Options& options) {
  const Size batch = options.smoke ? 2 : 32;
  Row row;
  row.name = scheme.name;
  for (const Move move : {Move::reverse, Move::shift}) {
    const bool reverse = move == Move::reverse;
    SymbolModel model(scheme.scheme);
    model.initialise(options.seed);
    row.position_difference = difference_between_positions(model);
    kit::train(model,
               {.name = fmt::format("{}, {}", scheme.name, reverse ? "reverse" : "shift"),
                .steps = options.steps,
                .batch = batch,
                .seed = options.seed},
               [&](kit::Random random) {
                 const kit::MovedSymbols strings = kit::draw_moves(random, move, batch, kTrained);
                 return cross_entropy(model(strings.symbols), strings.answers, {.ignore = kit::kNoAnswer});
               });
    (reverse ? row.reverse_16 : row.shift_16) = test(model, move, kTrained, options);
    (reverse ? row.reverse_32 : row.shift_32) = test(model, move, kLonger, options);
    if (!reverse) row.map = best_map(model, options);
  }
  return row;
}

}  // namespace

const Row& Table::operator[](const std::string& name) const {
  return *std::find_if(rows.begin(), rows.end(), [&](const Row& row) { return row.name == name; });
}

Table train_all(const kit::Options& options, kit::Report& report) {
  fmt::print("  {:<16}{:>12}{:>12}{:>30}\n", "% right", "reverse 16", "shift 16", "difference within aaaa…");
  Table table;
  for (const Scheme& scheme : schemes()) {
    const Row row = train_both(scheme, options);
    fmt::print("  {:<16}{:>12.1f}{:>12.1f}{:>30.0e}\n", row.name, kit::mean_accuracy(row.reverse_16),
               kit::mean_accuracy(row.shift_16), row.position_difference);
    table.rows.push_back(row);
  }
  fmt::print("\n");
  for (const Scheme& scheme : schemes()) {
    const Row& row = table[scheme.name];
    for (std::size_t task = 0; task < 2; ++task) {
      const std::string what = fmt::format("{}: {}", scheme.name, task == 0 ? "reverse" : "shift");
      const double right = kit::mean_accuracy(task == 0 ? row.reverse_16 : row.shift_16);
      if (scheme.least[task] > 0) report.at_least(what, right, scheme.least[task], "%");
      if (scheme.most[task] < 100) report.at_most(what, right, scheme.most[task], "%");
    }
    report.check(
        fmt::format("{}: states in a string of one symbol are {}", scheme.name,
                    scheme.distinguishes_positions ? "different" : "equal"),
        scheme.distinguishes_positions ? row.position_difference > 0.01 : row.position_difference < 1e-4);
  }
  return table;
}

void draw_longer(const Table& table, const kit::Options& options) {
  fmt::print("  {:<16}{:>12}{:>12}\n", "% right", "reverse 32", "shift 32");
  kit::Heatmap shares{"Fraction of right answers, trained at length 16",
                      {"reverse 16", "reverse 32", "shift 16", "shift 32"},
                      {},
                      {}};
  kit::Heatmap places{
      "Shift at n = 32: right answers at each position, in %", kit::numbered(kLonger), {}, {}};
  kit::HeatmapGrid all{
      "Shift at n = 32: weights, with a row for each query and a column for each key (darkest "
      "colour: 0.6)",
      {},
      4};
  for (const Row& row : table.rows) {
    fmt::print("  {:<16}{:>12.1f}{:>12.1f}\n", row.name, kit::mean_accuracy(row.reverse_32),
               kit::mean_accuracy(row.shift_32));
    shares.rows.push_back(row.name);
    for (const auto* right : {&row.reverse_16, &row.reverse_32, &row.shift_16, &row.shift_32})
      shares.values.push_back(kit::mean_accuracy(*right) / 100);
    places.rows.push_back(row.name);
    places.values.insert(places.values.end(), row.shift_32.begin(), row.shift_32.end());
    all.maps.push_back({row.name, kit::numbered(kLonger), kit::numbered(kLonger), row.map});
    all.maps.back().most = 0.6;
  }
  shares.numbers = true;
  places.most = 100;
  places.column_axis = "position";
  kit::show(shares, options.out / "table.svg");
  kit::show(places, options.out / "places.svg");
  kit::save_svg(kit::svg(all), options.out / "maps.svg");
  const kit::HeatmapGrid two{all.title, {all.maps[2], all.maps.back()}, 2};  // learned, rotary
  kit::show_text(kit::text(two, kit::Terminal::of(1)), options.out / "maps.svg");
}

void check_longer(const Table& table, kit::Report& report) {
  for (const char* name : {"sinusoidal", "learned"}) {
    const std::vector<double>& right = table[name].shift_32;
    report.at_least(fmt::format("{}: shift at 32, positions 0 to 15", name),
                    kit::mean_accuracy(right, 0, kTrained), 90, "%");
    report.at_most(fmt::format("{}: shift at 32, positions 16 to 31", name),
                   kit::mean_accuracy(right, kTrained), 20, "%");
  }
  report.at_least("Shaw: shift at 32", kit::mean_accuracy(table["Shaw"].shift_32), 99, "%");
  report.at_least("T5, 16 to 16: shift at 32", kit::mean_accuracy(table["T5, 16 to 16"].shift_32), 95, "%");
  report.at_most("T5, 32 to 128: shift at 32", kit::mean_accuracy(table["T5, 32 to 128"].shift_32), 95, "%");
  const std::vector<double>& turned = table["rotary"].shift_32;
  report.at_least("rotary: shift at 32, positions 16 to 21", kit::mean_accuracy(turned, 16, 22), 95, "%");
  report.at_most("rotary: shift at 32, positions 0 to 15", kit::mean_accuracy(turned, 0, 16), 95, "%");
  report.at_most("rotary: shift at 32, positions 22 to 31", kit::mean_accuracy(turned, 22), 95, "%");
}

double accuracy_without_order(const kit::Options& options) {
  return kit::most_frequent_elsewhere(
      kit::draw_moves(kit::Random(options.seed, 4'000'000), Move::reverse, 1000, kTrained).symbols);
}

}  // namespace tapestry::lesson17
