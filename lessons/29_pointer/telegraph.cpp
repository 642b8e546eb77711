// Monotonic attention: a telegraph receives letters and pauses, and writes a code of two symbols for each letter as
// soon as the letter has come in.
#include "lessons/29_pointer/telegraph.hpp"

#include <fmt/format.h>

#include <numeric>
#include <vector>

#include "core/core.hpp"
#include "lessons/kit/check/agreement.hpp"
#include "lessons/kit/check/by_hand.hpp"
#include "lessons/kit/train/loop.hpp"

namespace tapestry::lesson29 {
namespace {

using Ids = std::vector<std::int64_t>;
constexpr Size kEmbedding = 24, kHidden = 48, kBatch = 64, kFewest = 2, kMost = 5, kStart = kLetters;
constexpr std::uint64_t kTestStream = 1'000'000, kCode = 4'000'000;

void train(Telegraph& telegraph, const char* name, AttentionKind kind, const kit::Options& options) {
  telegraph.freeze(kind == AttentionKind::softmax ? "monotonic" : "soft");
  telegraph.initialise(options.seed);
  kit::train(telegraph,
             {.name = name,
              .steps = options.steps,
              .rate = 6e-3,
              .batch = kBatch,
              .unit = "signals",
              .seed = options.seed},
             [&](kit::Random random) {
               const Signals drawn =
                   draw_signals(options.seed, random, kBatch, random.between(kFewest, kMost));
               return cross_entropy(telegraph(drawn.source, kind, drawn.target).logits, drawn.target);
             });
  telegraph.eval();
}

Signals test_signals(const kit::Options& options) {
  return draw_signals(options.seed, kit::Random(options.seed, kTestStream), options.smoke ? 5 : 500, kMost);
}

double accuracy(const Telegraph& telegraph, AttentionKind kind, const kit::Options& options) {
  const Signals test = test_signals(options);
  return kit::percent_equal(telegraph(test.source, kind).symbols, test.target);
}

std::string sign(std::int64_t letter) {
  return letter == kPause ? "·" : std::string(1, static_cast<char>('A' + letter));
}

void draw(const Telegraph& telegraph, const kit::Options& options) {
  const Signals one = draw_signals(options.seed, kit::Random(options.seed, kTestStream + 1), 1, kMost);
  const auto map_of = [&](AttentionKind kind, const char* title) {
    const Telegraph::Sent sent = telegraph(one.source, kind);
    kit::Heatmap map{title};
    for (const std::int64_t id : one.source.to_vector()) map.columns.push_back(sign(id));
    for (const std::int64_t id : sent.symbols.to_vector())
      map.rows.push_back(std::string(1, static_cast<char>('a' + id)));
    map.values = sent.weights.to_vector();
    map.column_axis = "letters and pauses received", map.row_axis = "symbols written";
    return map;
  };
  kit::show(map_of(AttentionKind::expected, "Expected weights"), options.out / "chances.svg");
  kit::show(map_of(AttentionKind::hard, "Hard decisions"), options.out / "monotonic.svg");
}

/// Runs the telegraph online: it takes the next letter only when it needs one.
void measure_online(const Telegraph& telegraph, TelegraphResults& result, const kit::Options& options) {
  const Size count = options.smoke ? 2 : 100;
  const Signals test = test_signals(options);
  const Ids places = test.places.to_vector();
  const Indices whole = telegraph(test.source, AttentionKind::hard).symbols;
  const auto length = static_cast<std::size_t>(2 * kMost);
  const Ids all = whole.to_vector(), sources = test.source.to_vector();
  double lookahead = 0, same = 0, scored_keys = 0;
  for (std::size_t row = 0; row < static_cast<std::size_t>(count); ++row) {
    const auto begin = static_cast<std::ptrdiff_t>(row * length),
               end = begin + static_cast<std::ptrdiff_t>(length);
    std::vector<Size> letters_taken;
    Size keys = 0;
    const Ids sent = telegraph.online(
        Indices(Ids(sources.begin() + begin, sources.begin() + end), {2 * kMost}), letters_taken, keys);
    same += std::equal(sent.begin(), sent.end(), all.begin() + begin) ? 1 : 0;
    for (std::size_t t = 0; t < length; ++t)
      lookahead += static_cast<double>(letters_taken[t] - 1 - places[row * length + t]);
    scored_keys += static_cast<double>(keys);
  }
  const auto rows = static_cast<double>(count), symbols = static_cast<double>(length);
  result.online_equal = 100 * same / rows;
  result.lookahead = lookahead / (rows * symbols);
  result.scored_pairs = 100 * scored_keys / (rows * symbols * symbols);
}

}  // namespace

void check_expected_weights(ExpectedWeights by_hand, std::uint64_t seed, kit::Report& report) {
  const Tensor scores = variable(random_normal({2, 5}, seed, DType::f64), "scores"),
               before = variable(softmax(random_normal({2, 5}, seed + 1, DType::f64), -1).detach(), "before");
  kit::check_by_hand(
      report, "monotonic", [&] { return by_hand(sigmoid(scores), before); },
      [&] { return monotonic_step(scores, before); }, {scores, before}, seed);
}

Signals draw_signals(std::uint64_t seed, kit::Random random, Size count, Size letters) {
  kit::Random code(seed, kCode);
  Ids first, second, source, target, places, free(static_cast<std::size_t>(2 * letters));
  for (Size letter = 0; letter < kLetters; ++letter)
    first.push_back(code.below(kLetters)), second.push_back(code.below(kLetters));
  std::iota(free.begin(), free.end(), std::int64_t{0});
  for (Size row = 0; row < count; ++row) {
    random.shuffle(free);
    std::vector<bool> taken(free.size(), false);
    for (Size i = 0; i < letters; ++i)
      taken[static_cast<std::size_t>(free[static_cast<std::size_t>(i)])] = true;
    for (std::size_t j = 0; j < taken.size(); ++j) {
      source.push_back(taken[j] ? random.below(kLetters) : kPause);
      if (!taken[j]) continue;
      const auto letter = static_cast<std::size_t>(source.back());
      target.insert(target.end(), {first[letter], second[letter]});
      places.insert(places.end(), 2, static_cast<std::int64_t>(j));
    }
  }
  const Dims shape{count, 2 * letters};
  return {Indices(source, shape), Indices(target, shape), Indices(places, shape)};
}

Telegraph::Telegraph(double noise)
    : letters{{*this, "letters"}, kLetters + 1, kEmbedding},
      symbols{{*this, "symbols"}, kLetters + 1, kEmbedding},
      encoder{{*this, "encoder"}, kEmbedding, kHidden},
      soft{{*this, "soft"}, normed_additive(kHidden, kHidden, kHidden)},
      monotonic{{*this, "monotonic"}, normed_additive(kHidden, kHidden, kHidden), {.noise = noise}},
      cell{{*this, "cell"}, kEmbedding + kHidden, kHidden},
      output{{*this, "output"}, 2 * kHidden, kLetters} {}

AttentionOutput Telegraph::step(const Indices& symbol, const PreparedKV& memory, AttentionKind kind,
                                State& state) const {
  const Tensor query = unsqueeze(state.hidden, 1);
  const AttentionOutput attended = kind == AttentionKind::softmax ? soft(query, memory, state.score)
                                   : kind == AttentionKind::expected
                                       ? monotonic(query, memory, state.score)
                                       : monotonic.stop(query, memory, state.score);
  const Tensor context = squeeze(attended.context, 1);
  state.hidden = cell(concat({symbols(symbol), context}, -1), RecurrentState(state.hidden)).hidden;
  return {unsqueeze(output(concat({state.hidden, context}, -1)), 1), attended.weights};
}

Telegraph::Sent Telegraph::operator()(const Indices& source, AttentionKind kind,
                                      const Indices& target) const {
  const Size batch = source.shape()[0], length = source.shape()[1];
  const Tensor states = encoder(letters(source)).states;
  const PreparedKV memory =
      kind == AttentionKind::softmax ? soft.prepare(states, states) : monotonic.prepare(states, states);
  State state{zeros({batch, kHidden}), {}};
  Indices symbol(Ids(static_cast<std::size_t>(batch), kStart), {batch});
  std::vector<Tensor> logits, weights;
  for (Size t = 0; t < length; ++t) {
    const AttentionOutput predicted = step(symbol, memory, kind, state);
    logits.push_back(predicted.context), weights.push_back(predicted.weights);
    symbol = target.defined() ? target.column(t) : argmax(predicted.context).reshape({batch});
  }
  const Tensor all = concat(logits, 1);
  return {all, concat(weights, 1), argmax(all)};
}

Ids Telegraph::online(const Indices& source, std::vector<Size>& letters_taken, Size& scored_keys) const {
  const Size length = source.shape()[0];
  const Indices row = source.reshape({1, length});
  Tensor keys;  // of the letters taken so far
  RecurrentState encoder_state;
  const auto take = [&](Size j) {
    const RecurrentOutput next = encoder_state.hidden.defined()
                                     ? encoder(letters(row.columns(j, j + 1)), {}, {encoder_state})
                                     : encoder(letters(row.columns(j, j + 1)));
    encoder_state = next.final.back();
    keys = keys.defined() ? concat({keys, next.states}, 1) : next.states;
  };
  Ids sent;
  State state{zeros({1, kHidden}), {}};
  Indices symbol(Ids{kStart}, {1});
  Size place = 0;  // the position of the last stop
  take(0);
  for (Size t = 0; t < length; ++t) {
    const State before = state;
    AttentionOutput predicted;
    Size taken;
    while (true) {
      taken = keys.size(1);
      state = before;
      if (state.score.weights.defined())
        state.score.weights = pad(state.score.weights, -1, 0, taken - state.score.weights.size(-1));
      predicted = step(symbol, monotonic.prepare(keys, keys), AttentionKind::hard, state);
      if (sum(predicted.weights).item() > 0 || taken == length) break;
      take(taken);
    }
    const Size stopped =
        sum(predicted.weights).item() > 0 ? argmax(predicted.weights).to_vector()[0] : length - 1;
    scored_keys += stopped - place + 1;
    place = stopped;
    letters_taken.push_back(taken);
    symbol = argmax(predicted.context).reshape({1});
    sent.push_back(symbol.to_vector()[0]);
  }
  return sent;
}

TelegraphResults train_telegraphs(double noise, const kit::Options& options) {
  Telegraph softmax(noise), without_noise(0), monotonic(noise);
  train(softmax, "softmax", AttentionKind::softmax, options);
  train(without_noise, "monotonic, no noise", AttentionKind::expected, options);
  train(monotonic, "monotonic", AttentionKind::expected, options);
  TelegraphResults result;
  result.softmax = accuracy(softmax, AttentionKind::softmax, options);
  State learned = softmax.soft.state();
  learned.emplace("offset", softmax.monotonic.offset);
  softmax.monotonic.load_state(learned);
  result.softmax_hard = accuracy(softmax, AttentionKind::hard, options);
  result.without_noise = accuracy(without_noise, AttentionKind::expected, options);
  result.without_noise_hard = accuracy(without_noise, AttentionKind::hard, options);
  result.expected = accuracy(monotonic, AttentionKind::expected, options);
  result.hard = accuracy(monotonic, AttentionKind::hard, options);
  measure_online(monotonic, result, options);
  fmt::print("  {:<28}{:>18}{:>26}\n", "trained with", "used as trained", "with hard decisions");
  const auto row = [](const char* name, double as_trained, double hard) {
    fmt::print("  {:<28}{:>16.1f} %{:>24.1f} %\n", name, as_trained, hard);
  };
  row("softmax", result.softmax, result.softmax_hard);
  row("expected weights, no noise", result.without_noise, result.without_noise_hard);
  row("expected weights", result.expected, result.hard);
  draw(monotonic, options);
  return result;
}

}  // namespace tapestry::lesson29
