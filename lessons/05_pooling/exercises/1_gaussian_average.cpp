// 5.1 gaussian_average: ask the keys that are near
// implement, 15 minutes
//
// Nadaraya and Watson's average for places with d coordinates:
//
//     s_ij = −‖q_i − k_j‖² / 2σ²,      α_ij = softmax of s_ij over the keys j,      answer_i = Σ_j α_ij v_j
//
// queries (Tq, d), keys (Tk, d), values (Tk), one number behind each key, and sigma is a plain number; the
// result is (Tq). ‖x‖² is the sum of the squares of x's d numbers. Broadcasting, sum(x, {-1}), softmax(x,
// axis) and matmul are useful.
#include "lessons/grader/answer.hpp"

Tensor gaussian_average(const Tensor& queries, const Tensor& keys, const Tensor& values, double sigma) {
  //[ three lines
  //: return not_written_yet();
  const Tensor apart = unsqueeze(queries, 1) - unsqueeze(keys, 0);        // (Tq, 1, d) − (1, Tk, d)
  const Tensor scores = -sum(apart * apart, {-1}) / (2 * sigma * sigma);  // (Tq, Tk): 0 where they meet
  return squeeze(matmul(softmax(scores, -1), unsqueeze(values, 1)), 1);   // (Tq, Tk) times (Tk, 1)
  //]
}

// hint: Every query meets every key. With which new axes do (Tq, d) and (Tk, d) broadcast to (Tq, Tk, d)?
// hint: apart = unsqueeze(queries, __) - unsqueeze(keys, __), and the scores are ____ sum(apart * apart,
//   {-1}) / (…).
// hint: The last line multiplies softmax(scores, ____) by the values. matmul wants them as a column, (Tk, 1),
//   and the answer is (Tq): which two functions add and take away an axis?
//
// wrong: The minus is missing: the farther away a key is, the more weight it gets. Ask at the very place of a
//   key and see how little of its value comes back.
// - const Tensor scores = -sum(apart * apart, {-1}) / (2 * sigma * sigma);
// + const Tensor scores = sum(apart * apart, {-1}) / (2 * sigma * sigma);
// wrong: You divide by 2σ, not by 2σ². With σ = 1 nobody notices; measure places in millimetres instead of
//   metres, σ with them, and the answers change.
// - const Tensor scores = -sum(apart * apart, {-1}) / (2 * sigma * sigma);
// + const Tensor scores = -sum(apart * apart, {-1}) / (2 * sigma);
// wrong: The 2 is missing: that is a bump of width σ/√2.
// - const Tensor scores = -sum(apart * apart, {-1}) / (2 * sigma * sigma);
// + const Tensor scores = -sum(apart * apart, {-1}) / (sigma * sigma);
// wrong: That is the mean of the squares over the coordinates. The squared distance is their sum; on a line,
//   d = 1, both are the same.
// - const Tensor scores = -sum(apart * apart, {-1}) / (2 * sigma * sigma);
// + const Tensor scores = -mean(apart * apart, {-1}) / (2 * sigma * sigma);
// wrong: You kept q·k / σ² alone. Opening the square leaves −‖q‖², which is the same for all keys and may go,
//   and −‖k‖², which is not: without it, keys far from 0 get too much.
// - const Tensor scores = -sum(apart * apart, {-1}) / (2 * sigma * sigma);
// + const Tensor scores = matmul(queries, transpose(keys)) / (sigma * sigma);
// wrong: Softmax runs over the queries: the weights of one query do not add up to 1, so its answer is no
//   average. Put in values that are all 5 and every answer should be 5.
// - return squeeze(matmul(softmax(scores, -1), unsqueeze(values, 1)), 1);
// + return squeeze(matmul(softmax(scores, 0), unsqueeze(values, 1)), 1);
// wrong: C++ reads x / 2 * σ * σ from the left, as (x / 2) · σ²: you multiply by σ². Put 2 * sigma * sigma in
//   brackets.
// - const Tensor scores = -sum(apart * apart, {-1}) / (2 * sigma * sigma);
// + const Tensor scores = -sum(apart * apart, {-1}) / 2 * sigma * sigma;
// wrong: You take e^score for the weight. Softmax divides by their sum, too; without that the weights of one
//   query do not add up to 1.
// - return squeeze(matmul(softmax(scores, -1), unsqueeze(values, 1)), 1);
// + return squeeze(matmul(exp(scores), unsqueeze(values, 1)), 1);

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// The form of 1964: a kernel, e^score, for each key, divided by the sum of the kernels.
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
  judge.claim("answers at two places from three keys in a plane", [&] {
    const Tensor queries = tensor({{0, 0}, {1, 1}}, DType::f64);
    const Tensor keys = tensor({{0, 0}, {1, 2}, {3, 1}}, DType::f64), values = tensor({1, 5, 20}, DType::f64);
    judge.example(
        "queries (0, 0) and (1, 1), keys (0, 0), (1, 2), (3, 1) with the values 1, 5, 20, and σ = 1.5");
    judge.same(gaussian_average(queries, keys, values, 1.5), by_kernels(queries, keys, values, 1.5),
               "the answers");
  });
  judge.claim("does so for any numbers of queries, keys and coordinates", [&] {
    judge.each_size({{"queries", 1, 5}, {"keys", 1, 6}, {"d", 1, 4}}, [&](const Sizes& n) {
      const Tensor queries = judge.normal({n[0], n[2]}), keys = judge.normal({n[1], n[2]});
      const Tensor values = judge.normal({n[1]});
      const double sigma = judge.random().uniform(0.5, 3);
      judge.same(gaussian_average(queries, keys, values, sigma), by_kernels(queries, keys, values, sigma),
                 "the answers");
    });
  });
  judge.claim("gives an answer where every e^score is too small for a number", [&] {
    judge.example(
        "a query at 100, keys at 0 and 1 with the values 3 and 7, and σ = 1: e^(−99² / 2) is 0 in f64");
    judge.same(gaussian_average(tensor({{100}}, DType::f64), tensor({{0}, {1}}, DType::f64),
                                tensor({3, 7}, DType::f64), 1),
               tensor({7}, DType::f64), "the answer");
  });
  judge.claim("lets gradients through to queries, keys and values", [&] {
    judge.gradients(
        [](const Tensor& q, const Tensor& k, const Tensor& v) { return gaussian_average(q, k, v, 1.5); },
        {judge.normal({3, 2}), judge.normal({4, 2}), judge.normal({4})});
  });
}
