// What stands in padding, NaN too, changes no output and no gradient; rows with nothing to attend to give
// exactly 0.
#include <cmath>
#include <limits>

#include "core/attention/score_lambda.hpp"
#include "nn/attention/attention.hpp"
#include "nn/attention/multi_head.hpp"
#include "nn/attention/weight_recorder.hpp"
#include "nn/recurrent.hpp"
#include "tests/nn/golden.hpp"
#include "tests/not_finite.hpp"

using namespace tapestry;
using test::kNaN;
using testing::all_finite;
using testing::equal_bits;

namespace {

/// x (B, T, n) with `poison` in row b from step lengths[b] on.
Tensor poisoned(const Tensor& x, const ValidLengths& lengths, double poison) {
  const Mask valid = lengths.mask(x.size(1)).reshape({x.size(0), x.size(1), 1});
  return where(valid, x, scalar(poison, x.dtype()));
}

}  // namespace

TEST_CASE("padding changes nothing in a recurrent layer") {
  const CellKind kind = GENERATE(CellKind::rnn, CellKind::gru, CellKind::lstm);
  const ValidLengths lengths{3, 5, 0, 1};
  Recurrent layer(Parent{}, kind, 3, 4, {.layers = 2, .both_directions = true});
  layer.initialise(1, DType::f64);
  const Tensor clean = random_normal({4, 5, 3}, 2, DType::f64);
  const Tensor weigh = random_normal({4, 5, 8}, 3, DType::f64),
               weigh_final = random_normal({4, 4}, 4, DType::f64);

  struct Result {
    std::vector<Tensor> tensors;
  };
  const auto run = [&](double poison) {
    const Tensor x = variable(poisoned(clean, lengths, poison), "x");
    for (const Tensor& leaf : layer.parameters()) leaf.clear_grad();
    Tape tape;
    const RecurrentOutput out = layer(x, lengths);
    Result result{{out.states.detach()}};
    Tensor loss = sum(out.states * weigh);
    for (const RecurrentState& state : out.final) {
      result.tensors.push_back(state.hidden.detach());
      loss = loss + sum(state.hidden * weigh_final);
    }
    tape.backward(loss);
    result.tensors.push_back(x.grad());
    for (const Tensor& leaf : layer.parameters()) result.tensors.push_back(leaf.grad());
    return result;
  };
  const Result a = run(0), b = run(kNaN), c = run(std::numeric_limits<double>::infinity());
  for (std::size_t i = 0; i < a.tensors.size(); ++i) {
    INFO("result " << i);
    CHECK(all_finite(a.tensors[i]));
    CHECK(equal_bits(a.tensors[i], b.tensors[i]));
    CHECK(equal_bits(a.tensors[i], c.tensors[i]));
  }
  // Row 2 is empty: outputs, final states and its gradient are exactly 0.
  CHECK(sum(abs(select(a.tensors[0], 0, 2))).item() == 0);
  CHECK(sum(abs(select(a.tensors[1], 0, 2))).item() == 0);
  CHECK(sum(abs(a.tensors[0])).item() > 0);
}

TEST_CASE("a padded row gives what the row alone gives") {
  const CellKind kind = GENERATE(CellKind::rnn, CellKind::gru, CellKind::lstm);
  Recurrent layer(Parent{}, kind, 3, 4, {.layers = 2, .both_directions = true});
  layer.initialise(1, DType::f64);
  const Tensor x = random_normal({2, 6, 3}, 2, DType::f64);
  const RecurrentOutput all = layer(x, ValidLengths{4, 6});
  const RecurrentOutput alone = layer(slice(slice(x, 0, 0, 1), 1, 0, 4));
  CHECK(max(abs(slice(slice(all.states, 0, 0, 1), 1, 0, 4) - alone.states)).item() < 1e-14);
  for (std::size_t i = 0; i < 4; ++i)
    CHECK(max(abs(slice(all.final[i].hidden, 0, 0, 1) - alone.final[i].hidden)).item() < 1e-14);
}

