// Generic tests down the table of scores: formula, PyTorch's numbers, gradients, masks and padding, order of
// keys, queries one by one, wrong shapes; and that no score hides.
#include "tests/nn/attention/score_table.hpp"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <regex>
#include <set>

#include "core/check/gradcheck.hpp"
#include "nn/attention/attention.hpp"
#include "tests/nn/golden.hpp"
#include "tests/nn/tensors.hpp"

using namespace tapestry;
using namespace tapestry::table;
using testing::apart;
using testing::equal_bits;
using testing::GoldenCase;
using testing::normal;
using testing::randomise;

namespace {

constexpr Size kTableQueries = 4, kTableKeys = 5;

/// Where they may, all widths differ; two places more than there are keys.
ScoreSizes sizes_of(const ScoreRow& row) {
  return {.query = row.equal_widths ? Size{4} : Size{3}, .key = 4, .third = 7};
}

Vector slice_of(const Vector& all, Size row, Size width) {
  return {all.begin() + row * width, all.begin() + (row + 1) * width};
}

/// Runs f(row) as a section for each row.
template <class F>
void down_the_table(F f) {
  for (std::size_t i = 0; i < score_rows().size(); ++i)
    DYNAMIC_SECTION(score_rows()[i].name << " (row " << i << ")") { f(score_rows()[i]); }
}

}  // namespace

TEST_CASE("every score has a row in the table") {
  std::set<std::string> rows, makers;
  for (const ScoreRow& row : score_rows()) rows.insert(row.name);
  const std::regex declaration("^ScoreFactory (\\w+)\\(");
  for (const auto& file :
       std::filesystem::directory_iterator(std::string(TAPESTRY_SOURCE_DIR) + "/nn/attention")) {
    if (file.path().extension() != ".hpp") continue;
    std::ifstream in(file.path());
    std::smatch found;
    for (std::string line; std::getline(in, line);)
      if (std::regex_search(line, found, declaration)) makers.insert(found[1]);
  }
  CHECK(makers == rows);
}

TEST_CASE("each score equals its formula, pair by pair") {
  down_the_table([](const ScoreRow& row) {
    const ScoreSizes sizes = sizes_of(row);
    Attention attention(row.make(sizes));
    randomise(attention, 100);
    const Weights weights(attention.state());
    const auto single = clone(attention, DType::f32);
    for (const Dims& lead : {Dims{}, Dims{3}, Dims{2, 3}}) {
      Dims q_shape = lead, k_shape = lead, s_shape = lead;
      q_shape.push_back(kTableQueries), q_shape.push_back(sizes.query);
      k_shape.push_back(kTableKeys), k_shape.push_back(sizes.key);
      s_shape.push_back(kTableQueries), s_shape.push_back(kTableKeys);
      const Tensor q = normal(q_shape, 1), k = normal(k_shape, 2);
      ScoreState state;
      const Tensor found = attention.score().score(q, attention.score().prepare(k), state);
      REQUIRE(to_string(found.shape()) == to_string(s_shape));
      const Vector all = found.to_vector(), qs = q.to_vector(), ks = k.to_vector();
      double largest = 1;
      for (Size b = 0, at = 0; b < lead.count(); ++b)
        for (Size i = 0; i < kTableQueries; ++i)
          for (Size j = 0; j < kTableKeys; ++j, ++at) {
            const double wanted = row.reference({slice_of(qs, b * kTableQueries + i, sizes.query),
                                                 slice_of(ks, b * kTableKeys + j, sizes.key), j},
                                                weights);
            largest = std::max(largest, std::abs(wanted));
            CAPTURE(b, i, j, wanted);
            REQUIRE(std::abs(all[static_cast<std::size_t>(at)] - wanted) <=
                    1e-13 * std::max(1.0, std::abs(wanted)));
          }
      ScoreState other;
      const Tensor rounded =
          single->score().score(q.to(DType::f32), single->score().prepare(k.to(DType::f32)), other);
      CHECK(apart(rounded.to(DType::f64), found) < 1e-5 * largest);
    }
  });
}

