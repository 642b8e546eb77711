// 06 queries_keys_values: turn each vector into a query, a key and a value
//
// 18 minutes to read, 5 seconds to run. Needs lesson 05: the softmax turns scores into weights, and attention is the
// weighted average of the values. Afterwards you can compute attention by hand, write an attention layer from matrix
// products and a softmax, and say what each of its matrices computes.
//
// In lesson 05, queries and keys were places on the same line, so we could compare them directly. What if they are of
// different kinds? Imagine that you are looking for a book. You search with a few words: the query. Each book has a
// title: the key. Once you have found the book, you read its text: the value. Your words seldom match a title
// exactly, so something must compare the two. Which part of a network makes this comparison possible?

#include <fmt/format.h>

#include <cmath>

#include "core/core.hpp"
#include "lessons/06_queries_keys_values/experiment.hpp"
#include "lessons/kit/check/agreement.hpp"
#include "lessons/kit/check/by_hand.hpp"
#include "lessons/kit/check/worked_example.hpp"
#include "lessons/kit/kit.hpp"
#include "lessons/kit/rows.hpp"

using namespace tapestry;
using namespace tapestry::lesson06;
using kit::largest;  // the largest absolute value of a tensor; largest(a − b) is 0 if a equals b

namespace {
constexpr DType f64 = DType::f64;

// ---- 1. Attention by hand ---------------------------------------------------------------------------------
// Let the vector x represent a word. (Each word has its vector in a learned table, as we will see in lesson 10.) In
// attention, a word has three roles, and a learned matrix computes a vector for each role:
//
//     q = W_Q x    the query: what the word looks for in other words
//     k = W_K x    the key: the features by which other words find it
//     v = W_V x    the value: what the word passes on to the words that find it
//
// The score must be a single number that is large if the query matches the key. In lesson 05, only one term of the
// score contained both query and key, and this term was their product. For vectors, we use the dot product q·k =
// Σ_i q_i k_i. It is large if q and k point in similar directions. The score is q·k / √d, where d is the number of
// elements of q and of k. (Lesson 08 explains √d.) Here is an example with one query, two keys and two values:
//
//     q  = (2, 0)     k₁ = (1, 0)   v₁ = (10, 0)         q·k₁ / √2 = 2 / 1.414 = 1.414
//                     k₂ = (0, 1)   v₂ = (0, 10)         q·k₂ / √2 = 0
//
// e^1.414 is 4.112 and e^0 is 1, so the weights are 4.112 / 5.112 = 0.804 and 0.196. The weighted average
// of the values is called the *context* of the query: 0.804 v₁ + 0.196 v₂ = (8.04, 1.96).
//
// Attention consists of these three steps only: scores, softmax, weighted average. For queries q_i and keys k_j, the
// formula is:
//
//     c_i = Σ_j softmax_j(q_i · k_j / √d) v_j
//
// Here, softmax_j is element j of the softmax over all keys.
//
// In the code, the words are the rows of a matrix X. A weight matrix has the shape (out, in), as everywhere in
// Tapestry. So the queries of all words are the rows of Q = X W_Qᵀ. K and V are computed in the same way.

struct Projections {
  Tensor w_q, w_k, w_v;  // (d, in), (d, in), (d_v, in)
};

/// In the shapes, … is any number of axes in front, such as an axis for the examples of a batch.
struct AttentionParts {
  Tensor scores, weights;  // (…, Tq, Tk)
  Tensor context;          // (…, Tq, d_v)
};

/// Projects query (…, Tq, in), key (…, Tk, in) and value (…, Tk, in), and returns the attention of the queries to the
/// keys. To attend from words to themselves, pass the same words three times.
AttentionParts attend(const Tensor& query, const Tensor& key, const Tensor& value, const Projections& w) {
  const Tensor q = matmul(query, transpose(w.w_q));
  const Tensor k = matmul(key, transpose(w.w_k));
  const Tensor v = matmul(value, transpose(w.w_v));
  const Tensor scores = matmul(q, transpose(k)) / std::sqrt(static_cast<double>(k.size(-1)));
  const Tensor weights = softmax(scores, -1);  // over the keys: each row adds up to 1
  return {scores, weights, matmul(weights, v)};
}

void two_words(kit::Report& report) {
  const Tensor same = eye(2, f64);  // the identity, so q, k and v equal their inputs
  const AttentionParts result =
      attend(tensor({{2, 0}}, f64), eye(2, f64), tensor({{10, 0}, {0, 10}}, f64), {same, same, same});
  kit::print_rows("weights", result.weights, 3);
  kit::print_rows("context", result.context, 2);
  kit::check_worked_example(report, "one query, two keys",
                            {{result.scores.at({0, 0}), 1.414},
                             {std::exp(1.414), 4.112},
                             {std::exp(1.414) + 1, 5.112},
                             {result.weights.at({0, 0}), 0.804},
                             {result.weights.at({0, 1}), 0.196},
                             {result.context.at({0, 0}), 8.04},
                             {result.context.at({0, 1}), 1.96}});
}

// Now four words attend to one another. Each of them has a query, a key and a value, so there is a 4 × 4 table of
// scores. Row i contains the scores of the query of word i with the keys of all words, including word i itself.
//
// The program prints X and the matrices. All of their numbers are 0, 1 or 2, so you can check the scores by hand. For
// example, word 1 is (1, 0, 0). Its query is the first column of W_Q, (2, 0, 2), and its key is the first column of
// W_K, (2, 2, 2). Their dot product is 8, and the first score is 8 / √3 = 4.6188. The context `expected` was computed
// with NumPy; experiment.cpp stores it.

void four_words(kit::Report& report) {
  const auto [x, w_q, w_k, w_v, expected] = numpy_example();
  const AttentionParts result = attend(x, x, x, {w_q, w_k, w_v});
  kit::print_rows("words X", x, 0);
  kit::print_rows("W_Q", w_q, 0);
  kit::print_rows("W_K", w_k, 0);
  kit::print_rows("W_V", w_v, 0);
  kit::print_rows("Q Kᵀ / √3", result.scores, 4);
  kit::print_rows("weights", result.weights, 4);
  kit::print_rows("context", result.context, 8);
  kit::check_worked_example(report, "the first score", {{result.scores.at({0, 0}), 4.6188}});
  report.check("the context of four words agrees with NumPy to 1e-7",
               largest(result.context - expected) < 1e-7);

  const kit::Question exchanged = report.ask(
      "W_Q and W_K exchanged",
      "Each word now computes its query with W_K and its key with W_Q. How does the table of scores change?",
      {"not at all, because a product does not depend on the order of its factors", "the table is transposed",
       "every score changes, but not by a simple rule"});
  const AttentionParts after = attend(x, x, x, {w_k, w_q, w_v});
  report.answer(
      exchanged, 'b', largest(after.scores - transpose(result.scores)) < 1e-12,
      "The new score of query 1 and key 2 is (W_K x₁) · (W_Q x₂) / √3, the old score of query 2 and key 1. "
      "The old table was not symmetric, so queries and keys have different roles.");
}

// ---- 2. A soft dictionary ---------------------------------------------------------------------------------
// A dictionary in a program, such as std::map, either finds a key or fails. Attention is a *soft* dictionary: it
// gives each key a weight, and returns the weighted average of the values.
//
// Suppose that a model translates "I love you" into "je t' aime". Each French word has a query, and each English word
// has a key. Each row of the table contains the weights of one query. French puts "you" (t') before the verb:
//
//             I     love  you
//     je     .94    .02   .04
//     t'     .11    .01   .88
//     aime   .03    .95   .02
//
// Which queries produce these weights? Let us leave out √d and use the keys (1, 0, 0), (0, 1, 0) and (0, 0, 1), which
// are called *one-hot*. Then the score q·k_j is element j of q.
//
// Let the elements of q be the logarithms of the weights that we want, log α_j. The α_j add up to 1, so the softmax
// is e^{log α_j} / Σ_l e^{log α_l} = α_j / Σ_l α_l = α_j. The query therefore gets exactly the weights α_j.
//
// In other words, a score is the *logarithm of a weight*, up to a constant for each row: if we add the same number to
// all scores of a row, its weights stay the same.

void je_t_aime(const kit::Options& options, kit::Report& report) {
  const Tensor rows = tensor({{.94, .02, .04}, {.11, .01, .88}, {.03, .95, .02}}, f64);
  const Tensor weights = softmax(matmul(log(rows), eye(3, f64)), -1);  // the keys: I, love, you
  kit::print_rows("scores", log(rows), 2);
  kit::print_rows("weights", weights, 2);
  report.check("the queries log α produce the weights α", largest(weights - rows) < 1e-12);
  draw_je_t_aime(weights, options);
}

// ---- 3. Learning a hidden rotation ------------------------------------------------------------------------
// Now a model must learn how queries match keys. Each training example has sixteen keys. A key is a vector of eight
// numbers with a random direction, and all keys have the same *norm* (length). Each key has a value: one of ten fixed
// vectors, one vector per symbol. The query is R k, where k is one of the keys and R is a fixed 8 × 8 rotation matrix,
// the same in all examples. A rotation keeps all lengths and angles, so it changes no dot product. Its transpose
// rotates back: RᵀR is the identity. The model must predict the symbol that belongs to k.
//
// W_V maps each value to ten numbers, so the context has ten numbers too. They are the logits of the ten symbols. The
// loss is the cross-entropy of lesson 03. So the correct symbol is the only thing that the model is told. It never
// sees R, and it is never told which key is k. In experiment.hpp, the class Retriever implements attend() with the
// layers of nn/.

void with_nn(std::uint64_t seed, kit::Report& report) {
  Retriever retriever(4, 3, 5, LearnedProjections::qkv);
  retriever.initialise(seed, f64);
  const Projections w{retriever.w_q.weight, retriever.w_k.weight, retriever.w_v.weight};
  const Tensor q = random_normal({2, 3, 4}, seed, f64), k = random_normal({2, 6, 4}, seed + 1, f64),
               v = random_normal({2, 6, 3}, seed + 2, f64);
  kit::check_by_hand(
      report, "attend()", [&] { return attend(q, k, v, w).context; },
      [&] { return retriever(q, k, v).context; }, retriever.parameters(), seed);
}

void retrieval(const kit::Options& options, kit::Report& report) {
  const kit::Question without = report.ask(
      "only W_V is learned",
      "We train three models. The first learns W_V alone, the second W_Q and W_V, and the third all three "
      "matrices. The first model compares queries and keys directly, so the right key seldom gets the largest "
      "weight. How often does this model predict the correct one of the ten symbols?",
      {"1 time in 16", "1 time in 10", "clearly more often than 1 time in 10"});
  const kit::Question one = report.ask(
      "W_K left out",
      "The second model has no W_K. Does it name the right symbol clearly less often than the third?",
      {"yes, because queries and keys must both be rotated", "no, because W_Q alone can undo R"});
  const auto [only_w_v, w_q_and_w_v, all, most_frequent] = train_retrievers(options);
  report.at_least("right answers with all three", all.answer_accuracy, 99, "%");
  report.answer(
      without, 'c',
      only_w_v.answer_accuracy > 12 && only_w_v.answer_accuracy < most_frequent && only_w_v.key_accuracy < 20,
      "The first model mixes all sixteen values, and the mixture shows which symbol is the most frequent among "
      "them. The query's key is drawn at random, so the symbol that most keys share is the likeliest answer. A "
      "model that always names this symbol would reach the percentage in the last row.");
  report.answer(
      one, 'b', w_q_and_w_v.answer_accuracy >= 99,
      "If W_Q is Rᵀ, the query R k becomes Rᵀ R k = k. All keys have the same norm, so its score with k itself is the "
      "largest. Why do attention layers have W_K? Both matrices can project to a smaller width d. For vectors of 512 "
      "numbers, a model with W_Q alone has 512 × 512 weights. With d = 64, W_Q and W_K have only 64 × 512 weights "
      "each.");

  // We compare two matrices by their *cosine similarity*: the sum of the products of corresponding elements, divided
  // by the product of the two norms. It is 1 if the matrices are equal up to a positive factor, and near 0 if they are
  // unrelated.
  const Tensor rotation = hidden_rotation(options.seed), product = matmul(transpose(all.w_q), all.w_k);
  const kit::Question where = report.ask("where R went", "Which matrix is similar to R after training?",
                                         {"W_Q", "W_K", "W_Qᵀ W_K", "all three"});
  const double q = cosine_similarity(all.w_q, rotation), k = cosine_similarity(all.w_k, rotation),
               both = cosine_similarity(product, rotation);
  const double alone = cosine_similarity(w_q_and_w_v.w_q, transpose(rotation));
  fmt::print("  cosine similarity with R: W_Q {:.2f}, W_K {:.2f}, W_Qᵀ W_K {:.3f}\n", q, k, both);
  report.at_least("without W_K: cosine similarity of W_Q with Rᵀ", alone, 0.95);
  report.answer(
      where, 'c', both >= 0.95 && q < 0.8 && k < 0.8,
      "If we multiply both matrices by any rotation S, their product stays the same, because Sᵀ S is the identity: "
      "(S W_Q)ᵀ (S W_K) = W_Qᵀ Sᵀ S W_K = W_Qᵀ W_K. All of these pairs have the same loss, so "
      "training has no reason to prefer one of them.");

  // A score depends on the two matrices only through their product: (W_Q q) · (W_K k_j) = qᵀ (W_Qᵀ W_K) k_j. Suppose
  // that the product is R, and that q = R k. Then the score of key j is (R k) · (R k_j). A rotation changes no dot
  // product, so this score is k · k_j. All keys have the same norm, so k itself has the largest score. The second model
  // has no W_K. Its scores are (W_Q q) · k_j, and W_Q is similar to Rᵀ, which rotates the query back to k.
  draw_matrices(product, rotation, options);
}

// At seed 1, the three models reach these percentages. The last row is for a model that always names the most frequent
// symbol of the sixteen keys:
//
//     learned              right answers            how often the largest weight is on the right key
//     W_V alone                   19.6 %                                                       7.7 %
//     W_Q and W_V                100.0 %                                                     100.0 %
//     W_Q, W_K and W_V           100.0 %                                                     100.0 %
//     most frequent symbol        23.7 %
//
// At seed 1, the cosine similarity with R is 0.27 for W_Q, 0.02 for W_K, and 0.998 for the product W_Qᵀ W_K. In the
// model without W_K, the similarity of W_Q with Rᵀ is 0.9814.
//
// So in the third model, neither matrix has learned R, but their product has. Other seeds give other similarities for
// W_Q and W_K. But at each seed, the program checks that the similarity of the product is at least 0.95.

// What to remember. Three matrices compute a query, a key and a value from each vector. A score is the dot product of
// a query and a key, divided by √d. It is the logarithm of a weight, up to a constant. The product W_Qᵀ W_K learns
// how queries match keys.
//
// Exercises: lessons/practise 6 (scaled dot-product attention; the query for given weights; weights after a change of
// the scores).

void lesson(const kit::Options& options, kit::Report& report) {
  report.section("Attention by hand");
  two_words(report);
  four_words(report);
  report.section("A soft dictionary");
  je_t_aime(options, report);
  report.section("Learning a hidden rotation");
  with_nn(options.seed, report);
  retrieval(options, report);
}
}  // namespace

int main(int argc, char** argv) {
  kit::Lesson program("06_queries_keys_values", "turn each vector into a query, a key and a value");
  program.steps(500, 20);
  return program.run(argc, argv, lesson);
}
