// Generic tests down the table of ops: values, gradients, second gradients, strides, types, errors; and that
// no op hides.
#include "tests/core/op_table.hpp"

#include <algorithm>
#include <set>

#include "core/derivatives.hpp"
#include "tests/catch.hpp"

using namespace tapestry;
using namespace tapestry::table;

namespace {

/// |a − b| ≤ tolerance · (largest of the values, at least 1), and NaN and infinities in the same places.
void require_near(const std::vector<double>& a, const std::vector<double>& b, double tolerance) {
  REQUIRE(a.size() == b.size());
  double scale = 1;
  for (double x : b)
    if (std::isfinite(x)) scale = std::max(scale, std::abs(x));
  const auto near = [&](double x, double y) {
    return x == y || (std::isnan(x) && std::isnan(y)) || std::abs(x - y) <= tolerance * scale;
  };
  // One assertion for all elements: under a sanitizer an assertion costs more than an op.
  const auto [bad_a, bad_b] = std::mismatch(a.begin(), a.end(), b.begin(), near);
  const bool agree = bad_a == a.end();
  if (!agree) UNSCOPED_INFO("element " << bad_a - a.begin() << ": " << *bad_a << ", expected " << *bad_b);
  REQUIRE(agree);
}

Tensors tensors(const Plains& inputs, DType dtype = DType::f64) {
  Tensors list;
  for (const Plain& x : inputs) list.push_back(to_tensor(x, dtype));
  return list;
}

Tensors variables(const Tensors& inputs) {
  Tensors list;
  for (const Tensor& x : inputs) list.push_back(variable(x));
  return list;
}

/// The same values in memory that is laid out in another way, written here element by element.
enum class Layout { reversed_axes, one_off, every_second, backwards_room };
Tensor laid_out(const Plain& x, Layout layout, DType dtype) {
  const int rank = x.shape.rank();
  Dims stride = dense_strides(x.shape);
  Size offset = 0, room = x.shape.count();
  if (layout == Layout::reversed_axes) {
    Size step = 1;
    for (int axis = 0; axis < rank; ++axis) {
      stride[axis] = step;
      step *= x.shape[axis];
    }
  } else if (layout == Layout::one_off) {
    offset = 1;
    room += 1;
  } else {
    for (int axis = 0; axis < rank; ++axis) stride[axis] *= layout == Layout::every_second ? 2 : 3;
    offset = layout == Layout::every_second ? 0 : 5;
    room = 3 * room + 5;
  }
  Tensor memory = full({room}, 1e30, dtype);  // what a wrong stride would read
  Tensor view = detail::alias(memory, x.shape, stride, offset);
  std::size_t next = 0;
  generate(x.shape, [&](const Index& index) {
    Size at = offset;
    for (int axis = 0; axis < rank; ++axis) at += index[static_cast<std::size_t>(axis)] * stride[axis];
    dispatch(dtype, [&](auto zero) {
      using T = decltype(zero);
      memory.mutable_data<T>()[at] = static_cast<T>(x.v[next]);
    });
    ++next;
    return 0.0;
  });
  return view;
}

GradcheckOptions options_of(const Row& row, const Sample& sample) {
  GradcheckOptions options;
  options.name = row.name + " " + sample.label;
  options.expect_zero = sample.zero_gradient;
  options.epsilon = row.epsilon;
  return options;
}

bool small(const Sample& sample, Size limit) {
  Size count = 0;
  for (const Plain& x : sample.inputs) count += x.shape.count();
  return !sample.values_only && count <= limit;
}

Tensor call(const Sample& sample, const Tensors& inputs) {
  const RandomState before = random_state();
  const Tensor y = sample.op(inputs);
  random_state() = before;
  return y;
}

/// Ops that run when the sample is computed, and when its gradient is recorded.
std::set<std::string> ops_of(const Row& row, const Sample& sample) {
  std::set<std::string> names;
  Tape tape;
  const Tensors xs = variables(tensors(sample.inputs));
  const Tensor y = call(sample, xs);
  if (row.twice && y.body().node >= 0)
    tape.gradients(y,
                   variable(normal(y.shape(), 1).v.empty() ? zeros(y.shape(), DType::f64)
                                                           : to_tensor(normal(y.shape(), 1))),
                   xs, {.create_graph = true, .zero_if_unused = true});
  for (std::size_t i = 0; i < tape.size(); ++i) names.insert(tape.node(i).op);
  return names;
}

}  // namespace

TEST_CASE("every op that is linked in has a row that runs it") {
  std::set<std::string> named, seen;
  for (const Row& row : rows()) {
    named.insert(row.name);
    named.insert(row.covers.begin(), row.covers.end());
    std::set<std::string> of_row;
    for (const Sample& sample : row.samples)
      if (small(sample, 200)) of_row.merge(ops_of(row, sample));
    for (const std::string& covered : row.covers) {
      CAPTURE(row.name, covered);
      CHECK(of_row.count(covered) == 1);
    }
    seen.merge(of_row);
  }
  for (const char* op : linked_ops()) {
    CAPTURE(op);
    CHECK(named.count(op) == 1);  // give it a row in tests/core/op_table_*.cpp
    CHECK(seen.count(op) == 1);
  }
  CHECK(linked_ops().size() > 30);
}

