// 25.4 keep_little: Attention whose tape uses little memory
// design, 30 minutes, fast
//
// This attention uses softplus(x) = ln(1 + eˣ) in place of eˣ. The library has no kernel for such an
// attention:
//
//     w_ij = softplus(q_i · k_j / √d),        out_i = Σ_j w_ij v_j / Σ_j w_ij
//
// q, k and v have the shape (T, d). by_ops() below computes the result, but between forward and backward
// the tape keeps several T × T matrices.
//
// Write attend_softly() so that after the forward pass it holds at most 160 KiB in addition to the inputs, for
// T = 512 and d = 16 in f64. The output counts; it needs 64 KiB. The values and the gradients must stay the
// same. The score is the memory in KiB: less is better, and your best score is kept.
//
// To write one rule for all three inputs, use wrt_all(std::array{&q, &k, &v}, rule), where rule(d_out)
// returns a std::array of the gradients of q, k and v.
#include "core/tape/op.hpp"
#include "lessons/grader/answer.hpp"

Tensor by_ops(const Tensor& q, const Tensor& k, const Tensor& v) {
  const Tensor scores = matmul(q, transpose(k)) / std::sqrt(static_cast<double>(q.size(1)));
  const Tensor weights = softplus(scores);
  return matmul(weights, v) / sum(weights, {-1}, Keep::yes);
}

Tensor attend_softly(const Tensor& q, const Tensor& k, const Tensor& v) {
  //[ an op of your own
  //: return by_ops(q, k, v);
  const Tensor q0 = q.detach(), k0 = k.detach(), v0 = v.detach();  // not recorded on the tape
  const Tensor out = by_ops(q0, k0, v0);
  const auto rule = [=](const Tensor& d_out) {
    const double scale = 1 / std::sqrt(static_cast<double>(q0.size(1)));
    const Tensor scores = matmul(q0, transpose(k0)) * scale;  // computed again
    const Tensor weights = softplus(scores);
    const Tensor total = sum(weights, {-1}, Keep::yes);
    const Tensor delta = sum(d_out * out, {-1}, Keep::yes);  // the part of the gradient through total
    const Tensor d_weights = (matmul(d_out, transpose(v0)) - delta) / total;
    const Tensor d_scores = d_weights * sigmoid(scores);  // softplus' = sigmoid
    return std::array{scale * matmul(d_scores, k0), scale * matmul(transpose(d_scores), q0),
                      matmul(transpose(weights / total), d_out)};
  };
  return op<"attend_softly">({}, out, wrt_all(std::array{&q, &k, &v}, rule));
  //]
}

// hint: Which tensors of by_ops() does backward need? Which of them could you compute again from q, k and v?
// hint: Write an op like tiled() in the lesson: compute its value from the detached inputs q0, k0 and v0, and let one
//   rule capture q0, k0, v0 and the output. Let t_i = Σ_j w_ij, let O be the output, and S the scores. Then
//   dw_ij = (dO_i · v_j − dO_i · O_i) / t_i. What is dS_ij?
// hint: In the rule, compute scores, weights and total again. Then d_weights = (matmul(d_out, transpose(v0))
//   − sum(d_out * out, {-1}, Keep::yes)) / total, and d_scores = d_weights * sigmoid(scores), because sigmoid
//   is the derivative of softplus.
//
// start: The values and gradients are right, but the tape keeps scores, weights and more T × T
//   matrices for backward. Which of them could you compute again?
//
// wrong: The rule captures a T × T matrix, such as the scores or the weights. Everything that a rule
//   captures stays in memory until backward. Compute the matrix again inside the rule.
// - const auto rule = [=](const Tensor& d_out) {
// + const Tensor all = softplus(matmul(q0, transpose(k0)) / std::sqrt(static_cast<double>(q0.size(1))));
// + const auto rule = [=](const Tensor& d_out) {
// +   static_cast<void>(all.size(0));
// wrong: You compute the value from inputs that are not detached. So the tape also records by_ops(), with all
//   of its matrices. Detach the inputs first.
// - const Tensor out = by_ops(q0, k0, v0);
// + const Tensor out = by_ops(q, k, v);
// wrong: You treat the sum of a row as a constant. But Σ w depends on q and k too, so a part of the gradient
//   is missing: dO_i · O_i.
// - const Tensor d_weights = (matmul(d_out, transpose(v0)) - delta) / total;
// + const Tensor d_weights = (matmul(d_out, transpose(v0)) - 0.0 * delta) / total;
// wrong: You use the weights as their own derivative, which is right for eˣ, and so for a softmax. The
//   derivative of softplus is the sigmoid.
// - const Tensor d_scores = d_weights * sigmoid(scores);
// + const Tensor d_scores = d_weights * weights;
// wrong: The gradients of q and k lack the factor 1/√d, by which the scores were multiplied.
// - return std::array{scale * matmul(d_scores, k0), scale * matmul(transpose(d_scores), q0),
// + return std::array{matmul(d_scores, k0), matmul(transpose(d_scores), q0),
// wrong: In the gradient of v, the weights are not normalised. Divide them by their sum first.
// - matmul(transpose(weights / total), d_out)};
// + matmul(transpose(weights), d_out)};