TEST_CASE("what no query may see touches nothing in attention") {
  const std::string which = GENERATE("additive", "dot", "scaled_dot", "callable");
  INFO(which);
  const ScoreFactory maker = which == "additive"     ? additive(4, 4, 6)
                             : which == "dot"        ? dot()
                             : which == "scaled_dot" ? scaled_dot()
                                                     : ScoreFactory([](const Tensor& q, const Tensor& k) {
                                                         return matmul(tanh(q), transpose(k)) * 0.5;
                                                       });
  Attention attention(maker);
  attention.initialise(1, DType::f64);
  const ValidLengths lengths{2, 5, 0};
  const Tensor q0 = random_normal({3, 3, 4}, 2, DType::f64), k0 = random_normal({3, 5, 4}, 3, DType::f64);
  const Tensor v0 = random_normal({3, 5, 7}, 4, DType::f64), weigh = random_normal({3, 3, 7}, 5, DType::f64);

  const auto run = [&](double poison) {
    const Tensor q = variable(poisoned(q0, ValidLengths{3, 3, poison == 0 ? 3 : 0}, poison));
    const Tensor k = variable(poisoned(k0, lengths, poison)), v = variable(poisoned(v0, lengths, poison));
    for (const Tensor& leaf : attention.parameters()) leaf.clear_grad();
    Tape tape;
    const AttentionOutput found = attention(q, k, v, lengths);
    std::vector<Tensor> results{found.context.detach(), found.weights.detach()};
    tape.backward(sum(found.context * weigh));
    for (const Tensor& x : {q, k, v}) results.push_back(x.grad());
    for (const Tensor& leaf : attention.parameters()) results.push_back(leaf.grad());
    return results;
  };
  const auto clean = run(0), poison = run(kNaN);
  for (std::size_t i = 0; i < clean.size(); ++i) {
    INFO("result " << i);
    CHECK(all_finite(clean[i]));
    CHECK(equal_bits(clean[i], poison[i]));
    // Batch row 2 sees no key: its weights, output and gradients are exactly 0.
    if (i < 5) CHECK(sum(abs(select(clean[i], 0, 2))).item() == 0);
  }
  CHECK(sum(abs(clean[0])).item() > 0);
}

TEST_CASE("a score_mod of a layer hides and is hidden as in attend(), NaN and all") {
  const auto score = [](auto s, auto at, auto w) {  // −∞ for query 3, no number above the diagonal
    return select(at.i == 3, -std::numeric_limits<double>::infinity(), s - w() * log(1 + at.i - at.j));
  };
  Attention with_score(
      scaled_dot(), {.score_mod = {{{"w", {}, constant(0.7)}}, [&](const std::vector<Tensor>& p, Size, Size) {
                                     return score_mod(score, learned(p[0]));
                                   }}});
  with_score.initialise(1, DType::f64);
  const Tensor weight = with_score.parameters()[0];
  const Mask causal = Mask::from(6, 6, [](Size i, Size j) { return j <= i && i != 5 && j != 1; });
  const auto poisoned_rows = [](const Tensor& x, const std::vector<Size>& rows, double poison) {
    const Mask bad = Mask::from(6, 1, [&](Size i, Size) {
                       return std::find(rows.begin(), rows.end(), i) != rows.end();
                     }).reshape({1, 1, 6, 1});
    return where(bad, scalar(poison, x.dtype()), x);
  };
  const Tensor q0 = random_normal({1, 2, 6, 3}, 1, DType::f64),
               k0 = random_normal({1, 2, 6, 3}, 2, DType::f64),
               v0 = random_normal({1, 2, 6, 4}, 3, DType::f64),
               dy = random_normal({1, 2, 6, 4}, 4, DType::f64);
  const auto run = [&](double poison, bool layer, bool twice) {
    const Tensor q = variable(poisoned_rows(q0, {3, 5}, poison)),
                 k = variable(poisoned_rows(k0, {1, 5}, poison)),
                 v = variable(poisoned_rows(v0, {1, 5}, poison));
    Tape tape;
    const Tensor y =
        layer
            ? with_score(q, k, v, causal).context
            : attend(q, k, v,
                     {.mask = BlockMask::from(causal, 6, 6), .score_mod = score_mod(score, learned(weight))});
    std::vector<Tensor> results{y.detach()};
    for (const Tensor& g :
         tape.gradients(y, dy, std::vector<Tensor>{q, k, v, weight}, {.create_graph = twice}))
      results.push_back(g.detach());
    return results;
  };
  const auto want = run(0, false, false);
  for (const bool layer : {false, true})
    for (const bool twice : {false, true})
      for (const double poison : {0.0, kNaN, std::numeric_limits<double>::infinity()}) {
        const auto got = run(poison, layer, twice);
        for (std::size_t i = 0; i < got.size(); ++i) {
          CAPTURE(layer, twice, poison, i);
          CHECK(max(abs(got[i] - want[i])).item() < 1e-12);
        }
      }
}

