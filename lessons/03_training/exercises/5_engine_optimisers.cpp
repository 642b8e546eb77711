// 3.5 engine_optimisers: SGD with momentum and Adam for your engine
// implement, 20 minutes, piece optimisers.hpp
//
// Now your engine learns. w is a weight, g is its gradient, and η is the learning rate. u, m and v start at 0:
//
//     SGD with momentum:  u ← μ u + g            w ← w − η u
//     Adam, step t:       m ← β₁ m + (1 − β₁) g    v ← β₂ v + (1 − β₂) g²
//                         w ← w − η (m / (1 − β₁ᵗ)) / (√(v / (1 − β₂ᵗ)) + ε)
//
// Write both for a single number. Adam divides by 1 − βᵗ because m and v start at 0 and are too small at first.
#include "engine/loss.hpp"
#include "lessons/grader/answer.hpp"

namespace engine {

/// Throws an error unless each weight has a gradient of its shape. A gradient is empty if the loss does not use the
/// weight, or if backward() has not run.
inline void need_gradients(const std::vector<Array>& weights, const std::vector<Array>& gradients) {
  bool fit = weights.size() == gradients.size();
  for (std::size_t k = 0; fit && k < weights.size(); ++k) fit = weights[k].shape == gradients[k].shape;
  if (!fit)
    throw std::invalid_argument(
        "step() needs one gradient for each weight, with the weight's shape and in the same order; check that the loss "
        "uses all weights and that backward() has run");
}

struct SGD {
  double rate = 0.1, momentum = 0.9;
  std::vector<std::vector<double>> velocity = {};  // one for each weight, created at the first step

  void step(std::vector<Array>& weights, const std::vector<Array>& gradients) {
    need_gradients(weights, gradients);
    velocity.resize(weights.size());
    for (std::size_t k = 0; k < weights.size(); ++k) {
      velocity[k].resize(weights[k].data.size(), 0.0);
      for (std::size_t i = 0; i < weights[k].data.size(); ++i) {
        double& w = weights[k].data[i];
        double& u = velocity[k][i];
        const double g = gradients[k].data[i];
        //[ two lines
        //: not_written_yet();
        u = momentum * u + g;  // the whole of g, without a factor 1 − μ
        w -= rate * u;
        //]
      }
    }
  }
};

struct Adam {
  double rate = 1e-3, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  std::vector<std::vector<double>> mean = {}, square = {};
  int t = 0;

  void step(std::vector<Array>& weights, const std::vector<Array>& gradients) {
    need_gradients(weights, gradients);
    mean.resize(weights.size());
    square.resize(weights.size());
    ++t;
    for (std::size_t k = 0; k < weights.size(); ++k) {
      mean[k].resize(weights[k].data.size(), 0.0);
      square[k].resize(weights[k].data.size(), 0.0);
      for (std::size_t i = 0; i < weights[k].data.size(); ++i) {
        double& w = weights[k].data[i];
        double &m = mean[k][i], &v = square[k][i];
        const double g = gradients[k].data[i];
        //[ about five lines
        //: not_written_yet();
        m = beta1 * m + (1 - beta1) * g;
        v = beta2 * v + (1 - beta2) * g * g;
        const double unbiased_m = m / (1 - std::pow(beta1, t));  // at t = 1 this is g itself
        const double unbiased_v = v / (1 - std::pow(beta2, t));
        w -= rate * unbiased_m / (std::sqrt(unbiased_v) + epsilon);
        //]
      }
    }
  }
};

}  // namespace engine

// hint: Both formulas are in the task. Which name in the code is which letter? u, m and v are references, so the
//   numbers that you assign to them are kept for the next step.
// hint: How long is Adam's first step? m / (1 − β₁) is g, and √(v / (1 − β₂)) is |g|. So the step is η · ____.
// hint: u = momentum · u + g; w −= rate · u. For Adam: m, then v, then their corrected values with
//   std::pow(beta1, t) and std::pow(beta2, t), then the step.
//
// wrong: You add (1 − μ) g, as Adam's mean does. With μ = 0.9 the steps are ten times too short. Momentum adds all
//   of g.
// - u = momentum * u + g;
// + u = momentum * u + (1 - momentum) * g;
// wrong: You multiply by η in the line of u. This makes no difference as long as η stays the same. But if a schedule
//   lowers η, u still contains steps with the old η.
// - u = momentum * u + g;
// - w -= rate * u;
// + u = momentum * u + rate * g;
// + w -= u;
// wrong: Your step goes up. The gradient points to where the loss grows, so the step must go against it.
// - w -= rate * u;
// + w += rate * u;
// wrong: You don't use the momentum. From the second step on, yours is a step of plain SGD.
// - w -= rate * u;
// + w -= rate * g;
// wrong: The first step is 3.16 times too long, because neither m nor v is corrected. For t = 1, compute the factors
//   1 − βᵗ by which both must be divided.
// - const double unbiased_m = m / (1 - std::pow(beta1, t));
// - const double unbiased_v = v / (1 - std::pow(beta2, t));
// + const double unbiased_m = m;
// + const double unbiased_v = v;
// wrong: You correct only m. v starts at 0 as well, and with β₂ = 0.999 it is a thousand times too small after the
//   first step.
// - const double unbiased_v = v / (1 - std::pow(beta2, t));
// + const double unbiased_v = v;
// wrong: You divide by 1 − β instead of 1 − βᵗ, so the correction never ends. It must fade as t grows.
// - const double unbiased_m = m / (1 - std::pow(beta1, t));
// - const double unbiased_v = v / (1 - std::pow(beta2, t));
// + const double unbiased_m = m / (1 - beta1);
// + const double unbiased_v = v / (1 - beta2);
// wrong: The root is missing. v is a mean of squares, so √v has the size of a gradient.
// - w -= rate * unbiased_m / (std::sqrt(unbiased_v) + epsilon);
// + w -= rate * unbiased_m / (unbiased_v + epsilon);
// wrong: You put ε under the root. With a gradient of 1e-6, the step is only a hundredth of the right one.
// - w -= rate * unbiased_m / (std::sqrt(unbiased_v) + epsilon);
// + w -= rate * unbiased_m / std::sqrt(unbiased_v + epsilon);

