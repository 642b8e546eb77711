// 16 self_attention: a sequence that asks itself
//
// Until now one sequence asked another: the decoder put a question, the source answered. Here the words of
// one sentence ask each other. Each word makes a query, a key and a value, reads what the others have to
// give, and so gets a new vector: the word in its context. No state is carried from place to place. Every
// word sees every other in one step, and all do it at the same time.
//
// You will: 1 take four words through the four steps by hand; 2 train them to agree, with W_Q, W_K and W_V
// and without; 3 see that the layer knows no order; 4 let tokens find their like, which a recurrent layer
// can't; 5 see what it costs.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/core.hpp"
#include "lessons/16_self_attention/gap_sentences.hpp"
#include "lessons/16_self_attention/twice.hpp"
#include "lessons/kit/check/agreement.hpp"
#include "lessons/kit/check/by_hand.hpp"
#include "lessons/kit/kit.hpp"
#include "lessons/kit/program/stopwatch.hpp"
#include "lessons/kit/train/loop.hpp"
#include "nn/attention/attention.hpp"
#include "nn/embedding.hpp"
#include "nn/linear.hpp"
#include "nn/recurrent.hpp"

using namespace tapestry;
using kit::largest, kit::weights_of;

namespace {

constexpr DType f64 = DType::f64;

// ---- 1. Four words, four steps ----------------------------------------------------------------------------
//
// "see that girl run" enters as four vectors a₁ … a₄ of d numbers. What comes out for the first word, b₁,
// takes four steps:
//
//     1  roles       q₁ = W_Q a₁,  k_j = W_K a_j,  v_j = W_V a_j       for j = 1 … 4
//     2  scores      s_j = q₁ · k_j / √d                               a₁ asks itself, too
//     3  weights     α = softmax(s₁ … s₄)
//     4  mixture     b₁ = Σ_j α_j v_j
//
// These are lesson 6's roles and lesson 8's scale; the news is that one sentence plays all three. b₂ … b₄ are
// made alike, each with its own query. Nobody waits for anybody: b₄ needs all of a, and none of the other b.
// (The numbers that you will see mean nothing yet: vectors and matrices are random.)

struct Roles {
  Tensor w_q, w_k, w_v;  // (d, d)
};

struct Steps {
  std::vector<Tensor> scores;  // s_j, each (1, 1)
  Tensor weights;              // (1, n)
  Tensor b;                    // (1, d)
};

/// The four steps for word `i` of a (n, d), one word after another.
Steps four_steps(const Tensor& a, Size i, const Roles& roles) {
  const auto word = [&](Size j) { return slice(a, 0, j, j + 1); };  // (1, d)
  Steps steps;
  const Tensor q = matmul(word(i), transpose(roles.w_q));
  for (Size j = 0; j < a.size(0); ++j) {
    const Tensor k = matmul(word(j), transpose(roles.w_k));
    steps.scores.push_back(sum(q * k, {-1}, Keep::yes) / std::sqrt(static_cast<double>(k.size(1))));
  }
  steps.weights = softmax(concat(steps.scores, 1), -1);
  for (Size j = 0; j < a.size(0); ++j) {
    const Tensor v = matmul(word(j), transpose(roles.w_v));
    const Tensor part = slice(steps.weights, 1, j, j + 1) * v;
    steps.b = j == 0 ? part : steps.b + part;
  }
  return steps;
}

// All words at once are three matrix products for the roles and two for the rest. That is the whole layer.

Tensor scores_of(const Tensor& q, const Tensor& k) {  // (…, n, n)
  return matmul(q, transpose(k)) / std::sqrt(static_cast<double>(k.size(-1)));
}

Tensor mix(const Tensor& q, const Tensor& k, const Tensor& v) {  // b (…, n, d)
  return matmul(softmax(scores_of(q, k), -1), v);
}

Tensor self_attention(const Tensor& a, const Roles& roles) {
  return mix(matmul(a, transpose(roles.w_q)), matmul(a, transpose(roles.w_k)),
             matmul(a, transpose(roles.w_v)));
}

// W_Q, W_K and W_V *project* a word into its roles, and are called projections. The simplest self-attention
// does without: a word's vector is query, key and value at once, mix(a, a, a), and there is nothing to learn.
// In nn/ both are the layer Attention, with Linears in front of it or not.

enum class Projected { no, yes };

struct SelfAttention : Module {
  SelfAttention(Place place, Size width, Projected projected) : Module(std::move(place)) {
    if (projected == Projected::no) return;
    query.emplace(Place{*this, "query"}, width, width, Bias::no);
    key.emplace(Place{*this, "key"}, width, width, Bias::no);
    value.emplace(Place{*this, "value"}, width, width, Bias::no);
  }
  SelfAttention(Size width, Projected projected) : SelfAttention(Place{}, width, projected) {}

