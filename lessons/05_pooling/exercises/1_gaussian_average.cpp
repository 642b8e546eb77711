// 5.1 gaussian_average: The Nadaraya–Watson average
// implement, 15 minutes
//
// Write the average of Nadaraya and Watson for queries and keys with d coordinates:
//
//     s_ij = −‖q_i − k_j‖² / 2σ²,      α_ij = softmax of s_ij over the keys j,      answer_i = Σ_j α_ij v_j
//
// ‖x‖² is the sum of the squares of x's d elements. The queries have the shape (Tq, d), the keys (Tk, d) and the values
// (Tk), one number for each key. sigma is the number σ. Return the answers, (Tq).
//
// Useful functions: unsqueeze, squeeze, sum(x, {-1}), softmax(x, axis), matmul and broadcasting.
#include "lessons/grader/answer.hpp"

Tensor gaussian_average(const Tensor& queries, const Tensor& keys, const Tensor& values, double sigma) {
  //[ three lines
  //: return not_written_yet();
  const Tensor apart = unsqueeze(queries, 1) - unsqueeze(keys, 0);        // (Tq, 1, d) − (1, Tk, d)
  const Tensor scores = -sum(apart * apart, {-1}) / (2 * sigma * sigma);  // (Tq, Tk): 0 at distance 0
  return squeeze(matmul(softmax(scores, -1), unsqueeze(values, 1)), 1);   // (Tq, Tk) times (Tk, 1)
  //]
}

// hint: Each query is combined with each key. With which new axes do (Tq, d) and (Tk, d) broadcast to (Tq, Tk, d)?
// hint: apart = unsqueeze(queries, __) - unsqueeze(keys, __), and the scores are ____ sum(apart * apart, {-1}) / (…).
// hint: The last line multiplies softmax(scores, ____) by the values. matmul needs the values as a column, (Tk, 1), and
//   the answer has the shape (Tq). Which two functions add and remove an axis?
//
// wrong: The minus sign is missing, so a key gets more weight the farther away it is. Try a query at the place of a
//   key: the value of this key gets the smallest weight.
// - const Tensor scores = -sum(apart * apart, {-1}) / (2 * sigma * sigma);
// + const Tensor scores = sum(apart * apart, {-1}) / (2 * sigma * sigma);
// wrong: You divide by 2σ, not by 2σ². The two are equal for σ = 1. If you measure all places and σ in millimetres
//   instead of metres, the answers must not change, but yours do.
// - const Tensor scores = -sum(apart * apart, {-1}) / (2 * sigma * sigma);
// + const Tensor scores = -sum(apart * apart, {-1}) / (2 * sigma);
// wrong: The 2 in 2σ² is missing. Your weights have the width σ/√2.
// - const Tensor scores = -sum(apart * apart, {-1}) / (2 * sigma * sigma);
// + const Tensor scores = -sum(apart * apart, {-1}) / (sigma * sigma);
// wrong: You compute the mean of the squares over the coordinates. The squared distance is their sum. For d = 1 the two
//   are equal.
// - const Tensor scores = -sum(apart * apart, {-1}) / (2 * sigma * sigma);
// + const Tensor scores = -mean(apart * apart, {-1}) / (2 * sigma * sigma);
// wrong: You keep only q·k / σ². The expanded square also contains −‖q‖² and −‖k‖². −‖q‖² is the same for all keys and
//   may be dropped. −‖k‖² is not: without it, keys far from 0 get too much weight.
// - const Tensor scores = -sum(apart * apart, {-1}) / (2 * sigma * sigma);
// + const Tensor scores = matmul(queries, transpose(keys)) / (sigma * sigma);
// wrong: Your softmax runs over the queries, so the weights of one query do not add up to 1, and its answer is not an
//   average. If all values are 5, every answer must be 5.
// - return squeeze(matmul(softmax(scores, -1), unsqueeze(values, 1)), 1);
// + return squeeze(matmul(softmax(scores, 0), unsqueeze(values, 1)), 1);
// wrong: C++ evaluates x / 2 * σ * σ from the left, as (x / 2) · σ², so you multiply by σ². Put 2 * sigma * sigma in
//   parentheses.
// - const Tensor scores = -sum(apart * apart, {-1}) / (2 * sigma * sigma);
// + const Tensor scores = -sum(apart * apart, {-1}) / 2 * sigma * sigma;
// wrong: You use e^score as the weight. Softmax also divides by the sum of all e^score. Without the division, the
//   weights of one query do not add up to 1.
// - return squeeze(matmul(softmax(scores, -1), unsqueeze(values, 1)), 1);
// + return squeeze(matmul(exp(scores), unsqueeze(values, 1)), 1);

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// Computes the average with loops. Each key has a kernel, e^score, which is divided by the sum of the kernels.
Tensor by_kernels(const Tensor& queries, const Tensor& keys, const Tensor& values, double sigma) {
  std::vector<double> answers;
  for (Size i = 0; i < queries.size(0); ++i) {
    double above = 0, below = 0;
    for (Size j = 0; j < keys.size(0); ++j) {
      double squared = 0;
      for (Size c = 0; c < keys.size(1); ++c) squared += std::pow(queries.at({i, c}) - keys.at({j, c}), 2);
      const double kernel = std::exp(-squared / (2 * sigma * sigma));
      above += kernel * values.at({j});
      below += kernel;
    }
    answers.push_back(above / below);
  }
  return tensor(answers, {queries.size(0)}, DType::f64);
}

}  // namespace

void judge(Judge& judge) {
  judge.claim("answers two queries from three keys in a plane", [&] {
    const Tensor queries = tensor({{0, 0}, {1, 1}}, DType::f64);
    const Tensor keys = tensor({{0, 0}, {1, 2}, {3, 1}}, DType::f64), values = tensor({1, 5, 20}, DType::f64);
    judge.example(
        "queries (0, 0) and (1, 1), keys (0, 0), (1, 2), (3, 1) with the values 1, 5, 20, and σ = 1.5");
    judge.same(gaussian_average(queries, keys, values, 1.5), by_kernels(queries, keys, values, 1.5),
               "the answers");
  });
  judge.claim("answers any number of queries, for any number of keys and coordinates", [&] {
    judge.each_size({{"queries", 1, 5}, {"keys", 1, 6}, {"d", 1, 4}}, [&](const Sizes& n) {
      const Tensor queries = judge.normal({n[0], n[2]}), keys = judge.normal({n[1], n[2]});
      const Tensor values = judge.normal({n[1]});
      const double sigma = judge.random().uniform(0.5, 3);
      judge.same(gaussian_average(queries, keys, values, sigma), by_kernels(queries, keys, values, sigma),
                 "the answers");
    });
  });
  judge.claim("answers a query for which every e^score underflows to 0", [&] {
    judge.example(
        "a query at 100, keys at 0 and 1 with the values 3 and 7, and σ = 1: e^(−99² / 2) is 0 in f64");
    judge.same(gaussian_average(tensor({{100}}, DType::f64), tensor({{0}, {1}}, DType::f64),
                                tensor({3, 7}, DType::f64), 1),
               tensor({7}, DType::f64), "the answer");
  });
  judge.claim("has the right gradients for queries, keys and values", [&] {
    judge.gradients(
        [](const Tensor& q, const Tensor& k, const Tensor& v) { return gaussian_average(q, k, v, 1.5); },
        {judge.normal({3, 2}), judge.normal({4, 2}), judge.normal({4})});
  });
}