//= judge
#include "lessons/grader/judge/engine.hpp"

namespace {

/// Returns the weights of Tapestry's optimiser after one step with each of the gradients.
template <class Optimiser, class Options>
std::vector<double> tapestrys(const Tensor& start, const std::vector<Tensor>& gradients,
                              const Options& options) {
  const Tensor w = variable(start * 1.0);  // a copy, because steps change it in place
  Optimiser optimiser({w}, options);
  for (const Tensor& gradient : gradients) {
    Tape tape;
    tape.backward(sum(w * gradient));
    optimiser.step();
  }
  return w.to_vector();
}

}  // namespace

void judge(Judge& judge) {
  using engine::Array;
  judge.claim("takes the first steps of SGD", [&] {
    engine::SGD sgd{.rate = 0.5, .momentum = 0.9};
    std::vector<Array> w{{{1}, {2}}};
    sgd.step(w, {{{1}, {1}}});
    judge.example("w = 2, η = 0.5, μ = 0.9, and g = 1");
    judge.same(w[0].data, {1.5}, "w after one step");
    sgd.step(w, {{{1}, {1}}});
    judge.same(w[0].data, {0.55}, "w after a second step with g = 1");
    sgd.rate = 0.05;
    sgd.step(w, {{{1}, {1}}});
    judge.same(w[0].data, {0.4145}, "w after a third step with g = 1, now with η = 0.05");
  });
  judge.claim("takes the first steps of Adam", [&] {
    engine::Adam adam{.rate = 0.5};
    std::vector<Array> w{{{2}, {2, 2}}};
    adam.step(w, {{{2}, {4, -0.25}}});
    judge.example("w = (2, 2), η = 0.5, and g = (4, −0.25)");
    judge.same(w[0].data, {1.5, 2.5}, "w after one step", 1e-6);
    adam.step(w, {{{2}, {4, 0.25}}});
    judge.same(w[0].data, {1.0, 2.473684}, "w after a second step with g = (4, 0.25)", 1e-6);
    engine::Adam small{.rate = 1};
    std::vector<Array> tiny{{{1}, {0}}};
    small.step(tiny, {{{1}, {1e-6}}});
    judge.example("w = 0, η = 1, and g = 1e-6");
    judge.same(tiny[0].data, {-1e-6 / (1e-6 + 1e-8)}, "w after one step");
  });
  judge.claim("computes the same weights as Tapestry after several steps", [&] {
    judge.each_size({{"steps", 1, 6}, {"numbers", 1, 4}}, [&](const Sizes& n) {
      const Tensor a = judge.normal({n[1]}), b = judge.normal({2, n[1]});
      std::vector<Tensor> of_a, of_b;
      for (Size t = 0; t < n[0]; ++t) {
        of_a.push_back(judge.normal({n[1]}));
        of_b.push_back(judge.normal({2, n[1]}));
      }
      const auto ours = [&](auto optimiser) {
        std::vector<Array> w{grader::array_of<Array>(a), grader::array_of<Array>(b)};
        for (Size t = 0; t < n[0]; ++t) {
          const auto step = static_cast<std::size_t>(t);
          optimiser.step(w, {grader::array_of<Array>(of_a[step]), grader::array_of<Array>(of_b[step])});
        }
        return w;
      };
      const std::vector<Array> sgd = ours(engine::SGD{.rate = 0.1, .momentum = 0.8}),
                               adam = ours(engine::Adam{.rate = 0.01});
      const SGDOptions sgd_options{.learning_rate = 0.1, .momentum = 0.8};
      const AdamOptions adam_options{.learning_rate = 0.01};
      judge.same(sgd[0].data, tapestrys<tapestry::SGD>(a, of_a, sgd_options), "the first weight after SGD");
      judge.same(sgd[1].data, tapestrys<tapestry::SGD>(b, of_b, sgd_options), "the second weight after SGD");
      judge.same(adam[0].data, tapestrys<tapestry::Adam>(a, of_a, adam_options),
                 "the first weight after Adam");
      judge.same(adam[1].data, tapestrys<tapestry::Adam>(b, of_b, adam_options),
                 "the second weight after Adam");
    });
  });
}
