// Numbers in f64 from every floor, by which one target is held against another:
//
//     target_results write FILE                   on one target
//     target_results compare FILE TOLERANCE       on another: the largest difference, and whether it is small enough
//
// Equal results give equal files. Exit codes: 1 where a number is further apart than TOLERANCE times the largest of its
// tensor, 2 where something is wrong with the call or the file.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/attention/attend.hpp"
#include "core/core.hpp"
#include "core/io/safetensors.hpp"
#include "nn/seq2seq/seq2seq.hpp"
#include "nn/transformer/transformer.hpp"
#include "optim/adam.hpp"
#include "optim/clip.hpp"

using namespace tapestry;

namespace {

constexpr DType f64 = DType::f64;

Tensor normal(const Dims& shape, std::uint64_t seed) { return random_normal(shape, seed, f64); }

/// What an op gives, and its gradient with respect to x against one fixed direction.
void add(State& all, const std::string& name, const Tensor& x, const TensorFunction& f) {
  const Tensor y = f(x);
  all["op/" + name] = y;
  all["op/" + name + "/gradient"] = vjp(f, x, normal(y.shape(), 99));
}

// Sizes that no register divides, and that several threads share.
void ops(State& all) {
  const Tensor x = normal({131, 257}, 1), positive = random_uniform({131, 257}, 2, 0.01, 30, f64);
  const Tensor b = normal({257, 93}, 3), row = normal({257}, 4), other = normal({257}, 5);
  add(all, "matmul", x, [&](const Tensor& a) { return matmul(a, b); });
  add(all, "matmul_right", b, [&](const Tensor& a) { return matmul(x, a); });
  add(all, "div", positive, [&](const Tensor& a) { return x / a; });
  add(all, "exp", x, [](const Tensor& a) { return exp(a); });
  add(all, "log", positive, [](const Tensor& a) { return log(a); });
  add(all, "sqrt", positive, [](const Tensor& a) { return sqrt(a); });
  add(all, "tanh", x, [](const Tensor& a) { return tanh(a); });
  add(all, "sigmoid", x, [](const Tensor& a) { return sigmoid(a); });
  add(all, "sin", x, [](const Tensor& a) { return sin(a * 20); });
  add(all, "gelu", x, [](const Tensor& a) { return gelu(a); });
  add(all, "softplus", x, [](const Tensor& a) { return softplus(a); });
  add(all, "sum", x, [](const Tensor& a) { return sum(a, {1}); });
  add(all, "sum_of_columns", x, [](const Tensor& a) { return sum(a, {0}); });
  add(all, "var", x, [](const Tensor& a) { return var(a, {1}); });
  add(all, "cumsum", x, [](const Tensor& a) { return cumsum(a, 1); });
  add(all, "softmax", x, [](const Tensor& a) { return softmax(a, 1); });
  add(all, "logsumexp", x, [](const Tensor& a) { return logsumexp(a, {1}); });
  add(all, "sparsemax", x, [](const Tensor& a) { return sparsemax(a); });
  add(all, "layer_norm", x, [&](const Tensor& a) { return layer_norm(a, row, other); });

  const Tensor q = normal({2, 3, 70, 24}, 6), k = normal({2, 3, 70, 24}, 7), v = normal({2, 3, 70, 24}, 8);
  add(all, "attend", q, [&](const Tensor& a) { return attend(a, k, v); });
  add(all, "attend_causal", k,
      [&](const Tensor& a) { return attend(q, a, v, {.mask = BlockMask::causal(70, 70)}); });
  add(all, "attend_by_ops", v, [&](const Tensor& a) { return attend_by_ops(q, k, a); });
}

Indices ids(const Dims& shape, std::uint64_t count, std::uint64_t seed) {
  const Stream stream(seed, 1);
  std::vector<std::int64_t> values(static_cast<std::size_t>(shape.count()));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = 1 + static_cast<std::int64_t>(stream.below(count - 1, i));
  return Indices(values, shape);
}

constexpr std::uint64_t kSteps = 10;

/// Trains a model from random weights: the loss of each step, and the weights after the last.
void train(State& all, const std::string& name, Module& model,
           const std::function<Tensor(std::uint64_t)>& loss_of) {
  model.initialise(7, f64);
  for (const auto& [weight, value] : model.state())
    all["initial/" + name + "/" + weight] = value.detach() + 0;
  Adam adam(model.parameters());
  std::vector<double> losses;
  for (std::uint64_t step = 1; step <= kSteps; ++step) {
    set_random(3, step);
    Tape tape;
    const Tensor loss = loss_of(step);
    tape.backward(loss);
    clip_gradients(model.parameters(), 1.0);
    adam.step();
    losses.push_back(loss.item());
  }
  all["trained/" + name + "/losses"] = tensor(losses, {static_cast<Size>(losses.size())}, f64);
  for (const auto& [weight, value] : model.state()) all["trained/" + name + "/" + weight] = value;
}

void models(State& all) {
  Translator translator(TranslatorOptions{
      .encoder = {.vocabulary = 60, .embedding = 12, .hidden = 19, .dropout = 0.2},
      .decoder = {
          .vocabulary = 70, .embedding = 12, .hidden = 19, .attention = 15, .readout = 17, .dropout = 0.2}});
  train(all, "translator", translator, [&](std::uint64_t step) {
    const Tensor logits = translator(ids({8, 9}, 60, step), ValidLengths({9, 1, 4, 9, 7, 2, 5, 3}),
                                     ids({8, 7}, 70, step + 100));
    return cross_entropy(logits, ids({8, 7}, 70, step + 200), {.smoothing = 0.1, .ignore = 0});
  });
  // Without biases: one of keys changes no weight, and what it comes to is rounding alone.
  LanguageModel language(TransformerOptions{
      .vocabulary = 60, .layers = 2, .block = {.width = 24, .heads = 3, .bias = Bias::no}});
  train(all, "language_model", language, [&](std::uint64_t step) {
    return cross_entropy(language(ids({4, 33}, 60, step)), ids({4, 33}, 60, step + 1));
  });
}

struct Apart {
  double most = 0;    // of its tensor's largest number
  std::string where;  // that tensor
};

/// Throws where the two do not have the same tensors.
Apart difference(const State& ours, const SafeTensors& theirs) {
  if (ours.size() != theirs.tensors.size())
    throw Error(
        fmt::format("{} has {} tensors, and here are {}", theirs.where, theirs.tensors.size(), ours.size()));
  Apart result;
  for (const auto& [name, tensor] : ours) {
    const Tensor& other = theirs.at(name);
    if (other.shape() != tensor.shape()) throw Error(name + " has another shape in " + theirs.where);
    const std::vector<double> a = tensor.to_vector(), b = other.to_vector();
    double largest = 0, most = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (std::isfinite(b[i])) largest = std::max(largest, std::abs(b[i]));
      if (a[i] == b[i]) continue;
      const double apart = std::abs(a[i] - b[i]);
      most = std::max(most, std::isfinite(apart) ? apart : HUGE_VAL);  // NaN too
    }
    const double relative = largest > 0 ? most / largest : most;
    if (relative > result.most) result = {relative, name};
  }
  return result;
}

int run(const std::vector<std::string>& words) {
  State ours;
  ops(ours);
  models(ours);
  if (words[0] == "write") {
    write_safetensors(words[1], ours);
    return 0;
  }
  const double tolerance = std::atof(words[2].c_str());
  const Apart apart = difference(ours, read_safetensors(words[1]));
  std::printf("%zu tensors, at most %.2g apart%s%s (tolerance %g)\n", ours.size(), apart.most,
              apart.where.empty() ? "" : ", in ", apart.where.c_str(), tolerance);
  return apart.most <= tolerance ? 0 : 1;
}

}  // namespace

int main(int count, char** words) {
  const std::vector<std::string> given(words + 1, words + count);
  const bool writes = given.size() == 2 && given[0] == "write";
  const bool compares = given.size() == 3 && given[0] == "compare" && std::atof(given[2].c_str()) > 0;
  if (!writes && !compares) {
    std::fprintf(stderr, "target_results: say \"write FILE\" or \"compare FILE TOLERANCE\"\n");
    return 2;
  }
  try {
    return run(given);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "target_results: %s\n", error.what());
    return 2;
  }
}
