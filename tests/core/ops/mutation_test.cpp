// The checks are checked: plants mistakes in the gradients that rules return, and gradcheck must notice each
// one.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "core/ops/arithmetic.hpp"
#include "core/ops/views.hpp"
#include "core/tape/graph.hpp"
#include "core/tape/node_info.hpp"
#include "core/tape/op.hpp"
#include "core/tape/tape.hpp"
#include "tests/catch.hpp"
#include "tests/core/ops/op_table.hpp"
#include "tests/sanitized.hpp"

using namespace tapestry;
using namespace tapestry::table;

namespace {

/// What becomes of the gradients that a rule of this op returns.
using Mutate = std::function<void(const char* op, std::span<Tensor> gradients)>;

/// A rule as it was recorded, with a mistake behind it.
struct Mutated {
  std::shared_ptr<detail::BackwardFn> rule;
  const char* op;
  Mutate mutate;
};
struct MutatedRule {
  Mutated it;
  void operator()(const Tensor& dy, const Tensor& y, std::span<Tensor> gradients) const {
    (*it.rule)(dy, y, gradients);
    it.mutate(it.op, gradients);
  }
};
struct MutatedShortCut {
  Mutated it;
  void operator()(const Tensor& dy, const Tensor& y, std::span<Tensor> sums) const {
    Tensor gradient = zeros(sums[0].shape(), sums[0].dtype());
    (*it.rule)(dy, y, {&gradient, 1});
    it.mutate(it.op, {&gradient, 1});
    add_in_place(sums[0], gradient);
  }
};

/// `op` with the mutation behind each rule that it records, and behind those that its derivatives record.
Op planted(const Op& op, const Mutate& mutate) {
  return [op, mutate](const Tensors& x) {
    if (Tape::active() && detail::context.graph->value_hooks.empty())
      Tape::active()->on_value([mutate](const NodeInfo& info, const Tensor&) {
        detail::Graph& graph = *detail::context.graph;
        const auto wrapped = [&](detail::BackwardFn& rule) {
          return Mutated{std::make_shared<detail::BackwardFn>(std::move(rule)), info.op, mutate};
        };
        for (std::size_t e = graph.nodes.back().first_edge; e < graph.edges.size(); ++e) {
          detail::Edge& edge = graph.edges[e];
          if (edge.rule) edge.rule.emplace<MutatedRule>(wrapped(edge.rule));
          if (edge.accumulate == detail::kNone) continue;
          detail::BackwardFn& add = graph.accumulators[edge.accumulate];
          add.emplace<MutatedShortCut>(wrapped(add));
        }
      });
    return op(x);
  };
}

bool can_transpose(const Tensor& x) { return x.rank() >= 2 && x.size(-1) == x.size(-2) && x.size(-1) > 1; }

/// An op to plant mistakes in: a row's own, checked by gradcheck, or one that its derivative records, by
/// gradgradcheck.
struct Suspect {
  const Row& row;
  std::string op;
  bool second = false;
};

bool holds(const Suspect& suspect, const Sample& sample, const Mutate& mutate) {
  const Row& row = suspect.row;
  Tensors inputs;
  for (const Plain& x : sample.inputs) inputs.push_back(to_tensor(x));
  GradcheckOptions options;
  options.expect_zero = sample.zero_gradient;
  options.epsilon = row.epsilon;
  const Op op = planted(sample.op, mutate);
  return (suspect.second ? gradgradcheck(op, inputs, options) : gradcheck(op, inputs, options)).ok();
}

/// The gradients that the op's rules return in one backward sweep, in the order of their calls.
std::vector<Tensor> gradients_of(const Suspect& suspect, const Sample& sample) {
  std::vector<Tensor> seen;
  holds(suspect, sample, [&](const char* op, std::span<Tensor> gradients) {
    if (suspect.op == op) seen.insert(seen.end(), gradients.begin(), gradients.end());
  });
  return seen;
}

/// What each mutation of this sample would do: by name, from the gradient's place to what is put there.
using Plant = std::function<Tensor(const Tensor&)>;
std::map<std::string, std::map<std::size_t, Plant>> mutations_of(const std::vector<Tensor>& gradients) {
  std::map<std::string, std::map<std::size_t, Plant>> all;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    if (!gradients[i].defined() || gradients[i].count() == 0) continue;
    all[fmt::format("argument {} zero", i)][i] = [](const Tensor& g) { return zeros(g.shape(), g.dtype()); };
    all[fmt::format("argument {} × 1.01", i)][i] = [](const Tensor& g) { return g * 1.01; };
    all[fmt::format("argument {} the other sign", i)][i] = [](const Tensor& g) { return -g; };
    if (can_transpose(gradients[i]))
      all[fmt::format("argument {} transposed", i)][i] = [](const Tensor& g) { return transpose(g); };
    for (std::size_t j = i + 1; j < gradients.size(); ++j) {
      if (!gradients[j].defined() || gradients[j].shape() != gradients[i].shape() ||
          gradients[j].dtype() != gradients[i].dtype())
        continue;
      auto& exchange = all[fmt::format("arguments {} and {} exchanged", i, j)];
      exchange[i] = [other = gradients[j]](const Tensor&) { return other; };
      exchange[j] = [other = gradients[i]](const Tensor&) { return other; };
    }
  }
  return all;
}

