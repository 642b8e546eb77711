// Ops against PyTorch in f64: values and every gradient.
#include <functional>
#include <map>

#include "core/ops/ops.hpp"
#include "core/tape/tape.hpp"
#include "tests/golden/golden.hpp"

using namespace tapestry;
using test::Golden;

namespace {

constexpr double kGoldenTolerance = 1e-11;

/// Runs f on the named inputs of a case, as leaves, and compares its result and the gradient of each input.
void check_case(const Golden& golden, const std::string& name, const std::vector<std::string>& inputs,
                const std::function<Tensor(const std::vector<Tensor>&)>& f) {
  std::vector<Tensor> leaves;
  for (const std::string& input : inputs) leaves.push_back(variable(golden[name + "/" + input], input));
  Tape tape;
  const Tensor output = f(leaves);
  test::check_close(output, golden[name + "/output"], kGoldenTolerance, name + ": output");
  tape.backward(output, golden[name + "/cotangent"]);
  for (const Tensor& leaf : leaves) {
    INFO(name << ": " << leaf.name());
    REQUIRE(leaf.has_grad());
    test::check_close(leaf.grad(), golden[name + "/grad." + leaf.name()], kGoldenTolerance,
                      name + ": gradient of " + leaf.name());
  }
}

}  // namespace

TEST_CASE("golden: linear") {
  const Golden golden("linear");
  for (const std::string& name : golden.cases()) {
    const bool bias = golden.has(name + "/bias");
    check_case(golden, name,
               bias ? std::vector<std::string>{"input", "weight", "bias"}
                    : std::vector<std::string>{"input", "weight"},
               [&](const auto& x) { return linear(x[0], x[1], bias ? x[2] : Tensor()); });
  }
  CHECK(golden.cases().size() == 3);
}

TEST_CASE("golden: embedding") {
  const Golden golden("embedding");
  for (const std::string& name : golden.cases())
    check_case(golden, name, {"weight"},
               [&](const auto& x) { return embedding(x[0], golden.ids(name + "/ids")); });
  CHECK(golden.cases().size() == 2);
}

TEST_CASE("golden: layer norm") {
  const Golden golden("layer_norm");
  for (const std::string& name : golden.cases())
    check_case(golden, name, {"input", "weight", "bias"},
               [&](const auto& x) { return layer_norm(x[0], x[1], x[2], golden.number(name + "/eps")); });
  CHECK(golden.cases().size() == 3);
}

TEST_CASE("golden: softmax, log-softmax, masked softmax") {
  const Golden golden("softmax");
  for (const std::string& name : golden.cases(2))
    check_case(golden, name, {"input"}, [&](const auto& x) {
      if (golden.has(name + "/mask")) return masked_softmax(x[0], golden.mask(name + "/mask"));
      const int axis = static_cast<int>(golden.number(name + "/axis"));
      return name.rfind("log_", 0) == 0 ? log_softmax(x[0], axis) : softmax(x[0], axis);
    });
  CHECK(golden.cases(2).size() == 10);
}

TEST_CASE("golden: GELU in both forms") {
  const Golden golden("gelu");
  check_case(golden, "erf", {"input"}, [](const auto& x) { return gelu(x[0], Gelu::erf); });
  check_case(golden, "tanh", {"input"}, [](const auto& x) { return gelu(x[0], Gelu::tanh); });
}

TEST_CASE("golden: cross-entropy") {
  const Golden golden("cross_entropy");
  for (const std::string& name : golden.cases())
    check_case(golden, name, {"logits"}, [&](const auto& x) {
      CrossEntropy options;
      options.smoothing = golden.number(name + "/smoothing");
      options.ignore = static_cast<std::int64_t>(golden.number(name + "/ignore_index", -1));
      options.reduce = name.rfind("none", 0) == 0 ? Reduce::none : Reduce::mean;
      return cross_entropy(x[0], golden.ids(name + "/targets"), options);
    });
  CHECK(golden.cases().size() == 7);
}

TEST_CASE("golden: products, broadcasting, reductions") {
  const Golden golden("ops");
  const auto axes_of = [&](const std::string& name) {
    Dims axes;
    for (const std::int64_t axis : golden.whole(name + (golden.has(name + "/axes") ? "/axes" : "/axis")))
      axes.push_back(axis);
    return axes;
  };
  /// b + sign b, as the script divides by it.
  const auto away_from_zero = [](const Tensor& b) {
    std::vector<double> signs;
    for (const double value : b.to_vector()) signs.push_back(value < 0 ? -1 : 1);
    return b + tensor(signs, b.shape(), DType::f64);
  };
  using Function = std::function<Tensor(const std::vector<Tensor>&, const std::string& name)>;
  const Function product = [](const auto& x, const std::string&) { return matmul(x[0], x[1]); };
  const Function largest = [&](const auto& x, const std::string& name) { return max(x[0], axes_of(name)); };
  const Function smallest = [&](const auto& x, const std::string& name) { return min(x[0], axes_of(name)); };
  const Function log_sum = [&](const auto& x, const std::string& name) {
    return logsumexp(x[0], axes_of(name));
  };
  const std::map<std::string, Function> functions{
      {"matmul", product},
      {"matmul_tails", product},
      {"bmm", product},
      {"matmul_one_batch", product},
      {"matmul_broadcast_batch", product},
      {"matmul_transposed", [](const auto& x, const std::string&) { return matmul(x[0], transpose(x[1])); }},
      {"mul_broadcast", [](const auto& x, const std::string&) { return x[0] * x[1]; }},
      {"div_broadcast", [&](const auto& x, const std::string&) { return x[0] / away_from_zero(x[1]); }},
      {"sum_axes", [&](const auto& x, const std::string& name) { return sum(x[0], axes_of(name)); }},
      {"mean_axes", [&](const auto& x, const std::string& name) { return mean(x[0], axes_of(name)); }},
      {"logsumexp", log_sum},
      {"logsumexp_axes", log_sum},
      {"logsumexp_large",
       [&](const auto& x, const std::string& name) {
         return logsumexp(x[0] + golden[name + "/shift"], axes_of(name));
       }},
      {"var_population", [&](const auto& x, const std::string& name) { return var(x[0], axes_of(name), 0); }},
      {"var_sample", [&](const auto& x, const std::string& name) { return var(x[0], axes_of(name), 1); }},
      {"cumsum", [&](const auto& x,
                     const std::string& name) { return cumsum(x[0], static_cast<int>(axes_of(name)[0])); }},
      {"max", largest},
      {"max_ties", largest},
      {"min", smallest},
      {"min_ties", smallest}};
  for (const std::string& name : golden.cases()) {
    INFO(name);
    const auto function = functions.find(name);
    REQUIRE(function != functions.end());
    const bool two = golden.has(name + "/b");
    check_case(golden, name, two ? std::vector<std::string>{"a", "b"} : std::vector<std::string>{"input"},
               [&](const auto& x) { return function->second(x, name); });
  }
  CHECK(golden.cases().size() == functions.size());
}