TEST_CASE("attention with each score equals PyTorch's, with gradients, under every mask") {
  down_the_table([](const ScoreRow& row) {
    if (row.golden.empty()) return;
    for (const char* name : {"plain", "wide", "one_query", "lengths_per_row", "lengths_per_query",
                             "empty_row", "empty_query", "arbitrary_mask"}) {
      INFO(name);
      const GoldenCase golden(row.golden, name);
      const Tensor q = golden.input("query"), v = golden.input("value");
      const Tensor k = row.sees_keys ? golden.input("key") : golden.at("key");
      const Size third = golden.has("score.weight") ? golden.at("score.weight").size(0)
                         : golden.has("weight")     ? golden.at("weight").size(0)
                                                    : 0;
      Attention attention(row.make({q.size(-1), k.size(-1), third}));
      golden.load_into(attention);
      Tape tape;
      const AttentionOutput found = attention(q, k, v, golden.has("mask") ? golden.mask("mask") : Mask());
      golden.check("output", found.context);
      golden.check("weights", found.weights);
      tape.backward(golden.weigh(found.context));
      golden.check_gradients({q, v});
      if (row.sees_keys) golden.check_gradients({k});
      golden.check_gradients(attention.parameters());
    }
  });
}

TEST_CASE("gradients of attention with each score, under a mask with an empty row") {
  down_the_table([](const ScoreRow& row) {
    const ScoreSizes sizes = sizes_of(row);
    Attention attention(row.make(sizes));
    randomise(attention, 100);
    const Mask mask =
        Mask::from(kTableQueries, kTableKeys, [](Size i, Size j) { return i != 1 && j <= i + 1; });
    const Tensor q = normal({2, kTableQueries, sizes.query}, 1), k = normal({2, kTableKeys, sizes.key}, 2);
    const Tensor v = normal({2, kTableKeys, 2}, 3);
    const GradcheckResult found =
        row.sees_keys
            ? gradcheck([&](const Tensor& a, const Tensor& b,
                            const Tensor& c) { return attention(a, b, c, mask).context; },
                        {q, k, v}, attention.parameters())
            : gradcheck([&](const Tensor& a, const Tensor& c) { return attention(a, k, c, mask).context; },
                        {q, v}, attention.parameters());
    INFO(found.report());
    CHECK(found.ok());
  });
}

