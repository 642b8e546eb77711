// 12.3 one_step_late: The order of step and attention
// debug, 15 minutes
//
// Here is Luong's decoder with input feeding, for the lookup task. Each step gets one question:
//
//     h_t = cell([e_t; h̃_{t−1}], h_{t−1}),    c_t = attend(h_t, states),    h̃_t = tanh(W_c [c_t; h_t])
//
// The program runs, and its loss falls a little. But the weights at question t are those that question t − 1 should
// have, and the first question is hardly ever answered correctly. Find the mistake.
//
// The shapes are e (B, T, E), first = h_0 (B, d), states (B, S, d) and w_c (r, 2d). h̃_0 is 0. The result is all h̃_t,
// (B, T, r).
#include "lessons/grader/answer.hpp"

/// Takes x (B, E + r) and h (B, d). Returns the next h.
using Cell = std::function<Tensor(const Tensor& x, const Tensor& h)>;

/// Dot attention with one query per string. Takes h (B, d), returns the context (B, d).
Tensor read_states(const Tensor& h, const Tensor& states) {
  const Tensor weights = softmax(matmul(unsqueeze(h, 1), transpose(states)), -1);
  return squeeze(matmul(weights, states), 1);
}

Tensor attention_vectors(const Tensor& e, const Tensor& first, const Tensor& states, const Cell& cell,
                         const Tensor& w_c) {
  Tensor h = first;
  Tensor fed = zeros({e.size(0), w_c.size(0)}, e.dtype());
  std::vector<Tensor> vectors;
  for (Size t = 0; t < e.size(1); ++t) {
    //[ one step
    //: const Tensor context = read_states(h, states);
    //: h = cell(concat({select(e, 1, t), fed}, -1), h);
    //: fed = tanh(matmul(concat({context, h}, -1), transpose(w_c)));
    //: vectors.push_back(fed);
    h = cell(concat({select(e, 1, t), fed}, -1), h);               // step: h now depends on question t
    const Tensor context = read_states(h, states);                 // then attend with the new state
    fed = tanh(matmul(concat({context, h}, -1), transpose(w_c)));  // combine context and state
    vectors.push_back(fed);
    //]
  }
  return stack(vectors, 1);
}

// hint: Which line uses question t? What does the query depend on before this line?
// hint: In the formula, which of h_t and h_{t−1} is the query? And which one is it in the program, at that line?
// hint: Move one line. Luong's decoder steps, then attends. Bahdanau's attends, then steps.
//
// start: The weights at question t belong to question t − 1. Even at the first question, the query is h_0, which does
//   not depend on any question. Go through one step, and note for each line which questions its values depend on.
//
// wrong: You concatenate c_t with the state before the step. Both parts of the attention vector must be from step t.
// - h = cell(concat({select(e, 1, t), fed}, -1), h);
// - const Tensor context = read_states(h, states);
// - fed = tanh(matmul(concat({context, h}, -1), transpose(w_c)));
// + const Tensor before = h;
// + h = cell(concat({select(e, 1, t), fed}, -1), h);
// + const Tensor context = read_states(h, states);
// + fed = tanh(matmul(concat({context, before}, -1), transpose(w_c)));
// wrong: You shifted the questions: step t gets question t − 1. The query was late, not the question.
// - h = cell(concat({select(e, 1, t), fed}, -1), h);
// + h = cell(concat({select(e, 1, t == 0 ? 0 : t - 1), fed}, -1), h);
// wrong: Step t gets question t + 1. That cancels the delay, but the old state is still the query. The last question is
//   used twice, and h̃_t depends on a question that comes later.
// - h = cell(concat({select(e, 1, t), fed}, -1), h);
// - const Tensor context = read_states(h, states);
// + const Tensor context = read_states(h, states);
// + h = cell(concat({select(e, 1, std::min(t + 1, e.size(1) - 1)), fed}, -1), h);
// wrong: Input feeding is missing: the cell gets zeros in addition to the question at every step. The context of step t
//   must reach step t + 1.
// - h = cell(concat({select(e, 1, t), fed}, -1), h);
// + h = cell(concat({select(e, 1, t), zeros(fed.shape(), fed.dtype())}, -1), h);
// wrong: The cell starts from h_0 at every step, so it forgets the previous questions.
// - h = cell(concat({select(e, 1, t), fed}, -1), h);
// + h = cell(concat({select(e, 1, t), fed}, -1), first);
// wrong: You use the attention vector as the next state instead of h_t. It is an input of the next step. The state of
//   the next step is computed from h_t.
// - vectors.push_back(fed);
// + vectors.push_back(fed);
// + if (fed.size(1) == h.size(1)) h = fed;

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

using Row = std::vector<double>;

/// Computes tanh(W x), with W (out, in).
Row squashed(const Tensor& w, const Row& x) {
  Row y;
  for (Size o = 0; o < w.size(0); ++o) {
    double sum = 0;
    for (Size i = 0; i < w.size(1); ++i) sum += w.at({o, i}) * x[static_cast<std::size_t>(i)];
    y.push_back(std::tanh(sum));
  }
  return y;
}

Row joined(Row a, const Row& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

/// Computes one string after another and one step after another. The cell is tanh(u [e; h̃; h]).
Tensor by_loops(const Tensor& e, const Tensor& first, const Tensor& states, const Tensor& u,
                const Tensor& w_c) {
  Row all;
  for (Size b = 0; b < e.size(0); ++b) {
    Row h = select(first, 0, b).to_vector(), fed(static_cast<std::size_t>(w_c.size(0)), 0.0);
    for (Size t = 0; t < e.size(1); ++t) {
      h = squashed(u, joined(joined(select(select(e, 0, b), 0, t).to_vector(), fed), h));
      Row context(h.size(), 0.0);
      double sum = 0;
      for (Size j = 0; j < states.size(1); ++j) {
        double score = 0;
        for (std::size_t i = 0; i < h.size(); ++i) score += h[i] * states.at({b, j, static_cast<Size>(i)});
        sum += std::exp(score);
        for (std::size_t i = 0; i < h.size(); ++i)
          context[i] += std::exp(score) * states.at({b, j, static_cast<Size>(i)});
      }
      for (double& x : context) x /= sum;
      fed = squashed(w_c, joined(context, h));
      all = joined(all, fed);
    }
  }
  return tensor(all, {e.size(0), e.size(1), w_c.size(0)}, DType::f64);
}

}  // namespace

void judge(Judge& judge) {
  const auto compare = [&](Size batch, Size steps, Size states_count, Size d, Size r) {
    constexpr Size kEmbedding = 2;
    const Tensor e = judge.normal({batch, steps, kEmbedding}), first = judge.normal({batch, d}) * 0.3;
    const Tensor states = judge.normal({batch, states_count, d}), u = judge.normal({d, kEmbedding + r + d});
    const Tensor w_c = judge.normal({r, 2 * d}) * 0.7;
    const Cell cell = [&](const Tensor& x, const Tensor& h) {
      return tanh(matmul(concat({x, h}, -1), transpose(u)));
    };
    judge.same(attention_vectors(e, first, states, cell, w_c), by_loops(e, first, states, u, w_c), "h̃");
  };
  judge.claim("computes three questions with two states", [&] {
    judge.example("one string, three questions, two states, d = r = 2");
    compare(1, 3, 2, 2, 2);
  });
  judge.claim("works for any sizes", [&] {
    judge.each_size({{"batch", 1, 3}, {"questions", 1, 4}, {"states", 1, 4}, {"d", 1, 3}, {"r", 1, 3}},
                    [&](const Sizes& n) { compare(n[0], n[1], n[2], n[3], n[4]); });
  });
}
