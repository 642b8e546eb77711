// 18.2 grouped_heads: Grouped-query attention
// implement, 15 minutes
//
// Grouped-query attention has H query heads, but only G key-value heads. H / G neighbouring heads
// of queries share one head of keys and values, their group. Counted from 0, head h uses group
// g = ⌊h / (H / G)⌋. Each head attends as usual: softmax(q_h k_gᵀ / √d) v_g.
//
// Write this attention for q (B, H, Tq, d), k (B, G, Tk, d) and v (B, G, Tk, d_v). Return (B, H, Tq, d_v). You
// can repeat keys and values with unsqueeze, expand and reshape, or compute the heads one by one with slice and
// concat.
#include "lessons/grader/answer.hpp"

Tensor attend_in_groups(const Tensor& q, const Tensor& k, const Tensor& v) {
  //[ about seven lines
  //: return not_written_yet();
  const Size batch = q.size(0), heads = q.size(1), groups = k.size(1), each = heads / groups;
  const auto repeat_kv = [&](const Tensor& x) {  // (B, G, Tk, …) → (B, H, Tk, …)
    const Dims wide = {batch, groups, each, x.size(2), x.size(3)};
    const Tensor repeated = expand(unsqueeze(x, 2), wide);  // each group `each` times in a row
    return reshape(repeated, {batch, heads, x.size(2), x.size(3)});
  };
  const double root = std::sqrt(static_cast<double>(q.size(3)));
  const Tensor scores = matmul(q, transpose(repeat_kv(k))) / root;  // (B, H, Tq, Tk)
  return matmul(softmax(scores, -1), repeat_kv(v));                 // (B, H, Tq, d_v)
  //]
}

// hint: With H = 4 and G = 2, which groups do the heads 0, 1, 2 and 3 use? In which order must the groups be
//   repeated?
// hint: unsqueeze(k, __) has the shape (B, G, 1, Tk, d). Expand it to (B, G, H / G, Tk, d), then reshape it to
//   (B, H, Tk, d).
// hint: The rest is ordinary attention with four axes. matmul and softmax(…, -1) work on the last two axes and
//   treat the others as batch axes.
//
// wrong: Your head h uses group h % G. So the heads use the groups in the order 0 1 0 1, but neighbours must
//   share a group: 0 0 1 1. A model that was trained with one order gives useless results with the other, and
//   no shape shows the mistake. With G = 1 or G = H, the two orders are the same.
// - const Dims wide = {batch, groups, each, x.size(2), x.size(3)};
// - const Tensor repeated = expand(unsqueeze(x, 2), wide);
// + const Dims wide = {batch, each, groups, x.size(2), x.size(3)};
// + const Tensor repeated = expand(unsqueeze(x, 1), wide);
// wrong: All heads use the first group. The keys and values of the other groups are never used, so their
//   gradient would be 0.
// - const Tensor repeated = expand(unsqueeze(x, 2), wide);
// + const Tensor repeated = expand(unsqueeze(slice(x, 1, 0, 1), 2), wide);
// wrong: The keys come from group ⌊h / (H / G)⌋, but the values come from group h % G. The weights computed
//   with a group's keys must average the values of the same group.
// - return matmul(softmax(scores, -1), repeat_kv(v));
// + const Dims other = {batch, each, groups, v.size(2), v.size(3)};
// + const Tensor values = reshape(expand(unsqueeze(v, 1), other), {batch, heads, v.size(2), v.size(3)});
// + return matmul(softmax(scores, -1), values);
// wrong: The scale is missing. With shared keys, too, a score is a sum of d products, so divide by √d.
// - const Tensor scores = matmul(q, transpose(repeat_kv(k))) / root;
// + const Tensor scores = matmul(q, transpose(repeat_kv(k)));

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// Computes one head after another in loops.
Tensor by_loops(const Tensor& q, const Tensor& k, const Tensor& v) {
  const Size heads = q.size(1), groups = k.size(1), keys = k.size(2), d = q.size(3);
  std::vector<double> result;
  for (Size b = 0; b < q.size(0); ++b)
    for (Size h = 0; h < heads; ++h)
      for (Size i = 0; i < q.size(2); ++i) {
        const Size g = h / (heads / groups);
        std::vector<double> weights;
        double whole = 0;
        for (Size j = 0; j < keys; ++j) {
          double score = 0;
          for (Size c = 0; c < d; ++c) score += q.at({b, h, i, c}) * k.at({b, g, j, c});
          weights.push_back(std::exp(score / std::sqrt(static_cast<double>(d))));
          whole += weights.back();
        }
        for (Size c = 0; c < v.size(3); ++c) {
          double mixture = 0;
          for (Size j = 0; j < keys; ++j)
            mixture += weights[static_cast<std::size_t>(j)] / whole * v.at({b, g, j, c});
          result.push_back(mixture);
        }
      }
  return tensor(result, {q.size(0), heads, q.size(2), v.size(3)}, DType::f64);
}

}  // namespace

void judge(Judge& judge) {
  judge.claim("lets four query heads share two key-value heads", [&] {
    const Tensor q = judge.normal({1, 4, 1, 2}), k = judge.normal({1, 2, 2, 2}),
                 v = judge.normal({1, 2, 2, 1});
    judge.example("one query, two keys, four heads in two groups, d = 2, d_v = 1");
    judge.same(attend_in_groups(q, k, v), by_loops(q, k, v), "the results of the heads");
  });
  judge.claim("attends correctly for other sizes, also with G = 1 and with G = H", [&] {
    judge.each_size({{"batch", 1, 2},
                     {"groups", 1, 3},
                     {"heads per group", 1, 3},
                     {"queries", 1, 3},
                     {"keys", 1, 4},
                     {"d", 1, 3},
                     {"d_v", 1, 3}},
                    [&](const Sizes& n) {
                      const Tensor q = judge.normal({n[0], n[1] * n[2], n[3], n[5]});
                      const Tensor k = judge.normal({n[0], n[1], n[4], n[5]});
                      const Tensor v = judge.normal({n[0], n[1], n[4], n[6]});
                      judge.same(attend_in_groups(q, k, v), by_loops(q, k, v), "the results of the heads");
                    });
  });
  judge.claim("passes gradcheck for queries, keys and values", [&] {
    judge.gradients(attend_in_groups,
                    {judge.normal({1, 4, 2, 3}), judge.normal({1, 2, 3, 3}), judge.normal({1, 2, 3, 2})});
  });
}
