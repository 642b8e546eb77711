// The sweep: reads the tape from the back and hands each node's gradient to its rules.
#include <algorithm>
#include <optional>
#include <vector>

#include "core/ops/arithmetic.hpp"
#include "core/ops/reduce.hpp"
#include "core/tape/records.hpp"
#include "core/tensor/create.hpp"
#include "core/tensor/pool_vector.hpp"

namespace tapestry {

namespace detail {

namespace {

GradientMutator& mutator() {
  static GradientMutator hook;
  return hook;
}

/// True for a dense tensor whose memory nobody else can see: the only kind that may be added to in place.
bool is_alone(const Tensor& x) {
  const Body& body = x.body();
  return x.ref().unique() && body.buffer.unique() && body.node < 0 && body.offset == 0 && x.is_contiguous() &&
         body.buffer->bytes == static_cast<std::size_t>(x.count()) * bytes_of(body.dtype);
}

/// A dense copy that is_alone().
Tensor own_copy(const Tensor& x) {
  Tensor copy = Tensor::uninitialised(x.shape(), x.dtype());
  assign(copy, x);
  return copy;
}

bool broadcasts_to(const Dims& from, const Dims& to) {
  const int ahead = to.rank() - from.rank();
  if (ahead < 0) return false;
  for (int axis = 0; axis < from.rank(); ++axis)
    if (from[axis] != 1 && from[axis] != to[axis + ahead]) return false;
  return true;
}

/// While one lives, ops are not checked for NaN: in anomaly mode a rule is judged by what it returns, so that
/// the message names the op that was called and the caller's line, not the ops that its rule is made of.
class Unchecked {
 public:
  Unchecked() : before_(std::exchange(context.anomaly, false)) {}
  ~Unchecked() { context.anomaly = before_; }
  Unchecked(const Unchecked&) = delete;
  Unchecked& operator=(const Unchecked&) = delete;

 private:
  bool before_;
};

}  // namespace

void set_gradient_mutator(GradientMutator hook) { mutator() = std::move(hook); }

/// One pass over a range of the tape.
struct Sweep {
  Records& records;
  bool create_graph = false;
  bool keep = false;
  /// Empty: every edge counts. Otherwise, for each node of the range that gradients() was asked about,
  /// whether it depends on one of the xs; and the leaves and nodes that are xs.
  std::vector<char> relevant = {};
  std::vector<std::int32_t> wanted = {};
  std::vector<Tensor> found = {};
  std::uint64_t serial = 0;  // the tape's
  const bool mutate = static_cast<bool>(mutator());

  Tensor& slot(std::int32_t target) {
    auto& slots = target >= 0 ? records.slots : records.leaf_slots;
    const auto index = static_cast<std::size_t>(target >= 0 ? target : -1 - target);
    if (slots.size() <= index)
      slots.resize(std::max(index + 1, target >= 0 ? records.nodes.size() : records.leaves.size()));
    return slots[index];
  }

  bool counts(const Edge& edge) const {
    if (!edge.needed) return false;
    if (wanted.empty()) return true;
    if (std::find(wanted.begin(), wanted.end(), edge.target) != wanted.end()) return true;
    // What a replay records lies beyond the marked range and always counts.
    const auto index = static_cast<std::size_t>(edge.target);
    return edge.target >= 0 && (index >= relevant.size() || relevant[index]);
  }

  void add(std::int32_t target, Tensor gradient) {
    Tensor& sum = slot(target);
    if (!sum.defined())
      sum = std::move(gradient);
    else if (!create_graph && is_alone(sum))
      add_in_place(sum, gradient);
    else
      sum = tapestry::add(sum, gradient);
  }

  /// The gradient as its argument wants it: broadcasting undone, type and shape checked.
  Tensor fit(const Node& node, const Edge& edge, std::size_t argument, Tensor gradient) const {
    if (!gradient.defined())
      fail("[{}] has no derivative with respect to its argument {} ({}:{})", node.op, argument, node.at.file,
           node.at.line);
    if (gradient.dtype() != edge.dtype)
      fail("[{}] the rule of argument {} returned {} for an argument of type {}", node.op, argument,
           name_of(gradient.dtype()), name_of(edge.dtype));
    if (gradient.shape() == edge.shape) return gradient;
    if (!broadcasts_to(edge.shape, gradient.shape()))
      fail("[{}] the rule of argument {} returned a gradient of shape {} for an argument of shape {}",
           node.op, argument, to_string(gradient.shape()), to_string(edge.shape));
    const Dims shape = edge.shape;  // what sum_to records may move the edge
    return sum_to(gradient, shape);
  }