TEST_CASE("a query that sees no key gives exactly 0, whatever others see") {
  const Attention attention(scaled_dot());
  const Tensor q = variable(random_normal({1, 3, 4}, 1, DType::f64)),
               bad = variable(full({1, 5, 4}, kNaN, DType::f64));
  const Mask mask = Mask::from(3, 5, [](Size i, Size) { return i != 1; });
  Tape tape;
  const Tensor y = attention(q, bad, bad, mask).context, row = select(y, 1, 1);
  CHECK(row.to_vector() == std::vector<double>(4, 0));
  CHECK_FALSE(all_finite(select(y, 1, 0)));  // those who see it know
  CHECK(select(tape.gradients(sum(y), {q})[0], 1, 1).to_vector() == std::vector<double>(4, 0));
}

namespace {

/// Dot products, except that the score of query 0 and key 1 is −∞; counts its calls in the state.
class CountingScore : public Score {
 public:
  using Score::Score;
  Tensor score(const Tensor& query, const Tensor& keys, ScoreState& state) const override {
    state.memory = state.memory.defined() ? state.memory + 1.0 : ones({1}, DType::f64);
    const Mask visible =
        Mask::from(query.size(-2), keys.size(-2), [](Size i, Size j) { return i != 0 || j != 1; });
    return where(visible, matmul(query, transpose(keys)),
                 scalar(-std::numeric_limits<double>::infinity(), query.dtype()));
  }
};

}  // namespace

TEST_CASE("a second scoring, after scores of −∞, starts from the state of the first") {
  const Attention attention(ScoreFactory::of<CountingScore>());
  const Tensor x = random_normal({3, 4}, 7, DType::f64);
  ScoreState state;
  CHECK(attention(x, attention.prepare(x, x), state).weights.at({0, 1}) == 0);
  CHECK(state.memory.item() == 1);
  CHECK(state.step == 3);
}

TEST_CASE("strict attention reports a query with nothing to attend to") {
  struct Model : Module {
    Attention attention{{*this, "look"}, dot(), {.strict = true}};
  };
  Model model;
  const Tensor x = random_normal({2, 3, 4}, 1);
  CHECK_THROWS_WITH(
      model.attention(x, x, x, ValidLengths{3, 0}),
      Catch::Matchers::ContainsSubstring("\"look\"] in strict mode every query must have a key, got "
                                         "none in row 1 of the mask (2,1,3)"));
  CHECK_NOTHROW(model.attention(x, x, x, ValidLengths{3, 1}));
}

TEST_CASE("strict attention reports a query whose window has no key left, too") {
  const Attention attention(dot(), {.strict = true, .local = local_m(1)});
  const Tensor q = random_normal({2, 5, 4}, 1), k = random_normal({2, 3, 4}, 2);
  CHECK_THROWS_WITH(attention(q, k, k), Catch::Matchers::ContainsSubstring("row 4 of the window (5,3)") &&
                                            Catch::Matchers::ContainsSubstring("one of 1 such rows"));
  const Mask last = Mask::from(1, 3, [](Size, Size j) { return j == 2; });  // outside the first window
  CHECK_THROWS_WITH(attention(k, k, k, last), Catch::Matchers::ContainsSubstring("row 0 of the window"));
  CHECK_NOTHROW(attention(slice(q, 1, 0, 4), k, k));
}

TEST_CASE("leading axes are free: heads equal single runs, and masks broadcast over them") {
  const Attention attention(scaled_dot());
  const Tensor q = random_normal({2, 3, 4, 5}, 1, DType::f64), k = random_normal({2, 3, 6, 5}, 2, DType::f64);
  const Tensor v = random_normal({2, 3, 6, 7}, 3, DType::f64);
  const Mask causal = Mask::causal(4, 6);
  const AttentionOutput both = attention(q, k, v, causal);
  const AttentionOutput lengths = attention(q, k, v, ValidLengths{2, 6});
  for (Size b = 0; b < 2; ++b)
    for (Size h = 0; h < 3; ++h) {
      const auto part = [&](const Tensor& x) { return select(select(x, 0, b), 0, h); };
      CHECK(max(abs(part(both.context) - attention(part(q), part(k), part(v), causal).context)).item() <
            1e-14);
      const Mask own = Mask::from(4, 6, [&](Size, Size j) { return j < (b == 0 ? 2 : 6); });
      CHECK(max(abs(part(lengths.context) - attention(part(q), part(k), part(v), own).context)).item() <
            1e-14);
    }
  CHECK_THROWS_AS(attention(q, k, v, Mask::causal(4, 5)), Error);
}

