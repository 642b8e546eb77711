// 06 queries_keys_values: three roles: what I ask, what I offer, what I give
//
// In lesson 5 a query could be compared with a key as they stood: both were places on one line. In general
// they are not. What a word asks for, what it can be found by, and what it hands over are three different
// things, and a network has to learn all three. Think of a library: you ask with a few words (the query), a
// book stands under its title (the key), and what you take home is the text (the value).
//
// You will: 1 compute the attention of four words by hand, to seven digits; 2 see "je t' aime" as three
// mixtures of "I love you"; 3 write the layer and find it in nn/; 4 train it where query and key do not match
// until something between them is learned; 5 look at what was learned.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "core/core.hpp"
#include "lessons/kit/check/agreement.hpp"
#include "lessons/kit/kit.hpp"
#include "nn/attention/attention.hpp"
#include "nn/linear.hpp"
#include "optim/adam.hpp"
#include "optim/schedule.hpp"

using namespace tapestry;
using kit::largest;  // the largest absolute value of a tensor: 0 where two agree to the last bit

namespace {

constexpr DType f64 = DType::f64;

// ---- 1. Four words by hand --------------------------------------------------------------------------------
//
// A word is a vector x. Three matrices make its three roles from it:
//
//     q = W_Q x    what I ask        k = W_K x    what I offer        v = W_V x    what I give
//
// A query is compared with a key by their product q·k, large where the two point the same way. (Lesson 5
// showed that a Gaussian score hides this very product.) Divide by √d, d the width of a key; why, is lesson
// 8's whole story. Then as always: softmax over the keys, and the weighted average of the values.
//
//     c_i = Σ_j softmax_j(q_i · k_j / √d) v_j
//
// Words are rows of X here, and a weight is (out, in), as in all of Tapestry, so that Q = X W_Qᵀ.

struct Roles {
  Tensor w_q, w_k, w_v;  // (d, in), (d, in), (d_v, in)
};

struct Mixed {
  Tensor scores, weights;  // (…, Tq, Tk)
  Tensor context;          // (…, Tq, d_v)
};

/// What the words of `asking` (…, Tq, in) read from the words of `offering` and `giving` (…, Tk, in).
Mixed attend(const Tensor& asking, const Tensor& offering, const Tensor& giving, const Roles& roles) {
  const Tensor q = matmul(asking, transpose(roles.w_q));
  const Tensor k = matmul(offering, transpose(roles.w_k));
  const Tensor v = matmul(giving, transpose(roles.w_v));
  const Tensor scores = matmul(q, transpose(k)) / std::sqrt(static_cast<double>(k.size(-1)));
  const Tensor weights = softmax(scores, -1);
  return {scores, weights, matmul(weights, v)};
}

void print_rows(const char* name, const Tensor& x, int digits) {
  for (Size i = 0; i < x.size(0); ++i) {
    fmt::print("  {:<10}", i == 0 ? name : "");
    for (Size j = 0; j < x.size(1); ++j) fmt::print("  {:{}.{}f}", x.at({i, j}), digits + 4, digits);
    fmt::print("\n");
  }
}

// The numbers are small enough for pencil and paper. All four words ask, offer and give. In many texts a
// weight is written (in, out), and Q = X W_Q: so are these three, and they are transposed for our layer.

void four_words(kit::Report& report) {
  const Tensor x = tensor({{1, 0, 0}, {0, 1, 0}, {1, 1, 0}, {0, 0, 1}}, f64);
  const Tensor w_q = tensor({{2, 0, 2}, {2, 0, 0}, {2, 1, 2}}, f64);
  const Tensor w_k = tensor({{2, 2, 2}, {0, 2, 1}, {0, 1, 1}}, f64);
  const Tensor w_v = tensor({{1, 1, 0}, {0, 1, 1}, {0, 0, 0}}, f64);
  const Roles roles{transpose(w_q), transpose(w_k), transpose(w_v)};
  const Mixed mixed = attend(x, x, x, roles);
  print_rows("Q", matmul(x, w_q), 0);
  print_rows("K", matmul(x, w_k), 0);
  print_rows("V", matmul(x, w_v), 0);
  print_rows("Q Kᵀ / √3", mixed.scores, 4);
  print_rows("weights", mixed.weights, 4);
  print_rows("attention", mixed.context, 8);

  const Tensor expected = tensor({{.98522025, 1.74174051, .75652026},
                                  {.90965265, 1.40965265, .5},
                                  {.99851226, 1.75849334, .75998108},
                                  {.99560386, 1.90407309, .90846923}},
                                 f64);
  for (Size word = 0; word < 4; ++word)
    report.check(fmt::format("word {} to 1e-7", word + 1),
                 largest(select(mixed.context, 0, word) - select(expected, 0, word)) < 1e-7);

  // Asking and offering are not the same. Exchange W_Q and W_K, and the table of scores is transposed: what
  // was "how much does word 1 want word 2" is now "how much does word 2 want word 1".
  const Mixed exchanged = attend(x, x, x, {roles.w_k, roles.w_q, roles.w_v});
  report.check("W_Q and W_K exchanged: scores transposed",
               largest(exchanged.scores - transpose(mixed.scores)) < 1e-12);
}

// ---- 2. je t' aime ----------------------------------------------------------------------------------------
//
// A dictionary maps a key to one value: "je" finds "I" or it fails. Attention is a *soft* dictionary: it
// finds every key a little, and gives back the mixture. A translator that wrote "je t' aime" had these
// weights on "I love you":
//
//             I     love  you
//     je     .94    .02   .04       nearly all of "I"
//     t'     .11    .01   .88       mostly "you": French puts it before the verb
//     aime   .03    .95   .02       "love"
//
// Which queries make such rows? Let the three keys be one-hot, so that q·k_j is the j-th number of q. The
// softmax of log α is α again, if α adds up to 1: so a query that asks "log α" gets exactly α. (And with
// one-hot values the context *is* the row: it says how much of each word is in it.) A score is a log-weight
// up to a constant: that is the way to read scores.

void je_t_aime(const kit::Options& options, kit::Report& report) {
  const Tensor rows = tensor({{.94, .02, .04}, {.11, .01, .88}, {.03, .95, .02}}, f64);
  const Tensor words = eye(3, f64);  // I, love, you: as keys, and as values
  const Tensor weights = softmax(matmul(log(rows), transpose(words)), -1);
  const Tensor context = matmul(weights, words);
  print_rows("scores", log(rows), 2);
  print_rows("weights", weights, 2);
  report.check("je, t' and aime have these weights", largest(weights - rows) < 1e-12);
  report.check("the context is their mixture", largest(context - rows) < 1e-12);

  kit::Heatmap map{
      "je t' aime: three mixtures of I love you", {"I", "love", "you"}, {"je", "t'", "aime"}, {}};
  map.values = weights.to_vector();
  map.numbers = true;
  kit::show(map, options.out / "je_t_aime.svg");
}

// ---- 3. The same with nn/ ---------------------------------------------------------------------------------
//
// In nn/ a role is a Linear without bias, and the rest is Attention with the score scaled_dot(). For section
// 4 a role may also be left out: its matrix is then *frozen*, a constant that no training moves, and unused.

enum class Projected { nothing, queries, both };

struct Reader : Module {
  Reader(Size width, Size giving, Size answers, Projected projected_in)
      : w_q{{*this, "w_q"}, width, width, Bias::no},
        w_k{{*this, "w_k"}, width, width, Bias::no},
        w_v{{*this, "w_v"}, giving, answers, Bias::no},
        projected(projected_in) {
    if (projected != Projected::both) w_k.freeze();
    if (projected == Projected::nothing) w_q.freeze();
  }

