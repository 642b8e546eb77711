// 11.5 engine_bahdanau: Milestone: Bahdanau's translator on your engine
// implement, 30 minutes, limit 60 s, fast
//
// In this second milestone, a translator with Bahdanau's attention runs on your engine and learns to write strings
// of 8 letters backwards. It is smaller than the lesson's: the encoder reads from left to right only, the decoder
// starts from the encoder's last state, and there is no tanh layer in front of the logits. You write two of its
// functions. The first, next_state(), is a GRU step. It takes the input x (B, in) and the state h (B, H), and
// returns the next state h':
//
//     r = σ(x W_r + h U_r + b_r)     z = σ(x W_z + h U_z + b_z)
//     n = tanh(x W_n + b_n + r ⊙ (h U_n + c_n))                     h' = (1 − z) ⊙ n + z ⊙ h
//
// W_r, W_z and W_n have the shape (in, H), and U_r, U_z and U_n have the shape (H, H). The biases b_r, b_z, b_n and
// c_n (`cell.c` in the code) have the shape (H), and ⊙ multiplies element by element.
//
// The second function, look_back(), computes the context. It has five arguments. A is the number of hidden units of
// the score, which the lesson calls U:
//
//     s (B, H)           the decoder's state
//     keys (B, T, A)     the projected keys W_k h_j
//     states (B, T, H)   the encoder states h_j
//     w (H, A), v (A, 1) the transpose of W_q, and the vector v as a column
//
// It returns the context (B, H):
//
//     score_j = v · tanh(s w + key_j)       α = softmax(score)     context = Σ_j α_j h_j
//
// The encoder, the decoder's loop and the loss are given. So is sigmoid_of(), which uses tanh because your engine
// has no sigmoid. Your engine has +, − and * of two Values, with broadcasting, and these functions:
//
//     engine::matmul(a, b)      (…, n, k) and (k, m), or (…, k, m)      engine::tanh(x)      element by element
//     engine::reshape(x, {2, 3})      the same elements in a new shape      engine::softmax(x)      along the last axis
#include "engine/embedding.hpp"
#include "lessons/grader/answer.hpp"

using engine::Array, engine::Value;

/// Returns σ(x) = (1 + tanh(x / 2)) / 2.
Value sigmoid_of(const Value& x) { return engine::tanh(x * 0.5) * 0.5 + x.tape->leaf({{1}, {0.5}}); }

struct Cell {
  Value w_r, u_r, b_r, w_z, u_z, b_z, w_n, u_n, b_n, c;
};

/// Returns the next state (B, H) for x (B, in) and h (B, H).
Value next_state(const Cell& cell, const Value& x, const Value& h) {
  const Value one = x.tape->leaf({{1}, {1.0}});
  //[ r, z, n and the new state, four lines
  //: return not_written_yet();
  const Value r = sigmoid_of(engine::matmul(x, cell.w_r) + engine::matmul(h, cell.u_r) + cell.b_r);
  const Value z = sigmoid_of(engine::matmul(x, cell.w_z) + engine::matmul(h, cell.u_z) + cell.b_z);
  const Value remembered = engine::matmul(h, cell.u_n) + cell.c;
  const Value n = engine::tanh(engine::matmul(x, cell.w_n) + cell.b_n + r * remembered);
  return (one - z) * n + z * h;  // z = 1 keeps the old state unchanged
  //]
}

/// Returns the context (B, H) for s (B, H), keys (B, T, A), states (B, T, H), w (H, A) and v (A, 1).
Value look_back(const Value& s, const Value& keys, const Value& states, const Value& w, const Value& v) {
  const int rows = keys.array().shape[0], length = keys.array().shape[1], width = keys.array().shape[2];
  const int hidden = states.array().shape[2];
  //[ query, scores, weights and context, about four lines
  //: return not_written_yet();
  const Value query = engine::reshape(engine::matmul(s, w), {rows, 1, width});        // one for all T keys
  const Value scores = engine::matmul(engine::tanh(query + keys), v);                 // (B, T, 1)
  const Value weights = engine::softmax(engine::reshape(scores, {rows, 1, length}));  // over the T keys
  return engine::reshape(engine::matmul(weights, states), {rows, hidden});            // (B, 1, H) as (B, H)
  //]
}

