// 12.2 general_gradients: Gradients of the general score
// derive, 20 minutes
//
// For each string of a batch, the general score of all queries with all keys is S = Q W Kᵀ. The shapes are queries
// (B, Tq, d), keys (B, Tk, m), w (d, m) and scores (B, Tq, Tk). G is the gradient of the loss L with respect to S,
// (B, Tq, Tk). Compute three gradients from G:
//
//     ∂L/∂Q (B, Tq, d),    ∂L/∂W (d, m),    ∂L/∂K (B, Tk, m)
//
// Use matmul, transpose and sum, not the tape. All strings of the batch use the same W.
#include "lessons/grader/answer.hpp"

struct GeneralGradients {
  Tensor queries, w, keys;
};

GeneralGradients general_gradients(const Tensor& queries, const Tensor& w, const Tensor& keys,
                                   const Tensor& g) {
  //[ three or four lines
  //: return not_written_yet();
  const Tensor queries_g = matmul(matmul(g, keys), transpose(w));  // of Q in Q · (W Kᵀ): G (W Kᵀ)ᵀ
  const Tensor w_g = sum(matmul(transpose(queries), matmul(g, keys)), {0});  // Qᵀ G K, from each string
  const Tensor keys_g = matmul(transpose(g), matmul(queries, w));            // of K: Gᵀ (Q W)
  return {queries_g, w_g, keys_g};
  //]
}

// hint: For Y = A B you know both gradients: ∂L/∂A = G Bᵀ and ∂L/∂B = Aᵀ G. In S = (Q W) Kᵀ, what are A and B?
// hint: ∂L/∂Q = G K ____ and ∂L/∂K = Gᵀ Q ____. Only one choice fits the shapes.
// hint: For W, each string gives Qᵀ G K, so together (B, d, m). But W has the shape (d, m), and every string uses it.
//
// wrong: You multiplied the gradient of the queries by W, not by Wᵀ. If d = m, all shapes fit.
// - const Tensor queries_g = matmul(matmul(g, keys), transpose(w));
// + const Tensor queries_g = matmul(matmul(g, keys), w);
// wrong: Your gradient of W has one part per string. W is a single matrix that all strings use, so add up the parts.
// - const Tensor w_g = sum(matmul(transpose(queries), matmul(g, keys)), {0});
// + const Tensor w_g = matmul(transpose(queries), matmul(g, keys));
// wrong: You averaged the gradient of W over the strings. If the loss has a mean in it, G already accounts for it.
// - const Tensor w_g = sum(matmul(transpose(queries), matmul(g, keys)), {0});
// + const Tensor w_g = mean(matmul(transpose(queries), matmul(g, keys)), {0});
// wrong: Your gradient of W is transposed, (m, d): Kᵀ Gᵀ Q. It must have the shape of W.
// - const Tensor w_g = sum(matmul(transpose(queries), matmul(g, keys)), {0});
// + const Tensor w_g = sum(matmul(transpose(keys), matmul(transpose(g), queries)), {0});
// wrong: The gradient of the keys needs Gᵀ. Its row j adds up the contributions of all queries to key j. In G, the
//   queries are the rows. If there are as many queries as keys, all shapes fit.
// - const Tensor keys_g = matmul(transpose(g), matmul(queries, w));
// + const Tensor keys_g = matmul(g, matmul(queries, w));
// wrong: You computed the gradient of the keys for the dot score. W is missing: the score multiplies each key with Q W.
// - const Tensor keys_g = matmul(transpose(g), matmul(queries, w));
// + const Tensor keys_g = matmul(transpose(g), queries);

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// Computes Σ G · S, one product at a time.
double loss(const Tensor& queries, const Tensor& w, const Tensor& keys, const Tensor& g) {
  const std::vector<double> q = queries.to_vector(), m = w.to_vector(), k = keys.to_vector(),
                            c = g.to_vector();
  const auto at = [](const std::vector<double>& x, Size i) { return x[static_cast<std::size_t>(i)]; };
  const Size wide = w.size(0), high = w.size(1), asks = queries.size(1), has = keys.size(1);
  double total = 0;
  for (Size b = 0; b < queries.size(0); ++b)
    for (Size t = 0; t < asks; ++t)
      for (Size s = 0; s < has; ++s)
        for (Size i = 0; i < wide; ++i)
          for (Size j = 0; j < high; ++j)
            total += at(c, (b * asks + t) * has + s) * at(q, (b * asks + t) * wide + i) *
                     at(m, i * high + j) * at(k, (b * has + s) * high + j);
  return total;
}

/// Returns the derivatives of f. The loss is linear in each number of x, so a step of 1 gives them exactly.
Tensor differences(const Tensor& x, const std::function<double(const Tensor&)>& f) {
  std::vector<double> values = x.to_vector(), slopes;
  const double here = f(x);
  for (double& value : values) {
    value += 1;
    slopes.push_back(f(tensor(values, x.shape(), DType::f64)) - here);
    value -= 1;
  }
  return tensor(slopes, x.shape(), DType::f64);
}

}  // namespace

void judge(Judge& judge) {
  const auto compare = [&](const Sizes& n) {
    const Tensor q = judge.normal({n[0], n[1], n[3]}), w = judge.normal({n[3], n[4]});
    const Tensor k = judge.normal({n[0], n[2], n[4]}), g = judge.normal({n[0], n[1], n[2]});
    const GeneralGradients came = general_gradients(q, w, k, g);
    judge.same(came.queries, differences(q, [&](const Tensor& x) { return loss(x, w, k, g); }),
               "the queries' gradient");
    judge.same(came.w, differences(w, [&](const Tensor& x) { return loss(q, x, k, g); }), "W's gradient");
    judge.same(came.keys, differences(k, [&](const Tensor& x) { return loss(q, w, x, g); }),
               "the keys' gradient");
  };
  judge.claim("computes the derivatives where all sizes are 2", [&] {
    judge.example("batch 2, queries 2, keys 2, d 2, m 2");
    compare({2, 2, 2, 2, 2});
  });
  judge.claim("agrees with finite differences for any sizes", [&] {
    judge.each_size({{"batch", 1, 3}, {"queries", 1, 3}, {"keys", 1, 4}, {"d", 1, 3}, {"m", 1, 2}}, compare);
  });
}