  Attended operator()(const Tensor& asking, const Tensor& offering, const Tensor& giving) const {
    return attention(projected == Projected::nothing ? asking : w_q(asking),
                     projected == Projected::both ? w_k(offering) : offering, w_v(giving));
  }

  Linear w_q, w_k, w_v;
  Attention attention{{*this, "attention"}, scaled_dot()};
  Projected projected;
};

void with_nn(std::uint64_t seed, kit::Report& report) {
  Reader reader(4, 3, 5, Projected::both);
  reader.initialise(seed, f64);
  const Roles roles{reader.w_q.weight, reader.w_k.weight, reader.w_v.weight};
  const Tensor q = random_normal({2, 3, 4}, seed, f64), k = random_normal({2, 6, 4}, seed + 1, f64),
               v = random_normal({2, 6, 3}, seed + 2, f64);
  const GradcheckResult check = gradcheck(
      [](const Tensor& asking, const Tensor& offering, const Tensor& giving, const Tensor& w_q,
         const Tensor& w_k, const Tensor& w_v) {
        return attend(asking, offering, giving, {w_q, w_k, w_v}).context;
      },
      {q, k, v, roles.w_q.detach(), roles.w_k.detach(), roles.w_v.detach()},
      GradcheckOptions{.tolerance = 1e-6, .seed = seed});
  if (!check.ok()) fmt::print("{}", check.report());
  report.check(fmt::format("gradcheck of inputs and weights, {} derivatives", check.compared), check.ok());

  Tape tape;
  const Mixed ours = attend(q, k, v, roles);
  const Attended library = reader(q, k, v);
  const std::vector<Tensor> weights = reader.parameters();
  const Tensor cotangent = random_normal({2, 3, 5}, seed + 3, f64);
  const double values =
      std::max(largest(ours.context - library.context), largest(ours.weights - library.weights));
  const std::vector<Tensor> by_hand = tape.gradients(ours.context, cotangent, weights, {.keep = true});
  const std::vector<Tensor> by_nn = tape.gradients(library.context, cotangent, weights);
  double apart = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) apart = std::max(apart, largest(by_hand[i] - by_nn[i]));
  fmt::print("  weights and context differ by {:.0e}, the gradients of W_Q, W_K, W_V by {:.0e}\n", values,
             apart);
  report.check("nn/ gives the same to 1e-12", values < 1e-12 && apart < 1e-12);
}

