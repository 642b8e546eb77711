// A language model in plain loops over doubles: embedding, blocks of self-attention with a residual, tied output.
// It shares no code with the library but for reading the weights.
#pragma once

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "core/io/state.hpp"
#include "tests/catch.hpp"
#include "tests/nn/on_paper.hpp"

namespace tapestry::testing {

using Rows = std::vector<Row>;  // (T, width)
/// Returns true if query i sees key j.
using Sees = std::function<bool(std::size_t i, std::size_t j)>;

/// Weights of one layer, by their names within it.
class Weights {
 public:
  Weights(const State& state, std::string prefix) : state_(state), prefix_(std::move(prefix)) {}
  Row operator()(const std::string& name) const { return state_.at(prefix_ + name).to_vector(); }

 private:
  const State& state_;
  std::string prefix_;
};

/// Returns x Wᵀ + b for a weight (out, in), with b if `bias` has a name.
inline Rows affine(const Rows& x, const Row& weight, const Row& bias = {}) {
  Rows out;
  for (const Row& row : x) {
    Row y(weight.size() / row.size());
    for (std::size_t o = 0; o < y.size(); ++o) {
      y[o] = bias.empty() ? 0 : bias[o];
      for (std::size_t i = 0; i < row.size(); ++i) y[o] += weight[o * row.size() + i] * row[i];
    }
    out.push_back(y);
  }
  return out;
}

inline double dot_of(const Row& a, const Row& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

/// Returns the components of head h, of width d.
inline Row head_of(const Row& x, std::size_t h, std::size_t d) {
  const auto first = x.begin() + static_cast<std::ptrdiff_t>(h * d);
  return {first, first + static_cast<std::ptrdiff_t>(d)};
}

/// Returns softmax weights of query i over the keys that it sees, 0 elsewhere; `rest` is added to the sum.
inline Row soft_weights(const Row& scores, std::size_t i, const Sees& sees, double rest = 0) {
  Row weights(scores.size());
  double sum = rest;
  for (std::size_t j = 0; j < scores.size(); ++j)
    if (sees(i, j)) sum += weights[j] = std::exp(scores[j]);
  for (double& weight : weights) weight = sum > 0 ? weight / sum : 0;
  return weights;
}

/// Adds head h of Σ_j weights[j] values[j] to `out`, where its components begin at `at`.
inline void add_mix(Row& out, std::size_t at, const Row& weights, const Rows& values, std::size_t h,
                    std::size_t d) {
  for (std::size_t j = 0; j < weights.size(); ++j)
    for (std::size_t u = 0; u < d; ++u) out[at + u] += weights[j] * values[j][h * d + u];
}

/// Parts of multi-head attention that an option of the blocks adds.
struct HeadParts {
  std::size_t heads = 2, kv_heads = 2, width = 4;
  bool gate = false, sink = false, norm = false;
  /// Changes a query or key at a position.
  std::function<void(Row&, std::size_t position)> turn = {};
  /// Returns the change of score s of head h, for the layer's inputs x.
  std::function<double(const Weights&, const Rows& x, std::size_t h, std::size_t i, std::size_t j)> bias = {};
};

inline Rows heads_by_loops(const Weights& w, const Rows& x, const Sees& sees, const HeadParts& parts) {
  const std::size_t d = parts.width;
  const Rows q = affine(x, w("query.weight"), w("query.bias")), k = affine(x, w("key.weight"), w("key.bias")),
             v = affine(x, w("value.weight"), w("value.bias"));
  const auto prepared = [&](const Row& row, std::size_t h, std::size_t position, const char* gain) {
    Row head = head_of(row, h, d);
    if (parts.norm) {
      const Row by = w(gain);
      const double root = std::sqrt(dot_of(head, head) / static_cast<double>(d) + 1e-5);
      for (std::size_t u = 0; u < d; ++u) head[u] *= by[u] / root;
    }
    if (parts.turn) parts.turn(head, position);
    return head;
  };
  Rows joined(x.size(), Row(parts.heads * d));
  for (std::size_t h = 0; h < parts.heads; ++h) {
    const std::size_t group = h / (parts.heads / parts.kv_heads);
    for (std::size_t i = 0; i < x.size(); ++i) {
      Row scores(x.size());
      const Row query = prepared(q[i], h, i, "query_norm.weight");
      for (std::size_t j = 0; j < x.size(); ++j) {
        if (!sees(i, j)) continue;
        scores[j] =
            dot_of(query, prepared(k[j], group, j, "key_norm.weight")) / std::sqrt(static_cast<double>(d));
        if (parts.bias) scores[j] += parts.bias(w, x, h, i, j);
      }
      const double rest = parts.sink ? std::exp(w("attention.sink")[h]) : 0;
      add_mix(joined[i], h * d, soft_weights(scores, i, sees, rest), v, group, d);
    }
  }
  if (parts.gate) {
    const Rows gates = affine(x, w("gate.weight"), w("gate.bias"));
    for (std::size_t i = 0; i < x.size(); ++i)
      for (std::size_t u = 0; u < joined[i].size(); ++u) joined[i][u] *= sigmoid_of(gates[i][u]);
  }
  return affine(joined, w("output.weight"), w("output.bias"));
}

}  // namespace tapestry::testing
