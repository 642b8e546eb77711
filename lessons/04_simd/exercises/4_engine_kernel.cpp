// 4.4 engine_kernel: a faster product for your engine
// speed, 30 minutes, limit 60 s, fast, piece kernel.hpp
//
// Your engine multiplies matrices one number at a time. Write C += A B for A (n, k), B (k, m), C (n, m), all row by row, at
// least three times as fast as the three loops in the order i, j, l with a sum that waits for itself; where the compiler
// helps you, twenty times is not rare.
//
// Lesson 04 has what it takes: an order of loops in which the innermost one runs along rows of B and C, so that the
// compiler sees vectors, and a block of C (4 rows, say) that is kept while a row of B is read once.
#include "engine/embedding.hpp"
#include "lessons/grader/answer.hpp"

namespace engine {

inline void multiply_fast(const double* a, const double* b, double* c, int n, int k, int m) {
  //[ about twelve lines
  //: not_written_yet();
  int i = 0;
  for (; i + 4 <= n; i += 4)  // each number of B that is read serves four rows of C
    for (int l = 0; l < k; ++l) {
      const double* from = a + i * k + l;  // column l of four rows of A
      const double a0 = from[0], a1 = from[k], a2 = from[2 * k], a3 = from[3 * k];
      const double* row = b + l * m;
      double* __restrict to =
          c + i * m;  // nothing else points there, so that the loop may be made of vectors
      for (int j = 0; j < m; ++j) {
        to[j] += a0 * row[j];
        to[m + j] += a1 * row[j];
        to[2 * m + j] += a2 * row[j];
        to[3 * m + j] += a3 * row[j];
      }
    }
  for (; i < n; ++i)  // the rows that are left
    for (int l = 0; l < k; ++l)
      for (int j = 0; j < m; ++j) c[i * m + j] += a[i * k + l] * b[l * m + j];
  //]
}

/// From here on matmul() uses it.
inline const bool fast = (kernel = &multiply_fast, true);

}  // namespace engine

// hint: Which of the indices i, j, l makes the addresses of B and C run one by one? That one belongs innermost.
// hint: For a fixed i and l: C[i, j] += A[i, l] · B[l, j] for all j. Nothing waits for anything there.
// hint: Take four rows i, i + 1, i + 2, i + 3 at once: four numbers of A in variables, one loop over j that adds to four
//   rows of C. Rows that are left over at the end go one by one.
//
// wrong: The rows that do not fill a block of four are left out: with n = 5 the last row stays as it was.
// - for (; i < n; ++i)
// + for (; i < 0; ++i)
// wrong: C is overwritten. It is C += A B: what stands there is kept, and the parts of every l are added.
// - to[j] += a0 * row[j];
// + to[j] = a0 * row[j];
// wrong: Four numbers of one row of A are taken for one number of four rows. The next row begins k numbers on.
// - const double a0 = from[0], a1 = from[k], a2 = from[2 * k], a3 = from[3 * k];
// + const double a0 = from[0], a1 = from[1], a2 = from[2], a3 = from[3];

//= judge
#include <chrono>

#include "lessons/grader/judge/engine.hpp"

namespace {

/// As the task says: in the order i, j, l.
void plain(const double* a, const double* b, double* c, int n, int k, int m) {
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < m; ++j) {
      double total = c[i * m + j];
      for (int l = 0; l < k; ++l) total += a[i * k + l] * b[l * m + j];
      c[i * m + j] = total;
    }
}

template <class F>
double seconds(const F& f) {
  double best = 1e9;
  for (int trial = 0; trial < 5; ++trial) {
    const auto begin = std::chrono::steady_clock::now();
    f();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  return best;
}

}  // namespace

void judge(Judge& judge) {
  judge.claim("adds A B to C for matrices of any size", [&] {
    judge.each_size({{"n", 1, 9}, {"k", 1, 5}, {"m", 1, 17}}, [&](const Sizes& n) {
      const Tensor a = judge.normal({n[0], n[1]}), b = judge.normal({n[1], n[2]}),
                   c = judge.normal({n[0], n[2]});
      std::vector<double> came = c.to_vector(), expected = came;
      const std::vector<double> x = a.to_vector(), y = b.to_vector();
      const auto size = [&](std::size_t i) { return static_cast<int>(n[i]); };
      engine::multiply_fast(x.data(), y.data(), came.data(), size(0), size(1), size(2));
      plain(x.data(), y.data(), expected.data(), size(0), size(1), size(2));
      judge.same(came, expected, "C, row by row");
    });
  });
  judge.claim("is at least three times as fast as three plain loops", [&] {
    constexpr int n = 384;
    const std::vector<double> a(n * n, 0.5), b(n * n, 0.25);
    std::vector<double> c(n * n, 0.0);
    const double slow = seconds([&] { plain(a.data(), b.data(), c.data(), n, n, n); });
    const double fast = seconds([&] { engine::multiply_fast(a.data(), b.data(), c.data(), n, n, n); });
    judge.example("384 × 384 × 384");
    judge.that(slow / fast >= 3,
               "It is " + std::to_string(slow / fast).substr(0, 4) +
                   " times as fast as the plain loops; three times is asked for. Which index runs "
                   "innermost, and does the compiler see that rows of B and C are read one by one?");
    judge.score(1000 * fast, "ms for 384 × 384 × 384");
  });
}