//= judge
#include <fmt/format.h>

#include "core/simd/runtime/memory.hpp"
#include "core/simd/runtime/threads.hpp"
#include "lessons/grader/judge/judge.hpp"

namespace {

/// Computes Σ_j w_ij v_j / Σ_j w_ij, one number at a time.
Tensor by_loops(const Tensor& q, const Tensor& k, const Tensor& v) {
  std::vector<double> out;
  for (Size i = 0; i < q.size(0); ++i) {
    std::vector<double> row(static_cast<std::size_t>(v.size(1)), 0.0);
    double total = 0;
    for (Size j = 0; j < k.size(0); ++j) {
      double s = 0;
      for (Size c = 0; c < q.size(1); ++c) s += q.at({i, c}) * k.at({j, c});
      const double weight = std::log1p(std::exp(s / std::sqrt(static_cast<double>(q.size(1)))));
      total += weight;
      for (Size c = 0; c < v.size(1); ++c) row[static_cast<std::size_t>(c)] += weight * v.at({j, c});
    }
    for (const double x : row) out.push_back(x / total);
  }
  return tensor(out, {q.size(0), v.size(1)}, DType::f64);
}

}  // namespace

void judge(Judge& judge) {
  judge.claim("computes the formula", [&] {
    judge.each_size({{"queries", 1, 4}, {"keys", 1, 5}, {"d", 1, 3}}, [&](const Sizes& n) {
      const Tensor q = judge.normal({n[0], n[2]}), k = judge.normal({n[1], n[2]}),
                   v = judge.normal({n[1], n[2]});
      judge.same(attend_softly(q, k, v), by_loops(q, k, v), "the context");
    });
  });
  judge.claim("has the right gradients", [&] {
    judge.gradients(attend_softly, {judge.normal({3, 2}), judge.normal({4, 2}), judge.normal({4, 2})});
  });
  judge.claim("uses little memory between forward and backward", [&] {
    simd::set_thread_count(1);
    const auto leaf = [&] { return variable(random_normal({512, 16}, judge.random().next(), DType::f64)); };
    const std::vector<Tensor> inputs = {leaf(), leaf(), leaf()};
    const Tensor d_out = random_normal({512, 16}, judge.random().next(), DType::f64);
    double held = 0;
    std::vector<Tensor> found;
    {
      Tape tape;
      const Size before = simd::pool_stats().in_use;
      const Tensor out = attend_softly(inputs[0], inputs[1], inputs[2]);
      held = static_cast<double>(simd::pool_stats().in_use - before) / 1024;
      found = tape.gradients(out, d_out, inputs);
    }
    Tape tape;
    const std::vector<Tensor> wanted = tape.gradients(by_ops(inputs[0], inputs[1], inputs[2]), d_out, inputs);
    for (std::size_t i = 0; i < 3; ++i) judge.same(found[i], wanted[i], "a gradient at T = 512");
    judge.that(
        held <= 160,
        fmt::format("{:.0f} KiB are in use after forward; at most 160 are allowed; the output alone needs 64",
                    held),
        {std::round(held / 64)});
    fmt::print("{:.0f} KiB are in use between forward and backward.\n", held);
    judge.score(held, "KiB");
  });
}