// ---- 4. Retrieval under an unknown rotation ---------------------------------------------------------------
//
// The task: sixteen keys, arrows of eight numbers in random directions. Behind each key lies one of ten
// symbols. A query asks for one of the keys; the answer is its symbol. But asker and librarian do not speak
// one language: the query for key k is not k but R k, where R is a rotation of all eight axes that nobody
// tells the model. Nor does a value say its symbol in clear: it is a code, one of ten vectors.
//
// So three things are to be learned: W_Q and W_K have to bring queries and keys together again, and W_V has
// to read the code. The loss is on the answer alone. Nobody says which key was meant.

constexpr Size kWidth = 8, kKeys = 16, kSymbols = 10;

/// A rotation of `width` axes: in each plane of two axes by an angle of its own.
Tensor random_rotation(Size width, kit::Random random) {
  const auto n = static_cast<std::size_t>(width);
  std::vector<double> r(n * n, 0);
  for (std::size_t i = 0; i < n; ++i) r[i * n + i] = 1;
  for (std::size_t a = 0; a < n; ++a)
    for (std::size_t b = a + 1; b < n; ++b) {
      const double angle = random.uniform(0, 6.283185307179586);
      for (std::size_t j = 0; j < n; ++j) {
        const double x = r[a * n + j], y = r[b * n + j];
        r[a * n + j] = std::cos(angle) * x - std::sin(angle) * y;
        r[b * n + j] = std::sin(angle) * x + std::cos(angle) * y;
      }
    }
  return tensor(r, {width, width});
}

