// Older units in which inputs multiply inputs, the predecessors of linear attention.
//
// An ordinary unit computes a weighted sum of its inputs, y = Σ w_i x_i. The weights are learned, and they are the
// same for all inputs. In attention, the weight of a value is computed from the words themselves. So inputs multiply
// inputs. This idea is much older than attention. Here are four units that use it, starting with the smallest, and
// then linear attention. Each takes a few ops.
#include "lessons/30_memory/multiplicative_interactions.hpp"

#include <fmt/format.h>

#include <array>
#include <vector>

#include "core/attention/linear_attend.hpp"
#include "core/check/gradcheck.hpp"
#include "core/core.hpp"
#include "lessons/kit/check/agreement.hpp"

namespace tapestry::lesson30 {
namespace {

// Multiplicative units multiply two weighted sums of the same inputs, y = (A x) ⊙ (B x). Each factor scales the
// other. An LSTM's gate is such a factor, with a sigmoid around the weighted sum. SwiGLU, in the feed-forward layers
// of current models, is a multiplicative unit, too.

/// x (B, n), a and b (m, n) → (B, m).
Tensor multiplicative(const Tensor& x, const Tensor& a, const Tensor& b) {
  return linear(x, a) * linear(x, b);
}

// Sigma-pi units (Rumelhart, Hinton and McClelland 1986) compute a sum (Σ) of products (Π) of some of the inputs:
// y = Σ_c w_c Π_{i in c} x_i. The groups c of inputs are fixed in advance. With inputs of +1 (false) and −1 (true),
// one product computes the exclusive or (XOR): x₁ x₂ is −1 if exactly one of the two is −1, and +1 otherwise. No
// weighted sum of x₁ and x₂ computes it.

/// x (B, n), weights (groups) → (B). A group is the indices of two inputs.
Tensor sigma_pi(const Tensor& x, const std::vector<std::array<Size, 2>>& groups, const Tensor& weights) {
  std::vector<Tensor> products;
  for (const auto& [i, j] : groups) products.push_back(select(x, -1, i) * select(x, -1, j));
  return sum(stack(products, -1) * weights, {-1});
}

// Higher-order units (Giles and Maxwell 1987) use all products, each with a separate weight. A unit of second order,
// y_k = Σ_ij w_kij x_i x_j, has n² weights, and a unit of third order has n³. A factored form has fewer weights: if
// w_kij = Σ_r c_kr a_ri b_rj, with r = 1 … R, then y = C ((A x) ⊙ (B x)). This form needs R multiplicative units.

/// x (B, n), weights (m, n, n) → (B, m).
Tensor second_order(const Tensor& x, const Tensor& weights) {
  const Size n = x.size(1);
  const Tensor products = unsqueeze(x, 2) * unsqueeze(x, 1);  // (B, n, n): x_i x_j
  return linear(reshape(products, {x.size(0), n * n}), reshape(weights, {weights.size(0), n * n}));
}

// A hypernetwork (Ha, Dai and Le 2017) computes the weights of another network. From z it computes a matrix W(z), and
// the other network applies W(z) to x. Here the hypernetwork is one linear layer, w_ij = Σ_k h_ijk z_k. So y_i = Σ_jk
// h_ijk x_j z_k, which is again a sum of products. Schmidhuber's fast weights (1992) do the same for sequences. At
// each step, a slow network changes the weights of a fast network by adding an outer product, k vᵀ.

/// x (B, n), z (B, p), hyper_weight (m · n, p) → (B, m).
Tensor hypernetwork(const Tensor& x, const Tensor& z, const Tensor& hyper_weight) {
  const Size n = x.size(1), m = hyper_weight.size(0) / n;
  const Tensor generated = reshape(linear(z, hyper_weight), {x.size(0), m, n});  // one matrix W(z) per row
  return squeeze(matmul(generated, unsqueeze(x, 2)), 2);
}

// Linear attention applies a linear layer to q. The weight matrix of this layer, Sᵀ = Σ_j v_j k_jᵀ, is computed from
// the words so far. So linear attention is a unit of third order: in y = Σ_j v_j (k_j · q), each term has three
// factors, and all three are computed from the inputs.

/// k (T, d), v (T, e), and the last word's q (d) → (e).
Tensor linear_attention_as_layer(const Tensor& k, const Tensor& v, const Tensor& q) {
  return squeeze(matmul(matmul(transpose(v), k), unsqueeze(q, 1)), 1);
}

template <class F>
void check(kit::Report& report, const char* name, const F& unit, const std::vector<Tensor>& inputs) {
  const GradcheckResult found = gradcheck(unit, inputs, {.tolerance = 1e-7});
  if (!found.ok()) fmt::print("{}", found.report());
  report.check(fmt::format("{}: gradcheck, {} derivatives", name, found.compared), found.ok());
}

}  // namespace

void check_multiplicative_interactions(std::uint64_t seed, kit::Report& report) {
  std::uint64_t stream = 100 * seed;
  const auto normal = [&stream](const Dims& shape) { return random_normal(shape, ++stream, DType::f64); };
  const Tensor x = normal({3, 4}), a = normal({5, 4}), b = normal({5, 4}), c = normal({2, 5}),
               z = normal({3, 2});
  const std::vector<std::array<Size, 2>> groups = {{0, 1}, {1, 2}, {0, 3}};

  check(report, "multiplicative", multiplicative, {x, a, b});
  check(report, "sigma-pi", [&](const Tensor& in, const Tensor& w) { return sigma_pi(in, groups, w); },
        {x, normal({3})});
  check(report, "second order", second_order, {x, normal({2, 4, 4})});
  check(report, "hypernetwork", hypernetwork, {x, z, normal({3 * 4, 2})});

  const Tensor corners = tensor({{1, 1}, {1, -1}, {-1, 1}, {-1, -1}}, DType::f64);
  const Tensor exclusive_or = tensor({1, -1, -1, 1}, DType::f64);
  const Tensor one = sigma_pi(corners, {{0, 1}}, ones({1}, DType::f64));
  // The best weighted sum is the one whose gradient, cornersᵀ (y − target), is 0. Here all its weights are 0.
  const Tensor pull = matmul(transpose(corners), unsqueeze(exclusive_or, 1));
  report.check("one product computes exclusive or, and the best weighted sum of the inputs is 0 · x",
               kit::largest(one - exclusive_or) == 0 && kit::largest(pull) == 0);

  const Tensor shared = reshape(matmul(c, reshape(unsqueeze(a, 2) * unsqueeze(b, 1), {5, 16})), {2, 4, 4});
  const double difference = kit::largest(second_order(x, shared) - linear(multiplicative(x, a, b), c));
  report.check("second order with shared weights equals multiplicative units, to 1e-12", difference < 1e-12);

  const Tensor q = normal({6, 4}), k = normal({6, 4}), v = normal({6, 3});
  const Tensor last = select(linear_attend(q, k, v).output, 0, 5);
  report.check("linear attention equals a layer with weights from the words, to 1e-12",
               kit::largest(last - linear_attention_as_layer(k, v, select(q, 0, 5))) < 1e-12);
}

}  // namespace tapestry::lesson30