  void run_rules(std::size_t index, const Tensor& dy) {
    std::optional<Node> copy;  // rules that record may move the original
    if (create_graph) copy = records.nodes[index];
    const Node& node = copy ? *copy : records.nodes[index];
    for (std::uint32_t e = node.first_edge; e < node.first_edge + node.edges;) {
      const std::uint32_t count = records.edges[e].targets;
      bool any = false;
      for (std::uint32_t i = e; i < e + count; ++i) any |= counts(records.edges[i]);
      if (any) run_rule(node, e, count, dy);
      e += count;
    }
  }

  void run_rule(const Node& node, std::uint32_t first, std::uint32_t count, const Tensor& dy) {
    const Edge& edge = records.edges[first];
    if (edge.adding != kNone && !create_graph && !mutate) {
      if (Tensor& sum = slot(edge.target); sum.defined()) return add_to(sum, node, first, dy);
    }
    if (count == 1) {
      Tensor gradient;
      compute(node, first, dy, &gradient);
      take(node, first, 1, &gradient);
    } else {
      PoolVector<Tensor> gradients(count);
      compute(node, first, dy, gradients.data());
      take(node, first, count, gradients.data());
    }
  }

  /// By the rule's short cut.
  void add_to(Tensor& sum, const Node& node, std::uint32_t first, const Tensor& dy) {
    if (!is_alone(sum)) sum = own_copy(sum);
    {
      const Unchecked rule_as_a_whole;
      records.addings[records.edges[first].adding](dy, node.result, &sum);
    }
    if (context.anomaly) check_gradient(node, first - node.first_edge, sum);
  }

  void compute(const Node& node, std::uint32_t first, const Tensor& dy, Tensor* gradients) {
    const Unchecked rule_as_a_whole;
    const Edge& edge = records.edges[first];
    if (edge.adding != kNone && mutate && slot(edge.target).defined()) {
      *gradients = zeros(edge.shape, edge.dtype);
      records.addings[edge.adding](dy, node.result, gradients);
    } else if (!create_graph) {
      edge.rule(dy, node.result, gradients);
    } else {  // a rule that records leaves its place while it runs, since that may move the edges
      Rule rule = std::move(records.edges[first].rule);
      rule(dy, node.result, gradients);
      if (keep) records.edges[first].rule = std::move(rule);
    }
  }

  /// Adds what a rule gave to where it belongs.
  void take(const Node& node, std::uint32_t first, std::uint32_t count, Tensor* gradients) {
    if (mutate) mutator()(node.op, std::span(gradients, count));
    for (std::uint32_t i = 0; i < count; ++i) {
      const Edge& edge = records.edges[first + i];
      if (!counts(edge)) continue;
      const std::int32_t target = edge.target;
      const std::size_t argument = first + i - node.first_edge;
      if (context.anomaly && gradients[i].defined()) check_gradient(node, argument, gradients[i]);
      add(target, fit(node, edge, argument, std::move(gradients[i])));
    }
  }

  /// Records the node again as other ops at the end of the tape, sweeps those into the same slots, and cuts
  /// them off.
  void replay(std::size_t index, const Tensor& dy) {
    const Records::Mark mark = records.mark();
    Rule twin = std::move(records.replays[records.nodes[index].replay]);
    Tensor again;
    {
      const Paused recording(false);
      twin(dy, Tensor(), &again);
    }
    if (keep) records.replays[records.nodes[index].replay] = std::move(twin);
    const Body& body = again.body();
    if (again.shape() != dy.shape())
      fail(
          "[{}] gave shape {} when it was run again, but {} at first: it must not depend on anything that "
          "changes",
          records.nodes[index].op, describe(again), to_string(dy.shape()));
    if (body.node >= 0) {
      const std::size_t end = records.nodes.size();
      add(body.node, dy);
      again = Tensor();
      sweep(mark.nodes, end);
    } else if (again.requires_grad()) {
      add(-1 - records.number_of(again, serial), dy);
    }
    if (!create_graph) records.cut(mark);
  }