  /// a (B, n, d) → context (B, n, d), weights (B, n, n)
  Attended operator()(const Tensor& a) const {
    return query ? attention((*query)(a), (*key)(a), (*value)(a)) : attention(a, a, a);
  }

  std::optional<Linear> query, key, value;
  Attention attention{{*this, "attention"}, scaled_dot()};
};

void four_words(std::uint64_t seed, kit::Report& report) {
  constexpr Size kWide = 6;
  const std::array words = {"see", "that", "girl", "run"};
  SelfAttention layer(kWide, Projected::yes);
  layer.initialise(seed, f64);
  const Roles roles{layer.query->weight, layer.key->weight, layer.value->weight};  // the layer's very own
  const Tensor a = random_normal({4, kWide}, seed, f64);

  const Steps steps = four_steps(a, 0, roles);
  fmt::print("  a₁ = \"see\" asks      score   weight     (random vectors and matrices)\n");
  for (Size j = 0; j < 4; ++j)
    fmt::print("  {:<18}{:>8.4f}{:>9.4f}\n", words[static_cast<std::size_t>(j)],
               steps.scores[static_cast<std::size_t>(j)].item(), steps.weights.at({0, j}));
  fmt::print("  b₁ =");
  for (Size i = 0; i < kWide; ++i) fmt::print("  {:.4f}", steps.b.at({0, i}));
  fmt::print("\n");

  const Tensor b = self_attention(a, roles);
  double apart = 0;
  for (Size i = 0; i < 4; ++i)
    apart = std::max(apart, largest(four_steps(a, i, roles).b - slice(b, 0, i, i + 1)));
  report.check("four words one by one = all at once, to 1e-12", apart < 1e-12);

  const Tensor batch = variable(random_normal({2, 4, kWide}, seed + 1, f64), "a");
  std::vector<Tensor> leaves = layer.parameters();
  leaves.push_back(batch);
  kit::check_by_hand(
      report, "with projections", [&] { return self_attention(batch, roles); },
      [&] { return layer(batch).context; }, leaves, seed);
  const SelfAttention bare(kWide, Projected::no);
  kit::check_by_hand(
      report, "without projections", [&] { return mix(batch, batch, batch); },
      [&] { return bare(batch).context; }, {batch}, seed);
}

// ---- 2. Agreement -----------------------------------------------------------------------------------------
//
// Now the layer learns something. The second word is covered: "see _ girl run" is to be filled with "that",
// "see _ girls run" with "those". What stands at the gap is always the same, so b₂ has to fetch the answer
// from elsewhere. There are 128 such sentences of four verbs, eight nouns and four more verbs, and a quarter
// of them is held out for the test. The answer is a Linear of b₂.

struct Filler : Module {
  explicit Filler(Projected projected) : layer{{*this, "layer"}, 16, projected} {}
  Tensor operator()(const Indices& ids) const { return out(select(layer(words(ids)).context, 1, kit::kGap)); }