TEST_CASE("with each score, what no query may see touches nothing") {
  down_the_table([](const ScoreRow& row) {
    const ScoreSizes sizes = sizes_of(row);
    Attention attention(row.make(sizes));
    randomise(attention, 100);
    const ValidLengths lengths{2, 5, 0};
    const Mask rows = lengths.mask(kTableKeys).reshape({3, kTableKeys, 1});
    const Tensor q0 = normal({3, kTableQueries, sizes.query}, 1), k0 = normal({3, kTableKeys, sizes.key}, 2);
    const Tensor v0 = normal({3, kTableKeys, 2}, 3), weigh = normal({3, kTableQueries, 2}, 4);

    const auto run = [&](double poison) {
      const Tensor bad = scalar(poison, DType::f64);
      const Mask asking = Mask::from(3, 1, [](Size i, Size) { return i != 2; }).unsqueeze(1);
      const Tensor q = variable(where(asking, q0, bad)), k = variable(where(rows, k0, bad)),
                   v = variable(where(rows, v0, bad));
      for (const Tensor& leaf : attention.parameters()) leaf.clear_grad();
      Tape tape;
      const AttentionOutput found = attention(q, k, v, lengths);
      std::vector<Tensor> results{found.context.detach(), found.weights.detach()};
      tape.backward(sum(found.context * weigh));
      CHECK(k.has_grad() == row.sees_keys);
      for (const Tensor& x : {q, v, k})
        if (x.has_grad()) results.push_back(x.grad());
      // Batch row 2 sees no key: its weights, output and gradients are exactly 0.
      for (const Tensor& x : results) CHECK(sum(abs(select(x, 0, 2))).item() == 0);
      for (const Tensor& leaf : attention.parameters()) results.push_back(leaf.grad());
      return results;
    };
    const auto clean = run(0.5);
    for (const double poison :
         {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
      const auto poisoned = run(poison);
      for (std::size_t i = 0; i < clean.size(); ++i) {
        INFO("result " << i << ", poison " << poison);
        CHECK(testing::all_finite(clean[i]));
        CHECK(equal_bits(clean[i], poisoned[i]));
      }
    }
    CHECK(sum(abs(clean[0])).item() > 0);
  });
}

TEST_CASE("with each score, a query does not depend on keys that it may not see") {
  down_the_table([](const ScoreRow& row) {
    const ScoreSizes sizes = sizes_of(row);
    Attention attention(row.make(sizes));
    randomise(attention, 100);
    const Tensor q = normal({2, kTableQueries, sizes.query}, 1), v = normal({2, kTableKeys, 2}, 3);
    const Tensor k = variable(normal({2, kTableKeys, sizes.key}, 2));
    const Mask causal = Mask::causal(kTableQueries, kTableKeys);
    const Mask last = Mask::from(kTableKeys, 1, [](Size j, Size) { return j + 1 == kTableKeys; });
    const Tensor huge = scalar(1000, DType::f64), nothing = scalar(0, DType::f64);
    const AttentionOutput a = attention(q, k.detach(), v, causal);
    const AttentionOutput b = attention(q, where(last, huge, k.detach()), where(last, huge, v), causal);
    const auto early = [](const Tensor& x) { return slice(x, 1, 0, kTableQueries - 1); };
    CHECK(equal_bits(early(a.context), early(b.context)));
    CHECK(equal_bits(early(a.weights), early(b.weights)));
    CHECK_FALSE(equal_bits(a.context, b.context));
    CHECK(sum(abs(where(causal, nothing, a.weights))).item() == 0);
    if (!row.sees_keys) return;
    Tape tape;
    const Tensor first = slice(attention(q, k, v, causal).context, 1, 0, 1);  // sees keys 0 and 1
    tape.backward(sum(first * normal({2, 1, 2}, 4)));
    CHECK(sum(abs(slice(k.grad(), 1, 2, kTableKeys))).item() == 0);
    CHECK(sum(abs(slice(k.grad(), 1, 0, 2))).item() > 0);
  });
}

TEST_CASE("keys in another order: the weights go with the keys, or stay at their places") {
  const std::vector<Size> order{3, 0, 4, 1, 2};
  const Indices moved(order, {kTableKeys});
  down_the_table([&](const ScoreRow& row) {
    const ScoreSizes sizes = sizes_of(row);
    Attention attention(row.make(sizes));
    randomise(attention, 100);
    const Tensor q = normal({kTableQueries, sizes.query}, 1), k = normal({kTableKeys, sizes.key}, 2);
    const Tensor v = normal({kTableKeys, 2}, 3);
    const AttentionOutput a = attention(q, k, v), b = attention(q, embedding(k, moved), embedding(v, moved));
    const Tensor carried = transpose(embedding(transpose(a.weights), moved));
    if (row.sees_keys) {
      CHECK(apart(b.weights, carried) < 1e-14);
      CHECK(apart(b.context, a.context) < 1e-14);
    } else {
      CHECK(equal_bits(b.weights, a.weights));
      CHECK(apart(b.context, a.context) > 0.01);
    }
    CHECK(apart(carried, a.weights) > 0.01);
  });
}

TEST_CASE("with each score, queries one by one give what all at once give") {
  down_the_table([](const ScoreRow& row) {
    const ScoreSizes sizes = sizes_of(row);
    Attention attention(row.make(sizes));
    randomise(attention, 100);
    const Tensor q = normal({2, kTableQueries, sizes.query}, 1);
    const PreparedKV memory = attention.prepare(normal({2, kTableKeys, sizes.key}, 2),
                                                normal({2, kTableKeys, 2}, 3), ValidLengths{3, kTableKeys});
    const AttentionOutput all = attention(q, memory);
    ScoreState state;
    std::vector<Tensor> contexts, weights;
    for (Size t = 0; t < kTableQueries; ++t) {
      CHECK(state.step == t);
      const AttentionOutput one = attention(slice(q, 1, t, t + 1), memory, state);
      CHECK(equal_bits(state.weights, one.weights));
      contexts.push_back(one.context);
      weights.push_back(one.weights);
    }
    CHECK(apart(concat(weights, 1), all.weights) < 1e-14);
    CHECK(apart(concat(contexts, 1), all.context) < 1e-14);
  });
}

TEST_CASE("each score refuses widths that do not fit, and says which") {
  using Catch::Matchers::ContainsSubstring;
  down_the_table([](const ScoreRow& row) {
    const ScoreSizes sizes = sizes_of(row);
    Attention attention(row.make(sizes));
    randomise(attention, 100);
    const Tensor q = normal({2, kTableQueries, sizes.query}, 1), k = normal({2, kTableKeys, sizes.key}, 2);
    CHECK_NOTHROW(attention(q, k, k));
    for (const Size width : {sizes.query + 1, Size{1}}) {
      const Tensor wrong = normal({2, kTableQueries, width}, 3);
      CHECK_THROWS_WITH(attention(wrong, k, k), ContainsSubstring(describe(wrong)));
    }
    if (!row.sees_keys) return;
    for (const Size width : {sizes.key + 1, Size{1}}) {
      const Tensor wrong = normal({2, kTableKeys, width}, 3);
      CHECK_THROWS_WITH(attention(q, wrong, k), ContainsSubstring(describe(wrong)));
    }
  });
}

TEST_CASE("scores by place take fewer keys than they have places, and refuse more") {
  using Catch::Matchers::ContainsSubstring;
  for (const bool connected : {false, true}) {
    Attention attention(connected ? fully_connected(2, 3, 6) : location(5, 6));
    randomise(attention, 100);
    const Tensor q = normal({1, 1, 5}, 1);
    ScoreState state;
    const auto scores = [&](Size keys) {
      return attention.score().score(q, attention.score().prepare(normal({1, keys, 4}, 2)), state);
    };
    CHECK(equal_bits(scores(2), slice(scores(6), -1, 0, 2)));
    CHECK_THROWS_WITH(scores(7), ContainsSubstring("got 7 keys") && ContainsSubstring("6 positions"));
    // Queries of every rank and width are refused by the score, with W.
    for (const Dims& shape : {Dims{5}, Dims{4}, Dims{1, 4}, Dims{1, 6}, Dims{2, 1, 1}, Dims{2, 2, 3, 6}}) {
      const Tensor wrong = normal(shape, 3);
      CHECK_THROWS_WITH(
          attention.score().score(wrong, attention.score().prepare(normal({1, 3, 4}, 2)), state),
          ContainsSubstring(connected ? "[fully_connected score" : "[location score") &&
              ContainsSubstring("got query " + describe(wrong) + " and W (6,5); pass (…, time, 5)"));
    }
  }
}

TEST_CASE("a vector of zeros has no direction: cosine scores and gradients of 0") {
  Attention attention(cosine(3));
  attention.initialise(1, DType::f64);
  const Tensor q = variable(tensor({{0, 0}, {0.6, 0.8}}, DType::f64)),
               k = variable(tensor({{0, 5}, {0, 0}, {1e-200, 0}}, DType::f64));
  Tape tape;
  ScoreState state;
  const Tensor scores = attention.score().score(q, attention.score().prepare(k), state);
  const std::vector<double> found = scores.to_vector();
  for (const std::size_t i : {0U, 1U, 2U, 4U, 5U}) CHECK(found[i] == 0);
  CHECK(found[3] == Approx(2.4));
  tape.backward(scores, normal({2, 3}, 1));
  for (const Tensor& gradient : {slice(q.grad(), 0, 0, 1), slice(k.grad(), 0, 1, 3)})
    CHECK(sum(abs(gradient)).item() == 0);
  CHECK(sum(abs(q.grad())).item() > 0);
  CHECK(sum(abs(k.grad())).item() > 0);
}

TEST_CASE("a cosine of a vector with NaN is NaN, as every other score's") {
  Attention attention(cosine(3));
  attention.initialise(1, DType::f64);
  const double nan = std::nan("");
  const Tensor x = tensor({{0.6, 0.8}, {1, nan}, {0, 0}}, DType::f64);
  ScoreState state;
  const std::vector<double> found =
      attention.score().score(x, attention.score().prepare(x), state).to_vector();
  CHECK(found[0] == Approx(3));
  for (const std::size_t i : {1U, 3U, 4U, 5U, 7U}) CHECK(std::isnan(found[i]));
  for (const std::size_t i : {2U, 6U, 8U}) CHECK(found[i] == 0);
}

TEST_CASE("a Gaussian's width is above 0; learned or fixed, it starts the same") {
  CHECK_THROWS_AS(Attention(nadaraya_watson(0)), Error);
  CHECK_THROWS_AS(Attention(nadaraya_watson(-1, Sigma::learned)), Error);
  Attention fixed(nadaraya_watson(0.7)), learned(nadaraya_watson(0.7, Sigma::learned));
  learned.initialise(1, DType::f64);
  CHECK(fixed.parameters().empty());
  const Tensor q = normal({3, 2}, 1), k = normal({4, 2}, 2);
  CHECK(apart(fixed(q, k, k).weights, learned(q, k, k).weights) < 1e-14);
}
