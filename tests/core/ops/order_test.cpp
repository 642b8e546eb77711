// Order with equal elements and NaN, and ids from numbers: by a plain stable sort.
#include "core/ops/order.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/ops/arithmetic.hpp"
#include "core/ops/join.hpp"
#include "core/ops/pointwise.hpp"
#include "core/ops/reduce.hpp"
#include "core/ops/views.hpp"
#include "core/tape/tape.hpp"
#include "core/tensor/create.hpp"
#include "core/tensor/random.hpp"
#include "tests/catch.hpp"
#include "tests/message_of.hpp"
#include "tests/not_finite.hpp"

using namespace tapestry;
using Catch::Matchers::ContainsSubstring;
using test::kInf;
using test::kNaN;
using Ids = std::vector<std::int64_t>;
using Bits = std::vector<bool>;

namespace {

/// Few values, so that many are equal, with NaN and infinities among them.
std::vector<double> coarse(Size count, std::uint64_t seed) {
  const std::vector<double> all{-kInf, -1, -0.0, 0.0, 2, kInf, kNaN};
  std::vector<double> values;
  for (Size i = 0; i < count; ++i)
    values.push_back(all[Stream(seed, 5).below(all.size(), static_cast<std::uint64_t>(i))]);
  return values;
}

/// The indices of a row in order: a stable sort by a key that puts NaN last.
Ids stable(const std::vector<double>& row, bool up) {
  const auto key = [](double x) { return std::isnan(x) ? std::pair{1, 0.0} : std::pair{0, x}; };
  Ids ids(row.size());
  std::iota(ids.begin(), ids.end(), std::int64_t{0});
  std::stable_sort(ids.begin(), ids.end(), [&](std::int64_t a, std::int64_t b) {
    const auto x = key(row[static_cast<std::size_t>(a)]), y = key(row[static_cast<std::size_t>(b)]);
    return up ? x < y : y < x;
  });
  return ids;
}

}  // namespace

TEST_CASE("sort, argsort and topk keep equal elements in order, and NaN is the largest") {
  for (const DType dtype : {DType::f32, DType::f64})
    for (const Size n : {0, 1, 2, 5, 16, 17, 40, 700}) {
      const std::vector<double> values = coarse(6 * n, static_cast<std::uint64_t>(n));
      const Tensor x = tensor(values, {6, n}, dtype);
      for (const bool up : {true, false}) {
        const SortOrder order = up ? SortOrder::ascending : SortOrder::descending;
        Ids wanted, first;
        const Size k = n / 3;
        for (Size row = 0; row < 6; ++row) {
          const Ids ids = stable({values.begin() + row * n, values.begin() + (row + 1) * n}, up);
          wanted.insert(wanted.end(), ids.begin(), ids.end());
          first.insert(first.end(), ids.begin(), ids.begin() + k);
        }
        CAPTURE(n, up);
        CHECK(argsort(x, -1, order).to_vector() == wanted);
        CHECK(sort(x, 1, order).indices.to_vector() == wanted);
        const Ordered top = topk(x, k, -1, order);
        CHECK(top.indices.to_vector() == first);
        CHECK(top.values.shape() == Dims{6, k});
        // Along the other axis, of a view.
        CHECK(argsort(transpose(x), 0, order).shape() == Dims{n, 6});
        if (n > 0) CHECK(equal(to_indices(gather(zeros({6, n}), 1, argsort(x, 1, order))), 0).all());
        const Ids turned = argsort(transpose(x), 0, order).to_vector();
        for (Size row = 0; row < 6; ++row)
          for (Size j = 0; j < n; ++j)
            REQUIRE(turned[static_cast<std::size_t>(j * 6 + row)] ==
                    wanted[static_cast<std::size_t>(row * n + j)]);
      }
    }
}