/// The weights of a model, as 28 leaves of a tape, in this order.
struct Model {
  Value letters, fed_letters;  // (symbols, E): embeddings of the source letters and of the output letters
  Cell encoder, decoder;
  Value to_keys, w, v;  // W_kᵀ (H, A), W_qᵀ (H, A) and v (A, 1)
  // The context is mapped to the GRU's input (H, E), the state to the logits (H, symbols), and the context to the
  // logits (H, symbols).
  Value from_context, out, from_look;
};

Model model_of(const std::vector<Value>& l) {
  const auto cell = [&](std::size_t k) {
    return Cell{l[k],     l[k + 1], l[k + 2], l[k + 3], l[k + 4],
                l[k + 5], l[k + 6], l[k + 7], l[k + 8], l[k + 9]};
  };
  return {l[0], l[1], cell(2), cell(12), l[22], l[23], l[24], l[25], l[26], l[27]};
}

/// source (B, T) and fed (B, n), stored row by row → logits (B, n, symbols).
Value logits_of(const Model& model, const std::vector<int>& source, const std::vector<int>& fed, int rows) {
  engine::Tape& tape = *model.letters.tape;
  const int hidden = model.w.array().shape[0];
  const auto symbols_at = [rows](const std::vector<int>& all, int t) {
    std::vector<int> at;
    const int length = static_cast<int>(all.size()) / rows;
    for (int row = 0; row < rows; ++row) at.push_back(all[static_cast<std::size_t>(row * length + t)]);
    return at;
  };
  Value h = tape.leaf(engine::filled({rows, hidden}, 0));
  std::vector<Value> steps;
  for (int t = 0; t < static_cast<int>(source.size()) / rows; ++t) {
    h = next_state(model.encoder, engine::embedding(model.letters, symbols_at(source, t), {rows}), h);
    steps.push_back(h);
  }
  const Value states = engine::stack(steps), keys = engine::matmul(states, model.to_keys);
  std::vector<Value> logits;
  for (int t = 0; t < static_cast<int>(fed.size()) / rows; ++t) {
    const Value context = look_back(h, keys, states, model.w, model.v);
    const Value said = engine::embedding(model.fed_letters, symbols_at(fed, t), {rows});
    h = next_state(model.decoder, said + engine::matmul(context, model.from_context), h);
    logits.push_back(engine::matmul(h, model.out) + engine::matmul(context, model.from_look));
  }
  return engine::stack(logits);
}

// hint: Which op of your engine computes the product x W_r, of shape (B, H), from x (B, in) and W_r (in, H)? Which op
//   computes r ⊙ …, for two arrays of the same shape?
// hint: s w has the shape (B, A), and the keys have the shape (B, T, A). Which shape must the query have so that it
//   is added to all T keys? Softmax works along the last axis. So which axis must hold the T scores?
// hint: Compute tanh of reshape(matmul(s, w), {rows, 1, width}) + keys. Multiply the result by v to get the scores,
//   (B, T, 1). Reshape the scores to (B, 1, T) and apply softmax. Multiply the weights by the states to get (B, 1,
//   H).
//
// wrong: You exchanged z and 1 − z. Set z = 1 in the formula. Which of n and h remains?
// - return (one - z) * n + z * h;
// + return z * n + (one - z) * h;
// wrong: You apply the reset gate r to h before the product with U_n. In this GRU, r multiplies the sum h U_n + c_n,
//   after the product.
// - const Value remembered = engine::matmul(h, cell.u_n) + cell.c;
// - const Value n = engine::tanh(engine::matmul(x, cell.w_n) + cell.b_n + r * remembered);
// + const Value remembered = engine::matmul(r * h, cell.u_n) + cell.c;
// + const Value n = engine::tanh(engine::matmul(x, cell.w_n) + cell.b_n + remembered);
// wrong: You apply the reset gate r only to h U_n. Multiply the sum h U_n + c_n by r.
// - const Value remembered = engine::matmul(h, cell.u_n) + cell.c;
// - const Value n = engine::tanh(engine::matmul(x, cell.w_n) + cell.b_n + r * remembered);
// + const Value n = engine::tanh(engine::matmul(x, cell.w_n) + cell.b_n + r * engine::matmul(h, cell.u_n) + cell.c);
// wrong: The softmax runs along an axis of size 1, so each weight is 1, and the context is the sum of all states. Which
//   axis holds the T scores?
// - const Value weights = engine::softmax(engine::reshape(scores, {rows, 1, length}));
// + const Value weights = engine::reshape(engine::softmax(scores), {rows, 1, length});
// wrong: The softmax runs along the last axis of the scores (B, T, 1). It has size 1, so each weight is 1, and matmul
//   cannot combine the weights with the states (B, T, H). Reshape the scores to (B, 1, T) before the softmax.
// - const Value weights = engine::softmax(engine::reshape(scores, {rows, 1, length}));
// + const Value weights = engine::softmax(scores);
// wrong: Your weights have the shape (B, T). For matmul with the states (B, T, H) they need an axis of size 1 between B
//   and T: reshape them to (B, 1, T). Each string then has one row of T weights.
// - const Value weights = engine::softmax(engine::reshape(scores, {rows, 1, length}));
// + const Value weights = engine::softmax(engine::reshape(scores, {rows, length}));
// wrong: The tanh is missing. In v · (s w + key_j), the query adds the same number to every score of a row, and the
//   softmax cancels this number. So the query has no effect.
// - const Value scores = engine::matmul(engine::tanh(query + keys), v);
// + const Value scores = engine::matmul(query + keys, v);
// wrong: You use the scores as weights. Scores can be negative, and they need not sum to 1. Weights are positive and
//   sum to 1. Which op computes weights from scores?
// - const Value weights = engine::softmax(engine::reshape(scores, {rows, 1, length}));
// + const Value weights = engine::reshape(scores, {rows, 1, length});

