// 1.6 engine_matmul: Matrix products for your engine
// derive, 25 minutes, piece matmul.hpp
//
// This exercise adds matrix products to your engine: y = a b, with a of shape (…, n, k) and b of shape (…, k, m). A
// batch of matrices may also be multiplied by a single matrix, for example a (…, n, k) by b (k, m). The function
// product() computes all of these products, and can transpose a or b first.
//
// Write the rule. The chapter derives it for two matrices: y_ij = Σ_l a_il b_lj, so the gradient of a_il is
// Σ_j (∂L/∂y_ij) ____, where L is the loss. Use product(), so that the rule works for batches, too. If one matrix was
// multiplied by every matrix of a batch, its gradient is a sum over the batch. sum_to() from exercise 1.5 computes it.
#include "engine/broadcast.hpp"
#include "lessons/grader/answer.hpp"

namespace engine {

/// Computes c (n, m) += a (n, k) · b (k, m), row by row. Exercise 4.4 replaces it with a faster function.
inline void multiply_rows(const double* a, const double* b, double* c, int n, int k, int m) {
  for (int i = 0; i < n; ++i)
    for (int l = 0; l < k; ++l)
      for (int j = 0; j < m; ++j) c[i * m + j] += a[i * k + l] * b[l * m + j];
}
inline auto* kernel = &multiply_rows;

/// Exchanges the last two axes.
inline Array transposed(const Array& x) {
  Array y = x;
  const auto axes = x.shape.size();
  const int n = x.shape[axes - 2], m = x.shape[axes - 1];
  std::swap(y.shape[axes - 2], y.shape[axes - 1]);
  for (std::size_t begin = 0; begin < x.data.size(); begin += static_cast<std::size_t>(n * m))
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < m; ++j)
        y.data[begin + static_cast<std::size_t>(j * n + i)] =
            x.data[begin + static_cast<std::size_t>(i * m + j)];
  return y;
}

enum class Transposed { no, yes };

/// Returns a b, aᵀ b or a bᵀ for (…, n, k) and (…, k, m), the shapes after transposing. Batch axes come from a, or from
/// b if b has more axes.
inline Array product(const Array& a_given, const Array& b_given, Transposed a_is = Transposed::no,
                     Transposed b_is = Transposed::no) {
  const Array a = a_is == Transposed::yes ? transposed(a_given) : a_given;
  const Array b = b_is == Transposed::yes ? transposed(b_given) : b_given;
  const int n = a.shape[a.shape.size() - 2], k = a.shape.back(), m = b.shape.back();
  std::vector<int> shape = a.shape.size() < b.shape.size() ? b.shape : a.shape;
  shape[shape.size() - 2] = n;
  shape.back() = m;
  Array c = filled(shape, 0);
  const std::size_t step_a = a.shape.size() > 2 ? static_cast<std::size_t>(n * k) : 0,
                    step_b = b.shape.size() > 2 ? static_cast<std::size_t>(k * m) : 0;
  const std::size_t size = static_cast<std::size_t>(n * m);
  for (std::size_t i = 0; i * size < c.data.size(); ++i)
    kernel(a.data.data() + i * step_a, b.data.data() + i * step_b, c.data.data() + i * size, n, k, m);
  return c;
}

inline Value matmul(const Value& x, const Value& y) {
  const Array a = x.array(), b = y.array();
  const Rule rule = [a, b](const Array& gradient) -> std::vector<Array> {
    //[ the gradients of a and of b, in two or three lines
    //: return not_written_yet();
    const Array of_a = product(gradient, b, Transposed::no, Transposed::yes);  // Σ_j g_ij b_lj: (n, m) (m, k)
    const Array of_b = product(a, gradient, Transposed::yes);  // Σ_i a_il g_ij: (k, n) (n, m)
    return {sum_to(of_a, a.shape), sum_to(of_b, b.shape)};
    //]
  };
  return x.tape->record(product(a, b), {x, y}, rule);
}

/// Exchanges the last two axes. The rule exchanges them back.
inline Value transpose(const Value& x) {
  return x.tape->record(transposed(x.array()), {x},
                        [](const Array& gradient) { return std::vector{transposed(gradient)}; });
}

}  // namespace engine

