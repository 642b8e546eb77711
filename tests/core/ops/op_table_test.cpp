// Generic tests down the table of ops: values, gradients, second gradients, strides, types, errors; and that
// no op hides.
#include "tests/core/ops/op_table.hpp"

#include <algorithm>
#include <set>

#include "core/tape/node_info.hpp"
#include "core/tape/op.hpp"
#include "tests/catch.hpp"
#include "tests/core/ops/op_runs.hpp"
#include "tests/sanitized.hpp"

using namespace tapestry;
using namespace tapestry::table;

namespace {

GradcheckOptions options_of(const Row& row, const Sample& sample) {
  GradcheckOptions options;
  options.name = row.name + " " + sample.label;
  options.expect_zero = sample.zero_gradient;
  options.epsilon = row.epsilon;
  if (kAddressSanitizer) options.elements = 20;  // larger ones along random directions
  return options;
}

bool small(const Sample& sample, Size limit) { return count_of(sample) <= limit; }

/// Ops that run when the sample is computed, and when its gradient is recorded.
std::set<std::string> ops_of(const Row& row, const Sample& sample) {
  std::set<std::string> names;
  Tape tape;
  const Tensors xs = variables(tensors(sample.inputs));
  const Tensor y = call(sample, xs);
  if (row.twice && y.impl().node >= 0)
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
    CHECK(named.count(op) == 1);  // give it a row in tests/core/ops/op_table_*.cpp
    CHECK(seen.count(op) == 1);
  }
  CHECK(linked_ops().size() > 30);
}

TEST_CASE("values agree with the plain reference") {
  for (const Row& row : rows()) {
    REQUIRE(!row.samples.empty());
    for (const Sample& sample : row.samples) {
      if (is_large(sample)) continue;
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
      if (is_large(sample)) continue;
      CAPTURE(row.name, sample.label);
      const Tensor y = call(sample, tensors(sample.inputs, DType::f32));
      REQUIRE(y.dtype() == DType::f32);
      require_near(y.to_vector(), sample.reference(sample.inputs).v, row.f32_tolerance);
    }
}

TEST_CASE("gradcheck holds for every op") {
  for (const Row& row : rows())
    for (const Sample& sample : row.samples) {
      if (is_large(sample)) continue;
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
        if (y.impl().node < 0) continue;
        for (const Tensor& g :
             tape.gradients(y, random_normal(y.shape(), 3, dtype), xs, {.zero_if_unused = true})) {
          REQUIRE(g.dtype() == dtype);
          of[dtype == DType::f32].push_back(g.to_vector());
        }
      }
      for (std::size_t i = 0; i < of[0].size(); ++i) require_near(of[1][i], of[0][i], 20 * row.f32_tolerance);
    }
}

TEST_CASE("gradgradcheck holds for every op that is twice differentiable", "[unsanitized]") {
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

// The dense run has a dense dy, so that a rule which misreads a strided one is seen.
TEST_CASE("other strides give the same values and gradients") {
  for (const Row& row : rows())
    for (const Sample& sample : row.samples) {
      if (is_large(sample)) continue;
      const Results dense = results_of(sample, tensors(sample.inputs));
      for (Layout layout : kLayouts) {
        CAPTURE(row.name, sample.label, static_cast<int>(layout));
        Tensors odd;
        for (const Plain& x : sample.inputs) odd.push_back(laid_out(x, layout, DType::f64));
        require_near(results_of(sample, odd, layout), dense, 1e-12);
      }
    }
}

// As that of a sum: one value in memory for all elements, for all of the last axis, or for all of the first.
TEST_CASE("a dy that repeats its values gives the gradients of one that has each in its place") {
  for (const Row& row : rows())
    for (const Sample& sample : row.samples) {
      if (!small(sample, 400)) continue;
      Tape tape;
      const Tensors xs = variables(tensors(sample.inputs));
      const Tensor y = call(sample, xs);
      if (y.impl().node < 0 || y.count() == 0 || y.rank() == 0) continue;
      const int last = y.rank() - 1;
      for (const auto& [from, to] : {std::pair{0, last}, std::pair{last, last}, std::pair{0, 0}}) {
        CAPTURE(row.name, sample.label, from, to);
        Dims few = y.shape();
        for (int axis = from; axis <= to; ++axis) few[axis] = 1;
        const Plain values = normal(few, 6);
        const Plain all = generate(y.shape(), [&](const Index& i) { return pick(values, i); });
        const auto gradients = [&](const Tensor& dy) {
          Results results;
          for (const Tensor& g : tape.gradients(y, dy, xs, {.keep = true, .zero_if_unused = true}))
            results.push_back(g.to_vector());
          return results;
        };
        require_near(gradients(expand(to_tensor(values), y.shape())), gradients(to_tensor(all)), 1e-12);
      }
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
        if (ys[0].impl().node < 0) return std::vector<std::vector<double>>();
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