//= judge
#include "core/ops/additive.hpp"
#include "core/ops/recurrent.hpp"
#include "lessons/grader/judge/engine.hpp"
#include "optim/clip.hpp"

namespace {

constexpr int kSymbols = 8, kStart = 0, kFirstLetter = 1;  // <start>, seven letters
constexpr int kWidth = 8, kHidden = 24, kRows = 16,
              kSteps = 900;  // width of E and A; of H; batch size; steps
constexpr double kRate = 0.02;

std::vector<std::vector<int>> shapes(int embedding, int hidden, int width) {
  std::vector<std::vector<int>> all{{kSymbols, embedding}, {kSymbols, embedding}};
  for (int cell = 0; cell < 2; ++cell) {
    for (int gate = 0; gate < 3; ++gate) {
      all.push_back({embedding, hidden});
      all.push_back({hidden, hidden});
      all.push_back({hidden});
    }
    all.push_back({hidden});
  }
  for (const std::vector<int>& shape : std::vector<std::vector<int>>{{hidden, width},
                                                                     {hidden, width},
                                                                     {width, 1},
                                                                     {hidden, embedding},
                                                                     {hidden, kSymbols},
                                                                     {hidden, kSymbols}})
    all.push_back(shape);
  return all;
}

std::vector<Array> first_weights(kit::Random& random, int embedding, int hidden, int width) {
  std::vector<Array> weights;
  for (const std::vector<int>& shape : shapes(embedding, hidden, width)) {
    weights.push_back(engine::filled(shape, 0));
    const double spread = shape[0] == kSymbols ? 1 : 1 / std::sqrt(shape[0]);
    for (double& w : weights.back().data)
      w = shape.size() == 2 ? random.normal() * spread : 0.1 * random.normal();
  }
  return weights;
}

struct Strings {
  std::vector<int> source, fed, wanted;
};

Strings draw(kit::Random& random, int rows, int length) {
  Strings strings;
  for (int row = 0; row < rows; ++row) {
    std::vector<int> letters;
    for (int i = 0; i < length; ++i)
      letters.push_back(kFirstLetter + static_cast<int>(random.below(kSymbols - kFirstLetter)));
    strings.source.insert(strings.source.end(), letters.begin(), letters.end());
    strings.wanted.insert(strings.wanted.end(), letters.rbegin(), letters.rend());
    strings.fed.push_back(kStart);
    strings.fed.insert(strings.fed.end(), letters.rbegin(), letters.rend() - 1);
  }
  return strings;
}

Model bound(engine::Tape& tape, const std::vector<Array>& weights, std::vector<Value>& leaves) {
  leaves.clear();
  for (const Array& weight : weights) leaves.push_back(tape.leaf(weight));
  return model_of(leaves);
}

double train_step(std::vector<Array>& weights, engine::Adam& adam, const Strings& strings, int rows) {
  engine::Tape tape;
  std::vector<Value> leaves;
  const Value logits = logits_of(bound(tape, weights, leaves), strings.source, strings.fed, rows);
  const int count = static_cast<int>(strings.wanted.size());
  const Value loss = engine::cross_entropy(engine::reshape(logits, {count, kSymbols}), strings.wanted);
  tape.backward(loss);
  std::vector<Array> gradients;
  double square = 0;
  for (const Value& leaf : leaves) {
    gradients.push_back(leaf.gradient());
    for (const double g : gradients.back().data) square += g * g;
  }
  for (Array& gradient : gradients)
    for (double& g : gradient.data) g *= std::min(1.0, 1 / (std::sqrt(square) + 1e-6));
  adam.step(weights, gradients);
  return loss.array().data[0];
}

/// A GRU step with Tapestry's fused ops, for the same translator. `w` has the order of shapes().
Tensor their_state(const std::vector<Tensor>& w, std::size_t first, const Tensor& x, const Tensor& h) {
  const Tensor &w_r = w[first], &u_r = w[first + 1], &b_r = w[first + 2], &w_z = w[first + 3],
               &u_z = w[first + 4], &b_z = w[first + 5], &w_n = w[first + 6], &u_n = w[first + 7],
               &b_n = w[first + 8], &c = w[first + 9];
  const Tensor gates = concat({matmul(x, w_r) + b_r, matmul(x, w_z) + b_z, matmul(x, w_n) + b_n}, 1);
  const Tensor none = zeros({2 * c.size(0)}, DType::f64);
  return gru_step(gates, h, concat({transpose(u_r), transpose(u_z), transpose(u_n)}, 0),
                  concat({none, c}, 0));
}

Tensor their_context(const Tensor& s, const Tensor& keys, const Tensor& states, const Tensor& w,
                     const Tensor& v) {
  const Tensor score = additive_score(unsqueeze(matmul(s, w), 1), keys, reshape(v, {v.size(0)}));
  return squeeze(matmul(softmax(score, -1), states), 1);
}

Indices column(const std::vector<int>& all, int rows, int t) {
  std::vector<std::int64_t> at;
  const int length = static_cast<int>(all.size()) / rows;
  for (int row = 0; row < rows; ++row) at.push_back(all[static_cast<std::size_t>(row * length + t)]);
  return {at, {rows}};
}

Tensor their_loss(const std::vector<Tensor>& w, const Strings& strings, int rows) {
  const int length = static_cast<int>(strings.source.size()) / rows;
  Tensor h = zeros({rows, w[22].size(0)}, DType::f64);
  std::vector<Tensor> steps, logits;
  for (int t = 0; t < length; ++t)
    steps.push_back(h = their_state(w, 2, tapestry::embedding(w[0], column(strings.source, rows, t)), h));
  const Tensor states = tapestry::stack(steps, 1), keys = matmul(states, w[22]);
  std::vector<std::int64_t> wanted(strings.wanted.begin(), strings.wanted.end());
  for (int t = 0; t < length; ++t) {
    const Tensor context = their_context(h, keys, states, w[23], w[24]);
    const Tensor said = tapestry::embedding(w[1], column(strings.fed, rows, t));
    h = their_state(w, 12, said + matmul(context, w[25]), h);
    logits.push_back(matmul(h, w[26]) + matmul(context, w[27]));
  }
  return tapestry::cross_entropy(tapestry::stack(logits, 1), Indices(wanted, {rows, length}));
}

/// Returns the percentage of strings that are completely right in free decoding, where each output letter is fed back.
double right_alone(const std::vector<Array>& weights, const Strings& strings, int rows) {
  const int length = static_cast<int>(strings.source.size()) / rows;
  std::vector<int> said(strings.source.size(), kStart);  // the letters after t have no effect yet
  for (int t = 0; t < length; ++t) {
    engine::Tape tape;
    std::vector<Value> leaves;
    const Array logits = logits_of(bound(tape, weights, leaves), strings.source, said, rows).array();
    for (int row = 0; row < rows; ++row) {
      const auto* at = logits.data.data() + (row * length + t) * kSymbols;
      const auto best = static_cast<int>(std::max_element(at, at + kSymbols) - at);
      if (t + 1 < length)
        said[static_cast<std::size_t>(row * length + t + 1)] = best;
      else if (best != strings.wanted[static_cast<std::size_t>(row * length + t)])
        said[static_cast<std::size_t>(row * length)] = -1;  // its last letter is wrong
    }
  }
  double right = 0;
  for (int row = 0; row < rows; ++row) {
    const auto from = row * length;
    right += said[static_cast<std::size_t>(from)] == kStart &&
             std::equal(said.begin() + from + 1, said.begin() + from + length, strings.wanted.begin() + from);
  }
  return 100 * right / rows;
}

}  // namespace