// hint: a_il occurs in y_i0, y_i1, …, y_i(m−1), each time with one element of b as its factor. Which element?
// hint: ∂L/∂a_il = Σ_j g_ij b_lj. The sum is over the last index of both g and b, so one of them must be transposed.
//   ∂L/∂b_lj = Σ_i a_il g_ij is a sum over the first index of both a and g.
// hint: The shapes leave one choice. The gradient of a is (n, k), computed from g (n, m) and b (k, m). Try n = 1,
//   k = 2, m = 3 on paper. At the end: return {sum_to(…, a.shape), sum_to(…, b.shape)}.
//
// wrong: The factors for the gradient of b are in the wrong order. gᵀ a is the transpose of the right gradient, and has
//   the right shape only if k = m. In Σ_i a_il g_ij, the index l comes first.
// - const Array of_b = product(a, gradient, Transposed::yes);
// + const Array of_b = product(gradient, a, Transposed::yes);
// wrong: You don't transpose b for the gradient of a. If n = k = m the shapes fit, but the numbers are wrong. In
//   Σ_j g_ij b_lj, the sum is over the second index of b.
// - const Array of_a = product(gradient, b, Transposed::no, Transposed::yes);
// + const Array of_a = product(gradient, b);
// wrong: If b is multiplied by every matrix of a batch, of_b has batch axes, and b has none. b changes every product of
//   the batch. How must the gradients from the batch be combined? (See exercise 1.5.)
// - return {sum_to(of_a, a.shape), sum_to(of_b, b.shape)};
// + return {of_a, of_b};
// wrong: If a is multiplied by every matrix b of a batch, of_a has batch axes, too. Use sum_to() for both gradients.
// - return {sum_to(of_a, a.shape), sum_to(of_b, b.shape)};
// + return {of_a, sum_to(of_b, b.shape)};

//= judge
#include "lessons/grader/judge/engine.hpp"

void judge(Judge& judge) {
  using engine::Tape, engine::Value;
  judge.claim("has the right rule for a 2 × 2 product", [&] {
    Tape tape;
    const Value a = tape.leaf({{2, 2}, {1, 2, 3, 4}}), b = tape.leaf({{2, 2}, {5, 6, 7, 8}});
    const Value weighted = engine::matmul(a, b) * tape.leaf({{2, 2}, {1, 10, 100, 1000}});
    tape.backward(weighted);
    judge.example(
        "a = ((1, 2), (3, 4)), b = ((5, 6), (7, 8)), and the rule receives the gradient ((1, 10), (100, 1000))");
    judge.same(a.gradient().data, {65, 87, 6500, 8700}, "the gradient of a");
    judge.same(b.gradient().data, {301, 3010, 402, 4020}, "the gradient of b");
  });
  const auto ours = [](const std::vector<Value>& in) { return engine::matmul(in[0], in[1]); };
  const auto theirs = [](const std::vector<Tensor>& in) { return tapestry::matmul(in[0], in[1]); };
  judge.claim("computes the same values and gradients as Tapestry for two matrices", [&] {
    judge.each_size({{"n", 1, 4}, {"k", 1, 3}, {"m", 1, 5}}, [&](const Sizes& n) {
      grader::agree<Tape>(judge, {judge.normal({n[0], n[1]}), judge.normal({n[1], n[2]})}, ours, theirs);
    });
  });
  judge.claim("does so for batches, also if one matrix serves a whole batch", [&] {
    judge.each_size({{"matrices", 1, 3}, {"n", 1, 3}, {"k", 1, 3}, {"m", 1, 2}}, [&](const Sizes& n) {
      grader::agree<Tape>(judge, {judge.normal({n[0], n[1], n[2]}), judge.normal({n[2], n[3]})}, ours,
                          theirs);
      grader::agree<Tape>(judge, {judge.normal({n[0], n[1], n[2]}), judge.normal({n[0], n[2], n[3]})}, ours,
                          theirs);
      grader::agree<Tape>(judge, {judge.normal({n[1], n[2]}), judge.normal({n[0], n[2], n[3]})}, ours,
                          theirs);
    });
  });
}