/// True if gradcheck fails with the mutation in place.
bool caught(const Suspect& suspect, const Sample& sample, const std::map<std::size_t, Plant>& plants) {
  std::size_t next = 0;
  return !holds(suspect, sample, [&](const char* op, std::span<Tensor> gradients) {
    if (suspect.op != op) return;
    for (Tensor& gradient : gradients) {
      const auto plant = plants.find(next++);
      if (plant != plants.end() && gradient.defined()) gradient = plant->second(gradient);
    }
  });
}

/// Samples that are quick to check, squares among them: enough to catch what can be caught.
std::vector<const Sample*> quick_samples(const Row& row) {
  std::vector<const Sample*> list;
  for (const Sample& sample : row.samples) {
    const Size count = count_of(sample);
    if (count > 0 && count <= 150) list.push_back(&sample);
  }
  return list;
}

}  // namespace

TEST_CASE("gradcheck notices every planted mistake that is one") {
  std::size_t planted = 0, noticed = 0, equivalent = 0;
  std::string equivalents, missed;
  std::set<std::string> linked;
  for (const char* op : linked_ops()) linked.insert(op);
  std::size_t turn = 0;
  for (const Row& row : rows()) {
    if (kAddressSanitizer && turn++ % 5 != 0) continue;
    std::vector<Suspect> suspects;
    if (linked.count(row.name))
      suspects.push_back({row, row.name});  // others are made of ops, without rules of their own
    for (const std::string& op : row.covers) suspects.push_back({row, op, true});
    for (const Suspect& suspect : suspects) {
      const std::string prefix = suspect.second ? suspect.op + " " : "";
      std::set<std::string> open, seen;
      for (const Sample* sample : quick_samples(row))
        for (const auto& [name, plants] : mutations_of(gradients_of(suspect, *sample))) {
          if (seen.insert(prefix + name).second) open.insert(prefix + name);
          if (open.count(prefix + name) && caught(suspect, *sample, plants)) open.erase(prefix + name);
        }
      planted += seen.size();
      noticed += seen.size() - open.size();
      for (const Equivalent& expected : row.equivalents) {
        if (!seen.count(expected.mutation)) continue;
        CAPTURE(suspect.op, expected.mutation);
        CHECK(open.count(expected.mutation) == 1);  // it is caught, so not equivalent
        if (!open.erase(expected.mutation)) continue;
        ++equivalent;
        equivalents += fmt::format("  {}: {}: {}\n", suspect.op, expected.mutation, expected.reason);
      }
      for (const std::string& name : open) missed += fmt::format("  {}: {}\n", suspect.op, name);
      CAPTURE(row.name, suspect.op);
      CHECK(!seen.empty());
    }
  }
  fmt::print("mutations: caught {} of {}, {} equivalent\n{}", noticed, planted - equivalent, equivalent,
             equivalents);
  INFO("missed:\n" << missed);
  CHECK(missed.empty());
  CHECK(noticed > (kAddressSanitizer ? 40U : 200U));
}
