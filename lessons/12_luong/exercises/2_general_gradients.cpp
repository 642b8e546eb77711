// 12.2 general_gradients: the general score's way back
// derive, 20 minutes
//
// The general score of all queries with all keys is S = Q W Kᵀ for each string of a batch: queries
// (B, Tq, d), keys (B, Tk, m), w (d, m), scores (B, Tq, Tk). Given the loss's gradient G with respect to S,
// (B, Tq, Tk), write the three gradients that lead on from there:
//
//     ∂L/∂Q (B, Tq, d),    ∂L/∂W (d, m),    ∂L/∂K (B, Tk, m)
//
// Each from matmul, transpose and sum; the tape is not needed here. All strings use the same W.
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

// hint: For Y = A B you know both gradients: ∂L/∂A = G Bᵀ and ∂L/∂B = Aᵀ G. S = (Q W) Kᵀ: what are A and B?
// hint: ∂L/∂Q = G K ____, ∂L/∂K = Gᵀ Q ____. The shapes leave one way.
// hint: For W it is Qᵀ G K, (B, d, m). W is (d, m), and every string has used it.
//
// wrong: The queries' gradient goes through W and not through Wᵀ. With d = m no shape complains.
// - const Tensor queries_g = matmul(matmul(g, keys), transpose(w));
// + const Tensor queries_g = matmul(matmul(g, keys), w);
// wrong: The gradient of W has one part for each string. W is one matrix that all strings used, so what it
//   gets from them adds up.
// - const Tensor w_g = sum(matmul(transpose(queries), matmul(g, keys)), {0});
// + const Tensor w_g = matmul(transpose(queries), matmul(g, keys));
// wrong: The gradient of W is averaged over the strings. The loss is given as it is: if it has a mean in it,
//   G has it already.
// - const Tensor w_g = sum(matmul(transpose(queries), matmul(g, keys)), {0});
// + const Tensor w_g = mean(matmul(transpose(queries), matmul(g, keys)), {0});
// wrong: The gradient of W came out transposed, (m, d): Kᵀ Gᵀ Q. Its shape is W's.
// - const Tensor w_g = sum(matmul(transpose(queries), matmul(g, keys)), {0});
// + const Tensor w_g = sum(matmul(transpose(keys), matmul(transpose(g), queries)), {0});
// wrong: The keys' gradient lacks Gᵀ: row j of it collects from all queries, which are the rows of G, not its
//   columns. With as many queries as keys no shape complains.
// - const Tensor keys_g = matmul(transpose(g), matmul(queries, w));
// + const Tensor keys_g = matmul(g, matmul(queries, w));
// wrong: The keys' gradient is that of the dot score: W is missing. A key met the query times W.
// - const Tensor keys_g = matmul(transpose(g), matmul(queries, w));
// + const Tensor keys_g = matmul(transpose(g), queries);

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// Σ G · S, one product at a time.
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

/// The loss is linear in each number of x, so a step of 1 gives the derivative exactly.
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
  judge.claim("gives the derivatives where all sizes are 2", [&] {
    judge.example("batch 2, queries 2, keys 2, d 2, m 2");
    compare({2, 2, 2, 2, 2});
  });
  judge.claim("gives the derivatives that differences give, for any sizes", [&] {
    judge.each_size({{"batch", 1, 3}, {"queries", 1, 3}, {"keys", 1, 4}, {"d", 1, 3}, {"m", 1, 2}}, compare);
  });
}