  Embedding words{{*this, "words"}, static_cast<Size>(kit::gap_vocabulary().size()), 16};
  SelfAttention layer;
  Linear out{{*this, "out"}, 16, 2};
};

/// Trains and tests; returns the gap's mean weight on the noun in per cent, and the weights (4, 4) of "see _
/// girl run".
std::pair<double, Tensor> agree(const char* name, Projected projected, const kit::Options& options,
                                kit::Report& report) {
  Filler model(projected);
  model.initialise(options.seed);
  const kit::GapSentences train = kit::gap_sentences(false), test = kit::gap_sentences(true);
  kit::train(model,
             {.name = name,
              .steps = options.smoke ? 10 : 200,
              .rate = 1e-2,
              .batch = train.words.shape()[0],
              .unit = "sentences",
              .seed = options.seed},
             [&](kit::Random) { return cross_entropy(model(train.words), train.answers); });
  report.at_least(fmt::format("{}: right on new sentences", name),
                  kit::percent_equal(argmax(model(test.words)), test.answers), 99, "%");
  const Tensor weights = model.layer(model.words(test.words)).weights;
  return {100 * mean(select(select(weights, 1, kit::kGap), 1, kit::kNoun)).item(), select(weights, 0, 0)};
}

// The picture is one of the held-out sentences, its words asking from the left. Only the gap's row counted in
// the loss; what the other three words do is nobody's business. Nor need the gap look at the noun alone:
// where W_V makes nothing of "see", a look at it does no harm. So some seeds end with nearly all weight on
// the noun, others with two thirds of it.
//
// Without projections the scores are symmetric, s_ij = a_i · a_j = s_ji, and a word likes itself: |a_i|² is
// large. The embeddings alone must arrange what three matrices can do. Here they manage, with less weight on
// the noun: what a word is, asks, offers and gives is then one vector.

void agreement(const kit::Options& options, kit::Report& report) {
  const auto [with, weights] = agree("with projections", Projected::yes, options, report);
  report.at_least("with projections: the gap's weight on the noun", with, 50, "%");
  const double without = agree("without projections", Projected::no, options, report).first;
  report.at_most("without projections: the gap's weight on the noun", without, 50, "%");
  const Tensor a = random_normal({4, 6}, options.seed, f64), scores = scores_of(a, a);
  report.check("without projections: the scores are symmetric", largest(scores - transpose(scores)) < 1e-14);

  const std::vector<std::string> sentence = {"see", "_", "girl", "run"};
  kit::Heatmap map{"The gap asks for the noun", sentence, sentence, weights.to_vector()};
  map.numbers = true;
  kit::show(map, options.out / "agreement.svg");
}

// ---- 3. No order ------------------------------------------------------------------------------------------
//
// Nothing in the formula says that a₂ stands beside a₁. Shuffle the words, and the same b come out, shuffled
// alike: the layer is *equivariant* to permutations. (It is exact as mathematics. A computer adds the same
// numbers in another order, which changes the last bit.) So "dog bites man" and "man bites dog" are one and
// the same to it; lesson 17 mends that. A recurrent layer is made of order.

/// The rows of a (1, n, d) in another order.
Tensor shuffled(const Tensor& a, const Indices& order) {
  return unsqueeze(embedding(select(a, 0, 0), order), 0);
}

void no_order(std::uint64_t seed, kit::Report& report) {
  constexpr Size kWide = 16, kCount = 12;
  SelfAttention layer(kWide, Projected::yes);
  layer.initialise(seed, f64);
  GRU recurrent({}, kWide, kWide / 2, {.both_directions = true});
  recurrent.initialise(seed, f64);
  const Tensor a = random_normal({1, kCount, kWide}, seed, f64);
  const Indices order = {7, 2, 11, 0, 5, 9, 3, 8, 1, 10, 4, 6};
  const double ours = largest(layer(shuffled(a, order)).context - shuffled(layer(a).context, order));
  const double theirs = largest(recurrent(shuffled(a, order)).states - shuffled(recurrent(a).states, order));
  fmt::print("  shuffled in = shuffled out: self-attention differs by {:.0e}, a GRU by {:.2f}\n", ours,
             theirs);
  report.check("self-attention: equal up to rounding (1e-14)", ours < 1e-14);
  report.check("a GRU: not", theirs > 0.01);
}

// ---- 4. Tokens that find their like -----------------------------------------------------------------------
//
// Twenty-four tokens of 32 kinds, drawn at random. Mark those whose kind occurs *exactly twice*. Each token
// must look for its like anywhere in the sequence, and count. Saying "no" to all is right in about 64 % of
// cases: the base rate.
//
// How can a softmax count, whose weights always add up to 1? Let the score be β for two tokens of one kind
// and 0 otherwise. Where c tokens are of my kind, they get the share c e^β / (c e^β + 24 − c) of my weight:
// it grows with c, as long as β is neither 0 nor large. So the amount of my own kind in what I read says
// how often I am there. To compare the two, a small network reads [a; b], what I am and what I have read.
//
// A recurrent layer of both directions has to carry the counts of 32 kinds through every state: lesson 10's
// bottleneck at each place. It gets the same embedding, the same network behind it, and no fewer weights. And
// without projections? Then one vector per kind must set β and be told apart in a mixture as well. It makes
// little of it in the time.

constexpr Size kWidth = 64, kReadout = 128;

struct Marker : Module {
  explicit Marker(Projected projected) { self.emplace(Place{*this, "self"}, kWidth, projected); }
  Marker(CellKind cell, Size hidden) {
    recurrent.emplace(Place{*this, "recurrent"}, cell, kWidth, hidden,
                      RecurrentOptions{.both_directions = true});
    widen.emplace(Place{*this, "widen"}, 2 * hidden, kWidth);
  }
  /// Tokens (B, n) → logits of "no" and "yes" (B, n, 2).
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

/// Per cent of tokens that are marked rightly.
double train_and_test(Marker& model, const char* name, const kit::MarkedTokens& test,
                      const kit::Options& options) {
  constexpr Size kBatch = 64;
  model.initialise(options.seed);
  kit::train(model,
             {.name = name,
              .steps = options.steps,
              .rate = 5e-3,
              .batch = kBatch,
              .unit = "sequences",
              .seed = options.seed},
             [&](kit::Random random) {
               const kit::MarkedTokens batch = kit::draw_marked(random, kBatch);
               return cross_entropy(model(batch.tokens), batch.answers);
             });
  const double right = kit::percent_equal(argmax(model(test.tokens)), test.answers);
  fmt::print("  {:<34}{:>10}{:>10.2f} %\n", name, weights_of(model), right);
  return right;
}

/// Per cent of its weight that a token gives to its own kind, where that occurs `times`.
double weight_on_own(const Marker& model, const Indices& tokens, double times) {
  const Tensor kinds = one_hot(tokens, kit::kTokenKinds),
               same = matmul(kinds, transpose(kinds));  // 1: a pair
  const Tensor weights = (*model.self)(model.kinds(tokens)).weights;
  const std::vector<double> own = sum(weights * same, {-1}).to_vector(), count = sum(same, {-1}).to_vector();
  double total = 0, found = 0;
  for (std::size_t i = 0; i < own.size(); ++i)
    if (count[i] == times) {
      total += own[i];
      found += 1;
    }
  return 100 * total / found;
}

/// Who looks at whom. Since order does not matter, tokens of a kind stand side by side here.
void show_map(const Marker& model, const kit::Options& options) {
  const std::string letters = "aaaabbbccddefghijklmnopq";
  std::vector<std::int64_t> ids;
  std::vector<std::string> names;
  for (const char letter : letters) {
    ids.push_back(letter - 'a');
    names.emplace_back(1, letter);
  }
  const Tensor weights = (*model.self)(model.kinds(Indices(ids, {1, kit::kTokens}))).weights;
  kit::Heatmap map{"Each token looks for its like: four a, three b, two c, two d", names, names,
                   weights.to_vector()};
  map.most = *std::max_element(map.values.begin(), map.values.end());
  kit::show(map, options.out / "map.svg");
}

void find_the_like(const kit::Options& options, kit::Report& report) {
  // A stream far from those of training.
  const kit::MarkedTokens test =
      kit::draw_marked(kit::Random(options.seed, 2'000'000), options.smoke ? 20 : 1000);
  const std::vector<std::int64_t> answers = test.answers.to_vector();
  const double base = 100 * static_cast<double>(std::count(answers.begin(), answers.end(), 0)) /
                      static_cast<double>(answers.size());
  fmt::print("  {:<34}{:>10}{:>12}\n  {:<34}{:>20.2f} %\n", "", "parameters", "right",
             "always no: the base rate", base);
  Marker self(Projected::yes), bare(Projected::no), rnn(CellKind::rnn, 38), gru(CellKind::gru, 20);
  const double with = train_and_test(self, "self-attention", test, options);
  train_and_test(bare, "self-attention, no projections", test, options);
  const double plain = train_and_test(rnn, "RNN of both directions", test, options),
               gated = train_and_test(gru, "GRU of both directions", test, options);
  fmt::print("\n");
  report.quoted("the base rate", base, 64, 0.02, "%");
  report.at_least("self-attention: right", with, 98, "%");
  report.at_most("RNN: points above the base rate", plain - base, 5);
  report.at_most("GRU: points above the base rate", gated - base, 5);
  report.check("neither has fewer weights than self-attention",
               std::min(weights_of(rnn), weights_of(gru)) >= weights_of(self));
  std::array<double, 3> own{};
  for (std::size_t i = 0; i < own.size(); ++i) {
    own[i] = weight_on_own(self, test.tokens, static_cast<double>(i + 1));
    report.figure(fmt::format("weight on the own kind, where it occurs {} ×", i + 1), own[i], "%");
  }
  if (!options.smoke) report.check("it grows with the count", own[0] < own[1] && own[1] < own[2]);
  show_map(self, options);
}

// ---- 5. What it costs -------------------------------------------------------------------------------------
//
// For n words of width d, self-attention makes n² scores of d products each, and a mixture of as many: with
// the roles 2 n² d + 3 n d². A GRU does n steps of six products of d × d: 6 n d². So the one grows as n², the
// other as n, and at 96 words of width 64 they do the same work. The clock sees them meet later. The GRU's
// steps wait for each other, n small products in a row, and self-attention's work is a few large ones, which
// machines like (lesson 4). Where n² numbers no longer fit into the caches, that is over. And one thing the
// clock does not show: a gradient from the last word to the first must pass through all of the GRU's steps;
// in self-attention any two words are one step apart.

void what_it_costs(const kit::Options& options) {
  SelfAttention layer(kWidth, Projected::yes);
  GRU recurrent({}, kWidth, kWidth);
  layer.initialise(options.seed);
  recurrent.initialise(options.seed);
  const auto milliseconds = [](const auto& forward) {
    const auto run = [&] {
      Tape tape;
      const Tensor y = forward();
      tape.backward(y, y.detach());
    };
    return 1000 * kit::fastest(3, run);
  };
  kit::Series self{"self-attention"}, gru{"GRU"};
  fmt::print("  words   self-attention        GRU   (milliseconds, forward and backward)\n");
  for (Size n = 16; n <= (options.smoke ? 32 : 2048); n *= 2) {
    const Tensor x = variable(random_normal({1, n, kWidth}, options.seed));
    for (kit::Series* series : {&self, &gru}) series->x.push_back(static_cast<double>(n));
    self.y.push_back(milliseconds([&] { return layer(x).context; }));
    gru.y.push_back(milliseconds([&] { return recurrent(x).states; }));
    fmt::print("  {:>5}   {:>14.3f}   {:>8.3f}\n", n, self.y.back(), gru.y.back());
  }
  kit::Chart chart{"One sequence of width 64, forward and backward", "words", "milliseconds", {self, gru}};
  chart.x_scale = chart.y_scale = kit::Scale::log;
  kit::show(chart, options.out / "time.svg");
}

void lesson(const kit::Options& options, kit::Report& report) {
  report.section("Four words, four steps");
  four_words(options.seed, report);
  report.section("Agreement");
  agreement(options, report);
  report.section("No order");
  no_order(options.seed, report);
  report.section("Tokens that find their like");
  find_the_like(options, report);
  report.section("What it costs");
  what_it_costs(options);
}

}  // namespace

int main(int argc, char** argv) {
  kit::Lesson program("16_self_attention", "a sequence that asks itself");
  program.steps(1500, 10);
  return program.run(argc, argv, lesson);
}
