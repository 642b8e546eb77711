// Measurements of gradient estimates: their bias, their variance, and the cells that they need.
#include "lessons/27_hard/estimators.hpp"

#include <algorithm>
#include <cmath>

#include "lessons/27_hard/hard_attention.hpp"
#include "lessons/kit/check/agreement.hpp"
#include "lessons/kit/check/by_hand.hpp"
#include "nn/attention/hard.hpp"

namespace tapestry::lesson27 {

namespace {

constexpr DType f64 = DType::f64;

/// Maps scores (B, cells) and the answers for each cell, logits (cells, symbols), to a loss for each row.
using Estimator = std::function<Tensor(const Tensor& scores, const Tensor& logits)>;

Tensor losses_of(const SingleQuestion& question, const Tensor& logits) {
  const std::vector<std::int64_t> wanted(static_cast<std::size_t>(logits.size(0)),
                                         question.answer.to_vector().front());
  return cross_entropy(logits, Indices(wanted, {logits.size(0)}), {.reduce = Reduce::none});
}

Estimator by_draw(const SingleQuestion& question, double baseline) {
  return [&question, baseline](const Tensor& scores, const Tensor& logits) {
    const Choice choice = choose(scores);
    return score_function_loss(losses_of(question, embedding(logits, choice.keys)), choice.log_probability,
                               baseline);
  };
}

Estimator by_noise(const SingleQuestion& question, double tau, GumbelKind kind) {
  return [&question, weigh = gumbel_softmax(tau, kind)](const Tensor& scores, const Tensor& logits) {
    return losses_of(question, matmul(weigh(scores, {}), logits));
  };
}

/// Each row makes its own draw, so one backward pass returns as many estimates as rows: (draws, cells).
Tensor estimates(const SingleQuestion& question, const Tensor& logits, const Estimator& estimator, Size draws,
                 std::uint64_t seed) {
  set_random(seed);
  const Tensor scores = variable(expand(question.scores, {draws, kCells}));
  Tape tape;
  tape.backward(sum(estimator(scores, logits)));
  return scores.grad();
}

}  // namespace

EstimateMoments of_two_cells(const ByDraw& estimate, const std::vector<double>& losses, double baseline) {
  const std::vector<double> p = {0.25, 0.75};
  EstimateMoments found{};
  for (const std::int64_t a : {0, 1}) {
    const auto cell = static_cast<std::size_t>(a);
    const Tensor scores = variable(log(tensor(p, {1, 2}, f64)));
    Tape tape;
    tape.backward(sum(estimate(scores, Indices{a}, tensor({losses[cell]}, f64), baseline)));
    const double drawn = found.drawn[a] = scores.grad().at({0, 0});
    found.mean += p[cell] * drawn;
    found.variance += p[cell] * drawn * drawn;
  }
  found.variance -= found.mean * found.mean;
  return found;
}

void check_all(kit::Report& report, const ByDraw& estimate, const ByNoise& soft, const ByNoise& straight,
               std::uint64_t seed) {
  constexpr double kTau = 0.7, kBaseline = 0.5;
  const Tensor scores = variable(random_normal({4, 5}, seed, f64), "scores"),
               losses = random_normal({4}, seed + 1, f64);
  set_random(seed);
  const Tensor noise = gumbel_noise({4, 5}, next_stream(), f64);
  const Indices drawn = argmax(scores.detach() + noise);
  const auto of_nn = [&](GumbelKind kind) {
    set_random(seed);
    return gumbel_softmax(kTau, kind)(scores, {});
  };
  kit::check_by_hand(
      report, "REINFORCE", [&] { return estimate(scores, drawn, losses, kBaseline); },
      [&] {
        set_random(seed);
        return score_function_loss(losses, choose(scores).log_probability, kBaseline);
      },
      {scores}, seed);
  const auto soft_by_hand = [&] { return soft(scores, noise, kTau); };
  kit::check_by_hand(
      report, "Gumbel-softmax", soft_by_hand, [&] { return of_nn(GumbelKind::soft); }, {scores}, seed);
  const auto by_hand = [&] { return straight(scores, noise, kTau); };
  const auto by_nn = [&] { return of_nn(GumbelKind::straight_through); };
  const Tensor one = one_hot(drawn, 5, f64);
  const auto wanted = kit::gradients(soft_by_hand, {scores}, seed);
  report.check("straight-through: one-hot value, gradient of the soft form; equal to nn/'s",
               kit::farthest({by_hand(), by_nn()}, {one, one}) == 0 &&
                   kit::farthest(kit::gradients(by_hand, {scores}, seed), wanted) < 1e-12 &&
                   kit::farthest(kit::gradients(by_nn, {scores}, seed), wanted) < 1e-12);
}

SingleQuestion single_question(std::uint64_t seed) {
  kit::Random random(seed, 5'000'000);  // a separate stream
  const std::int64_t target_cell = random.below(kCells), answer = random.below(kSymbols);
  std::vector<double> scores;
  std::vector<std::int64_t> symbols;
  for (Size cell = 0; cell < kCells; ++cell) {
    scores.push_back(0.5 * random.normal());
    const std::int64_t other = (answer + 1 + random.below(kSymbols - 1)) % kSymbols;
    symbols.push_back(cell == target_cell ? answer : other);
  }
  SingleQuestion question;
  question.scores = tensor(scores, {kCells}, f64);
  question.logits = 4.0 * one_hot(Indices(symbols, {kCells}), kSymbols, f64);
  question.answer = Indices{answer};
  question.losses = losses_of(question, question.logits);
  const Tensor p = softmax(question.scores, -1);
  question.expected = sum(p * question.losses).item();
  question.gradient = p * (question.losses - question.expected);
  return question;
}

EstimatorQualities measure(const SingleQuestion& question, Size draws, std::uint64_t seed) {
  const double size = sum(question.gradient * question.gradient).item();
  const auto quality = [&](const char* name, const Estimator& estimator) {
    const Tensor all = estimates(question, question.logits, estimator, draws, seed),
                 spread = var(all, {0}, 1);
    const Tensor apart = mean(all, {0}) - question.gradient,
                 error = sqrt(spread / static_cast<double>(draws));
    return Quality{name, sum(spread).item() / size, 100 * std::sqrt(sum(apart * apart).item() / size),
                   max(abs(apart) / error).item()};
  };
  const auto straight = [&](double tau) { return by_noise(question, tau, GumbelKind::straight_through); };
  const auto soft = [&](double tau) { return by_noise(question, tau, GumbelKind::soft); };
  return {quality("REINFORCE, no baseline", by_draw(question, 0)),
          quality("REINFORCE, baseline", by_draw(question, question.expected)),
          quality("straight-through, τ = 0.1", straight(0.1)),
          quality("straight-through, τ = 1", straight(1)),
          quality("Gumbel-softmax, τ = 0.1", soft(0.1)),
          quality("Gumbel-softmax, τ = 1", soft(1))};
}

double exact_variance(const SingleQuestion& question, double offset) {
  const std::vector<double> p = softmax(question.scores, -1).to_vector(),
                            losses = question.losses.to_vector(), gradient = question.gradient.to_vector();
  double squares = 0, size = 0;
  for (std::size_t a = 0; a < p.size(); ++a)
    for (std::size_t k = 0; k < p.size(); ++k) {
      const double estimate = (losses[a] + offset) * ((a == k ? 1 : 0) - p[k]);
      squares += p[a] * estimate * estimate;
    }
  for (const double g : gradient) size += g * g;
  return squares / size - 1;
}

DependsOnOthers depends_on_other_cells(const SingleQuestion& question, std::uint64_t seed) {
  set_random(seed);
  const Tensor drawn =
      choose(expand(question.scores, {1, kCells})).weights;  // every estimate with this seed draws this cell
  const Tensor mine = transpose(drawn);                      // (cells, 1)
  const Tensor others = random_normal(question.logits.shape(), seed, f64);
  const Tensor changed = mine * question.logits + (1 - mine) * others;
  const auto changes = [&](const Estimator& estimator) {
    return kit::farthest({estimates(question, question.logits, estimator, 1, seed)},
                         {estimates(question, changed, estimator, 1, seed)}) > 0;
  };
  return {changes(by_draw(question, question.expected)),
          changes(by_noise(question, 1, GumbelKind::straight_through))};
}

}  // namespace tapestry::lesson27