TEST_CASE("argmin and argmax along any axis are the first of equals; the first NaN is both") {
  const Tensor x = tensor({{3, 1, 2}, {0, 1, 5}, {3, 0, 5}});
  CHECK(argmin(x).to_vector() == Ids{1, 0, 1});
  CHECK(argmin(x, 0).to_vector() == Ids{1, 2, 0});
  CHECK(argmax(x, 0).to_vector() == Ids{0, 0, 1});
  CHECK(argmax(x, -1).to_vector() == Ids{0, 2, 2});
  const Tensor odd = tensor({kNaN, -kInf, kNaN}, DType::f64);
  CHECK(argmin(odd).to_vector() == Ids{0});
  CHECK(argmax(odd).to_vector() == Ids{0});
  CHECK(argmin(zeros({2, 1, 3}), 1).shape() == Dims{2, 3});
  CHECK_THAT(test::message_of([] {
               argmin(zeros({2, 0}));
             }),
             ContainsSubstring("[argmin] axis -1 of (2,0) must not be empty"));
  CHECK_THAT(test::message_of([] { argmin(zeros({2}), 1); }), ContainsSubstring("[argmin] axis 1"));
}

TEST_CASE("to_indices takes whole numbers, and names the first other one") {
  const Indices ids = to_indices(tensor({{0, 7}, {-3, 1e6}}));
  CHECK(ids.shape() == Dims{2, 2});
  CHECK(ids.to_vector() == Ids{0, 7, -3, 1'000'000});
  CHECK(to_indices(zeros({0})).count() == 0);
  CHECK(to_indices(transpose(tensor({{1, 2}, {3, 4}}))).to_vector() == Ids{1, 3, 2, 4});
  for (const double wrong : {0.5, kNaN, kInf, 1e16})
    CHECK_THAT(test::message_of([&] {
                 to_indices(tensor({1, wrong}, DType::f64));
               }),
               ContainsSubstring("at index (1) of (2) must be a whole number of at most 2^53; use floor()"));
}

TEST_CASE("comparisons are false for NaN, for every number of elements") {
  for (const DType dtype : {DType::f32, DType::f64})
    for (const Size n : {1, 7, 8, 33}) {
      const std::vector<double> x = coarse(n, 1), y = coarse(n, 2);
      const Tensor a = tensor(x, {n}, dtype), b = tensor(y, {n}, dtype);
      Bits l, le, g, ge, e;
      for (std::size_t i = 0; i < x.size(); ++i) {
        l.push_back(x[i] < y[i]), le.push_back(x[i] <= y[i]), e.push_back(x[i] == y[i]);
        g.push_back(x[i] > y[i]), ge.push_back(x[i] >= y[i]);
      }
      CHECK(less(a, b).to_vector() == l);
      CHECK(less_equal(a, b).to_vector() == le);
      CHECK(greater(a, b).to_vector() == g);
      CHECK(greater_equal(a, b).to_vector() == ge);
      CHECK(equal(a, b).to_vector() == e);
    }
}

TEST_CASE("the derivatives of prod are right with none, one and two zeros") {
  for (const std::vector<double>& x : {std::vector<double>{2, 3, 4}, {2, 0, 4}, {0, 3, 0}, {0, 0, 0}}) {
    const Tensor leaf = variable(tensor(x, {3}, DType::f64));
    Tape tape;
    const Tensor first = tape.gradients(prod(leaf), {leaf}, {.create_graph = true})[0];
    CHECK(first.to_vector() == std::vector<double>{x[1] * x[2], x[0] * x[2], x[0] * x[1]});
    // ∂²/∂x₀∂xⱼ = the other factor
    CHECK(tape.gradients(select(first, 0, 0), {leaf}, {.zero_if_unused = true})[0].to_vector() ==
          std::vector<double>{0, x[2], x[1]});
  }
  CHECK(prod(zeros({0})).item() == 1);
  CHECK(prod(full({3, 0}, 5), {1}).to_vector() == std::vector<double>{1, 1, 1});
}