/// What stays the same from batch to batch, and what the model has to find out.
struct Secret {
  Tensor rotation;  // R (d, d)
  Tensor codes;     // (symbols, symbols): row s is the code of symbol s
};

Secret secret_of(std::uint64_t seed) {
  return {random_rotation(kWidth, kit::Random(seed, 1)), random_rotation(kSymbols, kit::Random(seed, 2))};
}

struct Questions {
  Tensor query;    // (B, 1, d)
  Tensor keys;     // (B, n, d), each of length √d
  Tensor values;   // (B, n, symbols): codes
  Indices meant;   // (B): which key
  Indices answer;  // (B): its symbol
};

Questions ask(const Secret& secret, Size batch, std::uint64_t seed, std::uint64_t stream) {
  kit::Random random(seed, stream);
  const Tensor arrows = random_normal({batch, kKeys, kWidth}, random.next());
  const Tensor keys =
      arrows * std::sqrt(static_cast<double>(kWidth)) / sqrt(sum(arrows * arrows, {-1}, Keep::yes));
  std::vector<std::int64_t> symbols, meant, place, answer;
  for (Size i = 0; i < batch * kKeys; ++i) symbols.push_back(random.below(kSymbols));
  for (Size row = 0; row < batch; ++row) {
    meant.push_back(random.below(kKeys));
    place.push_back(row * kKeys + meant.back());
    answer.push_back(symbols[static_cast<std::size_t>(place.back())]);
  }
  const Tensor wanted = embedding(reshape(keys, {batch * kKeys, kWidth}), Indices(place, {batch}));
  return {unsqueeze(matmul(wanted, transpose(secret.rotation)), 1), keys,  // rows: (R k)ᵀ = kᵀ Rᵀ
          embedding(secret.codes, Indices(symbols, {batch, kKeys})), Indices(meant, {batch}),
          Indices(answer, {batch})};
}

void train(Reader& reader, const Secret& secret, const kit::Options& options) {
  constexpr Size kBatch = 128;
  reader.initialise(options.seed);
  Adam adam(reader.parameters(), {.learning_rate = 2e-2});
  // The rate falls along half a cosine to 0: long steps first, fine ones at the end.
  const Schedule rate = cosine_decay(options.steps);
  kit::Progress progress(options.steps, {.unit = "questions"});
  for (Size step = 1; step <= options.steps; ++step) {
    const Questions questions = ask(secret, kBatch, options.seed, static_cast<std::uint64_t>(100 + step));
    Tape tape;
    const Attended read = reader(questions.query, questions.keys, questions.values);
    const Tensor loss = cross_entropy(squeeze(read.context, 1), questions.answer);  // the context as logits
    tape.backward(loss);
    adam.step(rate(step));
    progress.step(loss.item(), kBatch);
  }
  progress.finish();
}

struct Score {
  double answers, keys;  // per cent: right answers; the largest weight on the key that was meant
};

Score test(const Reader& reader, const Secret& secret, const kit::Options& options) {
  const Questions questions = ask(secret, options.smoke ? 200 : 5000, options.seed, 50);
  const Attended read = reader(questions.query, questions.keys, questions.values);
  return {kit::percent_equal(argmax(squeeze(read.context, 1)), questions.answer),
          kit::percent_equal(argmax(squeeze(read.weights, 1)), questions.meant)};
}

// What you should see: without W_Q and W_K the query says nothing, and the largest weight is on the right key
// once in sixteen times. Still more than one answer in ten is right: the mixture of all sixteen values tells
// which symbol is the most frequent among them, and that one is meant more often than others.