void judge(Judge& judge) {
  judge.claim("takes the same GRU step as Tapestry, with the same gradients", [&] {
    judge.each_size(
        {{"rows", 1, 3}, {"inputs", 1, 4}, {"units", 2, 3}},
        [&](const Sizes& n) {
          std::vector<Tensor> inputs{judge.normal({n[0], n[1]}), judge.normal({n[0], n[2]})};
          for (int gate = 0; gate < 3; ++gate)
            for (const Dims& shape : {Dims{n[1], n[2]}, Dims{n[2], n[2]}, Dims{n[2]}})
              inputs.push_back(judge.normal(shape));
          inputs.push_back(judge.normal({n[2]}));
          grader::agree<engine::Tape>(
              judge, inputs,
              [](const std::vector<Value>& v) {
                return next_state({v[2], v[3], v[4], v[5], v[6], v[7], v[8], v[9], v[10], v[11]}, v[0], v[1]);
              },
              [](const std::vector<Tensor>& v) { return their_state(v, 2, v[0], v[1]); });
        },
        {.f32 = false});
  });
  judge.claim("computes the same context as Tapestry, with the same gradients", [&] {
    judge.each_size({{"rows", 1, 3}, {"T", 1, 4}, {"units", 1, 3}, {"A", 1, 4}}, [&](const Sizes& n) {
      grader::agree<engine::Tape>(
          judge,
          {judge.normal({n[0], n[2]}), judge.normal({n[0], n[1], n[3]}), judge.normal({n[0], n[1], n[2]}),
           judge.normal({n[2], n[3]}), judge.normal({n[3], 1})},
          [](const std::vector<Value>& v) { return look_back(v[0], v[1], v[2], v[3], v[4]); },
          [](const std::vector<Tensor>& v) { return their_context(v[0], v[1], v[2], v[3], v[4]); });
    });
  });
  judge.claim("has the same losses as Tapestry, step by step", [&] {
    std::vector<Array> weights = first_weights(judge.random(), 4, 5, 3);
    std::vector<Tensor> theirs;
    for (const Array& weight : weights) theirs.push_back(variable(grader::tensor_of(weight)));
    engine::Adam adam{.rate = 0.01};
    tapestry::Adam same(theirs, {.learning_rate = 0.01});
    for (int step = 1; step <= 20; ++step) {
      const Strings strings = draw(judge.random(), 3, 4);
      const double came = train_step(weights, adam, strings, 3);
      tapestry::Tape tape;
      const Tensor loss = their_loss(theirs, strings, 3);
      tape.backward(loss);
      clip_gradients(theirs, 1.0);
      same.step();
      judge.same(came, loss.item(), "the loss at step " + std::to_string(step));
    }
  });
  judge.claim("writes strings of 8 letters backwards", [&] {
    std::vector<Array> weights = first_weights(judge.random(), kWidth, kHidden, kWidth);
    engine::Adam adam{.rate = kRate};
    for (int step = 0; step < kSteps; ++step) {
      adam.rate = kRate * std::min(1.0, 2.0 * (kSteps - step) / kSteps);
      train_step(weights, adam, draw(judge.random(), kRows, 8), kRows);
    }
    const double right = right_alone(weights, draw(judge.random(), 200, 8), 200);
    judge.between(right, 90, 100, "the percentage of strings that are completely right");
  });
}