TEST_CASE("silu, elu and log_sigmoid far from 0 and near it") {
  const Tensor x = tensor({-800, 800, -1e-12, 1e-12, kNaN}, DType::f64);
  const auto at = [](const Tensor& y, std::size_t i) { return y.to_vector()[i]; };
  CHECK(at(silu(x), 0) == 0);
  CHECK(at(silu(x), 1) == 800);
  CHECK(at(elu(x), 0) == -1);
  CHECK(at(elu(x, 2), 0) == -2);
  CHECK(at(elu(x), 1) == 800);
  CHECK(at(elu(x), 2) == Approx(std::expm1(-1e-12)).epsilon(1e-14).margin(0));
  CHECK(at(log_sigmoid(x), 0) == -800);
  CHECK(at(log_sigmoid(x), 1) == Approx(0).margin(1e-300));
  for (const Tensor& y : {silu(x), elu(x), log_sigmoid(x)}) CHECK(std::isnan(at(y, 4)));
  const Tensor leaf = variable(x);
  for (const auto& op : {+[](const Tensor& v) { return silu(v); }, +[](const Tensor& v) { return elu(v); },
                         +[](const Tensor& v) { return log_sigmoid(v); }}) {
    Tape tape;
    const Tensor slope = tape.gradients(sum(op(leaf)), {leaf})[0];
    for (std::size_t i = 0; i < 4; ++i) CHECK(std::isfinite(at(slope, i)));
  }
}

TEST_CASE("compound assignment is x = x + y: the old tensor keeps its values, and its gradient flows") {
  const Tensor leaf = variable(tensor({1, 2}, DType::f64));
  Tape tape;
  Tensor y = leaf;
  y += 3;
  y *= leaf;
  y -= tensor({1, 1}, DType::f64);
  y /= 2;
  CHECK(leaf.to_vector() == std::vector<double>{1, 2});
  CHECK(y.to_vector() == std::vector<double>{1.5, 4.5});
  CHECK(tape.gradients(sum(y), {leaf})[0].to_vector() == std::vector<double>{2.5, 3.5});  // (2x + 3) / 2
  Tensor wrong = zeros({2});
  const std::string told = test::message_of([&] { wrong += zeros({3}); });
  CHECK_THAT(told, ContainsSubstring("[add]") && ContainsSubstring("order_test.cpp"));
}

TEST_CASE("gather, its gradient and flip agree with plain loops for every split into threads") {
  for (const Dims& shape : {Dims{3, 40'000}, Dims{300, 300}, Dims{40'000, 2}, Dims{2, 900, 30}})
    for (int axis = 0; axis < shape.rank(); ++axis) {
      const Tensor x = variable(random_normal(shape, 4, DType::f64));
      const Size n = shape[axis], inner = shape.count(axis + 1, shape.rank());
      Dims wide = shape;
      wide[axis] = std::min<Size>(2 * n, 5000);
      Ids ids(static_cast<std::size_t>(wide.count()));
      for (std::size_t i = 0; i < ids.size(); ++i)
        ids[i] = static_cast<std::int64_t>(Stream(6, 7).below(static_cast<std::uint64_t>(n), i));
      Tape tape;
      const Tensor y = gather(x, axis, Indices(ids, wide)), dy = random_normal(wide, 8, DType::f64);
      const std::vector<double> from = x.to_vector(), to = y.to_vector(), d = dy.to_vector(),
                                reversed = flip(x, axis).to_vector(),
                                dx = tape.gradients(y, dy, std::vector{x})[0].to_vector();
      std::vector<double> sums(from.size());
      bool same = true;
      for (Size p = 0; p < wide.count(); ++p) {
        const auto i = static_cast<std::size_t>(p);
        const auto q = static_cast<std::size_t>((p / inner / wide[axis] * n + ids[i]) * inner + p % inner);
        same = same && to[i] == from[q];
        sums[q] += d[i];
      }
      for (Size p = 0; p < shape.count(); ++p) {
        const Size j = p / inner % n;
        same = same && reversed[static_cast<std::size_t>(p)] ==
                           from[static_cast<std::size_t>(p + (n - 1 - 2 * j) * inner)];
      }
      CAPTURE(to_string(shape), axis);
      CHECK(same);
      CHECK(dx == sums);
    }
}