  void check_versions(const Node& node) const {
    for (std::uint32_t i = 0; i < node.saved; ++i) {
      const Tensor::Saved& saved = records.saved[node.first_saved + i];
      if (saved.buffer->version.load(std::memory_order_relaxed) != saved.version)
        fail(
            "[{}] a tensor that it saved was written by assign() before backward: assign after backward, or "
            "use a copy "
            "({}:{})",
            node.op, node.at.file, node.at.line);
    }
  }

  void run_hooks(std::int32_t target, Tensor& gradient) const {
    const auto found_hooks = records.gradient_hooks.find(target);
    if (found_hooks == records.gradient_hooks.end()) return;
    for (const auto& hook : found_hooks->second) {
      Tensor replaced = hook(gradient);
      if (!replaced.defined()) continue;
      if (replaced.shape() != gradient.shape() || replaced.dtype() != gradient.dtype())
        fail("an on_gradient hook returned {} {} for a gradient of {} {}", describe(replaced),
             name_of(replaced.dtype()), describe(gradient), name_of(gradient.dtype()));
      gradient = std::move(replaced);
    }
  }

  void release(std::size_t index) {
    Node& node = records.nodes[index];
    for (std::uint32_t i = 0; i < node.edges; ++i) {
      Edge& edge = records.edges[node.first_edge + i];
      edge.rule.reset();
      if (edge.adding != kNone) records.addings[edge.adding].reset();
    }
    if (node.replay != kNone) records.replays[node.replay].reset();
    node.result = Tensor();
  }

  void sweep(std::size_t begin, std::size_t end) {
    for (std::size_t i = end; i-- > begin;) {
      if (i >= records.slots.size() || !records.slots[i].defined()) {
        if (!keep) release(i);
        continue;
      }
      Tensor dy = std::move(records.slots[i]);
      const auto target = static_cast<std::int32_t>(i);
      run_hooks(target, dy);
      for (std::size_t w = 0; w < wanted.size(); ++w)
        if (wanted[w] == target) found[w] = dy;
      if (!wanted.empty() && i < relevant.size() && !relevant[i]) continue;
      check_versions(records.nodes[i]);
      const Node& node = records.nodes[i];
      if (node.always_replay || (create_graph && node.replay != kNone))
        replay(i, dy);
      else
        run_rules(i, dy);
      if (!keep) release(i);
    }
  }