// ---- 5. What was learned ----------------------------------------------------------------------------------
//
// Only the product of the two matrices meets a query and a key:
//
//     (W_Q q) · (W_K k) = qᵀ (W_Qᵀ W_K) k
//
// With q = R k this is largest for the right key if W_Qᵀ W_K is a positive multiple of R, since
// (R k) · (R k) = |k|². That is what training finds, as the picture shows: left what was learned, right the
// rotation that we hid. W_Q and W_K themselves look like nothing. They need not: turn both by any rotation S,
// and the product stays, (S W_Q)ᵀ (S W_K) = W_Qᵀ Sᵀ S W_K = W_Qᵀ W_K.
//
// Then why two matrices? One would do: with W_K left out, W_Q learns it all. But they may lead into fewer
// dimensions than words have, queries and keys may differ in width, and a key is projected once, whoever
// asks.

void lesson(const kit::Options& options, kit::Report& report) {
  report.section("Four words by hand");
  four_words(report);

  report.section("je t' aime");
  je_t_aime(options, report);

  report.section("The same with nn/");
  with_nn(options.seed, report);

  report.section("Retrieval under an unknown rotation");
  const Secret secret = secret_of(options.seed);
  report.check("R is a rotation: R Rᵀ = 1",
               largest(matmul(secret.rotation, transpose(secret.rotation)) - eye(kWidth)) < 1e-5);
  Reader bare(kWidth, kSymbols, kSymbols, Projected::nothing);
  Reader asking(kWidth, kSymbols, kSymbols, Projected::queries);
  Reader both(kWidth, kSymbols, kSymbols, Projected::both);
  Score scores[3];
  int row = 0;
  for (Reader* reader : {&bare, &asking, &both}) {
    train(*reader, secret, options);
    scores[row++] = test(*reader, secret, options);
  }
  fmt::print("  learned              right answers   largest weight on the key that was meant\n");
  row = 0;
  for (const char* name : {"W_V alone", "W_Q and W_V", "W_Q, W_K and W_V"}) {
    fmt::print("  {:<18} {:>13.1f} % {:>41.1f} %\n", name, scores[row].answers, scores[row].keys);
    ++row;
  }
  report.at_most("right answers without W_Q and W_K", scores[0].answers, 30, "%");
  report.at_least("right answers with all three", scores[2].answers, 99, "%");

  report.section("What was learned");
  const Tensor product = matmul(transpose(both.w_q.weight.detach()), both.w_k.weight.detach());
  const double length = std::sqrt(sum(product * product).item());
  const double cosine = sum(product * secret.rotation).item() / (length * std::sqrt(double{kWidth}));
  report.at_least("cosine between W_Qᵀ W_K and R, as lists of 64 numbers", cosine, 0.95);
  const Tensor turn = random_rotation(kWidth, kit::Random(options.seed, 3));
  report.check("W_Q and W_K both turned by S: the same product",
               largest(matmul(transpose(matmul(turn, both.w_q.weight)), matmul(turn, both.w_k.weight)) -
                       product) < 1e-4 * length);

  kit::Heatmap map{"Left the learned W_Qᵀ W_K (scaled), right the hidden rotation R"};
  const Tensor scaled = product * (std::sqrt(double{kWidth}) / length);
  for (Size j = 0; j < 2 * kWidth + 1; ++j)
    map.columns.push_back(j == kWidth ? "" : std::to_string(j % (kWidth + 1) + 1));
  for (Size i = 0; i < kWidth; ++i) {
    map.rows.push_back(std::to_string(i + 1));
    for (Size j = 0; j < kWidth; ++j) map.values.push_back(scaled.at({i, j}));
    map.values.push_back(std::nan(""));
    for (Size j = 0; j < kWidth; ++j) map.values.push_back(secret.rotation.at({i, j}));
  }
  map.least = -1;
  kit::show(map, options.out / "matrices.svg");
}

}  // namespace

int main(int argc, char** argv) {
  kit::Lesson program("06_queries_keys_values", "three roles: what I ask, what I offer, what I give");
  program.steps(500, 20);
  return program.run(argc, argv, lesson);
}