TEST_CASE("values agree with the plain reference") {
  for (const Row& row : rows()) {
    REQUIRE(!row.samples.empty());
    for (const Sample& sample : row.samples) {
      CAPTURE(row.name, sample.label);
      const Plain expected = sample.reference(sample.inputs);
      const Tensor y = call(sample, tensors(sample.inputs));
      REQUIRE(y.shape() == expected.shape);
      require_near(y.to_vector(), expected.v, 1e-12);
    }
  }
}

TEST_CASE("f32 agrees with f64") {
  for (const Row& row : rows())
    for (const Sample& sample : row.samples) {
      CAPTURE(row.name, sample.label);
      const Tensor y = call(sample, tensors(sample.inputs, DType::f32));
      REQUIRE(y.dtype() == DType::f32);
      require_near(y.to_vector(), sample.reference(sample.inputs).v,
                   row.f32_tolerance * (sample.values_only ? 20 : 1));
    }
}

TEST_CASE("gradcheck holds for every op") {
  for (const Row& row : rows())
    for (const Sample& sample : row.samples) {
      if (sample.values_only) continue;
      const auto result = gradcheck(sample.op, tensors(sample.inputs), options_of(row, sample));
      INFO(result.report());
      CHECK(result.ok());
      CHECK(result.kinks.empty());
    }
}

TEST_CASE("gradients in f32 agree with those in f64") {
  for (const Row& row : rows())
    for (const Sample& sample : row.samples) {
      if (!small(sample, 400)) continue;
      CAPTURE(row.name, sample.label);
      std::vector<std::vector<double>> of[2];
      for (DType dtype : {DType::f64, DType::f32}) {
        Tape tape;
        const Tensors xs = variables(tensors(sample.inputs, dtype));
        const Tensor y = call(sample, xs);
        if (y.body().node < 0) continue;
        for (const Tensor& g :
             tape.gradients(y, random_normal(y.shape(), 3, dtype), xs, {.zero_if_unused = true})) {
          REQUIRE(g.dtype() == dtype);
          of[dtype == DType::f32].push_back(g.to_vector());
        }
      }
      for (std::size_t i = 0; i < of[0].size(); ++i) require_near(of[1][i], of[0][i], 20 * row.f32_tolerance);
    }
}

TEST_CASE("gradgradcheck holds for every op that is twice differentiable") {
  for (const Row& row : rows()) {
    if (!row.twice) continue;
    for (const Sample& sample : row.samples) {
      if (!small(sample, 60)) continue;
      GradcheckOptions options = options_of(row, sample);
      options.name = "the gradient of " + options.name;
      const auto result = gradgradcheck(sample.op, tensors(sample.inputs), options);
      INFO(result.report());
      CHECK(result.ok());
    }
  }
}

TEST_CASE("other strides give the same values and gradients") {
  for (const Row& row : rows())
    for (const Sample& sample : row.samples)
      for (Layout layout :
           {Layout::reversed_axes, Layout::one_off, Layout::every_second, Layout::backwards_room}) {
        CAPTURE(row.name, sample.label, static_cast<int>(layout));
        const auto run = [&](const Tensors& inputs) {
          std::vector<std::vector<double>> results;
          Tape tape;
          const Tensors xs = variables(inputs);
          const Tensor y = call(sample, xs);
          results.push_back(y.to_vector());
          if (y.body().node < 0) return results;
          // dy is laid out in the same way.
          const Tensor dy = laid_out(normal(y.shape(), 4), layout, y.dtype());
          for (const Tensor& g : tape.gradients(y, dy, xs, {.zero_if_unused = true}))
            results.push_back(g.to_vector());
          return results;
        };
        Tensors odd;
        for (const Plain& x : sample.inputs) odd.push_back(laid_out(x, layout, DType::f64));
        const auto dense = run(tensors(sample.inputs)), strided = run(odd);
        REQUIRE(dense.size() == strided.size());
        for (std::size_t i = 0; i < dense.size(); ++i) require_near(strided[i], dense[i], 1e-12);
      }
}

// Gradients of a tensor that is used twice go through the short cuts that add in place.
TEST_CASE("gradients add up where an argument is used twice") {
  for (const Row& row : rows())
    for (const Sample& sample : row.samples) {
      if (!small(sample, 400)) continue;
      CAPTURE(row.name, sample.label);
      const auto run = [&](int times) {
        Tape tape;
        const Tensors xs = variables(tensors(sample.inputs));
        Tensors ys;
        for (int i = 0; i < times; ++i) ys.push_back(call(sample, xs));
        if (ys[0].body().node < 0) return std::vector<std::vector<double>>();
        const Tensor dy = random_normal(ys[0].shape(), 5, DType::f64);
        const Tensor y = times == 1 ? ys[0] : add(ys[0], add(ys[1], ys[2]));
        std::vector<std::vector<double>> results;
        for (const Tensor& g : tape.gradients(y, dy, xs, {.zero_if_unused = true}))
          results.push_back(g.to_vector());
        return results;
      };
      auto once = run(1);
      const auto thrice = run(3);
      REQUIRE(once.size() == thrice.size());
      for (std::size_t i = 0; i < once.size(); ++i) {
        for (double& v : once[i]) v *= 3;
        require_near(thrice[i], once[i], 1e-12);
      }
    }
}

TEST_CASE("errors say what is wrong") {
  for (const Row& row : rows())
    for (const ErrorCase& error : row.errors) {
      CAPTURE(row.name, error.says);
      std::string message;
      try {
        error.wrong();
      } catch (const Error& caught) {
        message = caught.what();
      }
      CHECK_THAT(message, Catch::Matchers::ContainsSubstring(error.says));
    }
}