  /// Marks the nodes that depend on one of `wanted`.
  void mark_relevant(std::size_t end) {
    relevant.assign(end, 0);
    for (std::size_t i = 0; i < end; ++i) {
      const Node& node = records.nodes[i];
      bool depends = node.always_replay;
      for (std::uint32_t e = node.first_edge; e < node.first_edge + node.edges && !depends; ++e)
        depends = counts(records.edges[e]);
      relevant[i] = depends;
    }
  }
};

namespace {

/// Says why there is nothing on the tape `serial` to begin at.
[[noreturn]] void refuse_start(const Tensor& y, bool wants_xs, std::uint64_t serial) {
  const Body& body = y.body();
  if (body.leaf)
    fail("[backward] {} is a leaf{}", describe(y),
         wants_xs ? ", and none of the xs: only itself has a gradient of it"
                  : " itself: call backward on what was computed from it");
  if (body.node < 0)
    fail(
        "[backward] {} is not on this tape: it depends on nothing that asks for a gradient, or was computed "
        "elsewhere",
        describe(y));
  if (body.tape / kRounds == serial / kRounds)
    fail(
        "[backward] {} is not on this tape: an earlier backward consumed what it had recorded; keep it with "
        "{{.keep = true}}, or compute again",
        describe(y));
  fail(
      "[backward] {} is not on this tape: it was recorded by another tape; compute it again while this one "
      "lives",
      describe(y));
}

}  // namespace

}  // namespace detail

void Tape::run(const Tensor& y, const Tensor& dy, detail::Sweep& sweep) {
  using namespace detail;
  const Body& body = y.body();
  if (context.tape != this) fail("[backward] this tape is not the active one of this thread");
  if (body.node < 0 && !body.leaf && body.outside)
    fail("[backward] {} was computed outside the tape: compute it while the tape lives", describe(y));
  const bool on_tape = body.node >= 0 && body.tape == serial_;
  if (!on_tape && !(body.leaf && !sweep.wanted.empty() && body.leaf->tape == serial_))
    refuse_start(y, !sweep.wanted.empty(), serial_);
  if (dy.shape() != y.shape() || dy.dtype() != y.dtype())
    fail("[backward] dy is {} {}, but y is {} {}", describe(dy), name_of(dy.dtype()), describe(y),
         name_of(y.dtype()));
  records_->slots.assign(records_->nodes.size(), Tensor());
  records_->leaf_slots.assign(records_->leaves.size(), Tensor());
  const std::size_t end = records_->nodes.size();
  sweep.serial = serial_;
  const Paused paused(!sweep.create_graph);
  try {
    if (!sweep.wanted.empty()) sweep.mark_relevant(end);
    sweep.slot(on_tape ? body.node : -1 - body.leaf->number) = dy;
    sweep.sweep(0, end);
    for (std::size_t i = 0; i < records_->leaf_slots.size(); ++i)
      if (records_->leaf_slots[i].defined())
        sweep.run_hooks(-1 - static_cast<std::int32_t>(i), records_->leaf_slots[i]);
  } catch (...) {
    start_over();
    throw;
  }
}

namespace {

Tensor one_for(const Tensor& y) {
  if (y.count() != 1)
    fail("[backward] y has shape {}, but only a tensor with one element needs no dy: sum it, or pass dy",
         describe(y));
  return full(y.shape(), 1.0, y.dtype());
}

}  // namespace

void Tape::backward(const Tensor& y, BackwardOptions options) { backward(y, one_for(y), options); }

void Tape::backward(const Tensor& y, const Tensor& dy, BackwardOptions options) {
  detail::Sweep sweep{*records_, false, options.keep};
  run(y, dy.detach(), sweep);
  const detail::Paused paused;
  for (std::size_t i = 0; i < records_->leaf_slots.size(); ++i) {
    Tensor gradient = std::move(records_->leaf_slots[i]);
    if (!gradient.defined()) continue;
    Tensor& sum = records_->leaves[i].body().leaf->grad;
    if (!sum.defined())
      sum = std::move(gradient);
    else if (detail::is_alone(sum))
      add_in_place(sum, gradient);
    else
      sum = add(sum, gradient);
  }
  records_->leaf_slots.clear();
  if (!options.keep) start_over();
}

std::vector<Tensor> Tape::gradients(const Tensor& y, std::span<const Tensor> xs, GradientOptions options) {
  return gradients(y, one_for(y), xs, options);
}

std::vector<Tensor> Tape::gradients(const Tensor& y, const Tensor& dy, std::span<const Tensor> xs,
                                    GradientOptions options) {
  detail::Sweep sweep{*records_, options.create_graph, options.keep || options.create_graph};
  constexpr std::int32_t kElsewhere = INT32_MIN;
  for (const Tensor& x : xs) {
    const detail::Body& body = x.body();
    if (body.node >= 0 && body.tape == serial_)
      sweep.wanted.push_back(body.node);
    else if (x.requires_grad())
      sweep.wanted.push_back(-1 - records_->number_of(x, serial_));
    else
      sweep.wanted.push_back(kElsewhere);
  }
  sweep.found.resize(xs.size());
  run(y, options.create_graph ? dy : dy.detach(), sweep);
  for (std::size_t i = 0; i < xs.size(); ++i) {
    const std::int32_t target = sweep.wanted[i];
    if (target < 0 && target != kElsewhere) sweep.found[i] = sweep.slot(target);
    if (sweep.found[i].defined()) continue;
    if (!options.zero_if_unused)
      fail("[gradients] y does not depend on xs[{}] of shape {}: leave it out, or ask for zero_if_unused", i,
           describe(xs[i]));
    sweep.found[i] = zeros(xs[i].shape(), xs[i].dtype());
  }
  records_->leaf_slots.clear();
  if (!sweep.keep) start_over();
  return std::move(sweep.found);
}

}  // namespace tapestry