TEST_CASE("weights are recorded on request and only then") {
  const Attention attention(dot());
  const Tensor x = random_normal({1, 3, 4}, 1);
  const Tensor before = attention(x, x, x).context;
  {
    WeightRecorder recorder(attention);
    CHECK(equal_bits(attention(x, x, x).context, before));
    attention(x, x, x);
    REQUIRE(recorder.weights().size() == 2);
    CHECK(recorder.weights()[0].shape() == Dims{1, 3, 3});
    CHECK(sum(recorder.weights()[0]).item() == Approx(3));
    {
      const WeightRecorder second(attention);  // of its own: the first goes on
      attention(x, x, x);
      CHECK(second.weights().size() == 1);
    }
    attention(x, x, x);
    CHECK(recorder.weights().size() == 4);
  }
  CHECK_NOTHROW(attention(x, x, x));
}

TEST_CASE("attention takes another normaliser and drops weights in training only") {
  Attention uniform_weights(
      dot(), {.normalise = [](const Tensor& scores, const Mask&) { return scores * 0.0 + 0.25; }});
  const Tensor x = random_normal({4, 3}, 1, DType::f64);
  CHECK(max(abs(uniform_weights(x, x, x).context - mean(x, {0}, Keep::yes))).item() < 1e-15);
  Attention dropping(dot(), {.dropout = 0.5});
  const Tensor a = dropping(x, x, x).context;
  dropping.eval();
  CHECK_FALSE(equal_bits(a, dropping(x, x, x).context));
  CHECK(equal_bits(dropping(x, x, x).context, Attention(dot())(x, x, x).context));
}

TEST_CASE("a recurrent layer over no steps at all returns none, and its first states") {
  for (const CellKind kind : {CellKind::rnn, CellKind::gru, CellKind::lstm}) {
    Recurrent layer({}, kind, 2, 3, {.layers = 2, .both_directions = true});
    layer.initialise(1, DType::f64);
    const RecurrentOutput found = layer(zeros({4, 0, 2}, DType::f64));
    CHECK(found.states.shape() == Dims{4, 0, 6});
    REQUIRE(found.final.size() == 4);
    CHECK(equal_bits(found.final[3].hidden, zeros({4, 3}, DType::f64)));
  }
}

TEST_CASE("multi-head attention of no tokens, no keys or no rows returns none or zeros") {
  for (const Size groups : {4, 2}) {
    MultiHeadAttention layer({.width = 8, .heads = 4, .kv_heads = groups});
    layer.initialise(1, DType::f64);
    const Tensor x = random_normal({2, 3, 8}, 5, DType::f64), none = zeros({2, 0, 8}, DType::f64),
                 no_rows = zeros({0, 3, 8}, DType::f64);
    CHECK(layer(none, none, none).context.shape() == none.shape());
    CHECK(layer(no_rows, no_rows, no_rows).context.shape() == no_rows.shape());
    // The contexts are 0, so the bias of the output is left, which starts at 0.
    CHECK(testing::apart(layer.context(x, layer.prepare(none, none)), zeros({2, 3, 8}, DType::f64)) == 0);
  }
}

TEST_CASE("recurrent layers refuse lengths and states that do not fit") {
  GRU layer(3, 4);
  layer.initialise(1);
  const Tensor x = random_normal({2, 5, 3}, 1);
  CHECK_THROWS_AS(layer(x, ValidLengths{5}), Error);
  CHECK_THROWS_AS(layer(x, ValidLengths{5, 6}), Error);
  CHECK_THROWS_AS(layer(x, {}, {zeros({2, 3})}), Error);
  CHECK_THROWS_AS(layer(x, {}, {zeros({2, 4}), zeros({2, 4})}), Error);
  CHECK_THROWS_AS(layer(select(x, 0, 0)), Error);
  CHECK_THROWS_AS(LSTMCell(3, 4)(x, zeros({2, 4})), Error);
}
