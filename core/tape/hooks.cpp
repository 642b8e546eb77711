// Hooks: the user's functions that run when an op is recorded, or when backward has computed a gradient.
#include <algorithm>

#include "core/tape/extended_pass.hpp"

namespace tapestry {

void Tape::on_gradient(const Tensor& x, std::function<Tensor(const Tensor&)> hook) {
  if (!hook) fail("[on_gradient] the hook must be callable, got an empty function");
  const detail::TensorImpl& impl = x.impl();
  detail::Target target = detail::Target::none();
  if (impl.node >= 0 && impl.tape == graph_->serial)
    target = detail::Target::node(static_cast<std::size_t>(impl.node));
  else if (x.requires_grad())
    target = graph_->find_leaf(x);
  else
    fail(
        "[on_gradient] x must be on this tape or a leaf that requires a gradient, got {}; compute it on this tape",
        describe(x));
  graph_->gradient_hooks[target].push_back(std::move(hook));
  graph_->extended = detail::run_extended;
}

void Tape::on_value(std::function<void(const NodeInfo&, const Tensor&)> hook) {
  if (!hook) fail("[on_value] the hook must be callable, got an empty function");
  graph_->value_hooks.push_back(std::move(hook));
}

namespace detail {

void ExtendedPass::run_hooks(Target target, Tensor& gradient) const {
  const auto found = graph_.gradient_hooks.find(target);
  if (found == graph_.gradient_hooks.end()) return;
  const AnomalyGuard as_outside(anomaly_);
  const auto hooks = found->second;  // copied, since a hook may add another one
  for (const auto& hook : hooks) {
    Tensor replaced = hook(gradient);
    if (!replaced.defined()) continue;
    if (replaced.shape() != gradient.shape() || replaced.dtype() != gradient.dtype())
      fail(
          "[on_gradient] a hook must return the shape and type of the gradient, got {} {} for {} {}; fix the hook",
          describe(replaced), name_of(replaced.dtype()), describe(gradient), name_of(gradient.dtype()));
    gradient = std::move(replaced);
  }
}

void ExtendedPass::find_due(std::size_t end) {
  // The tape does not know which leaves a checkpoint uses until it runs again.
  std::size_t first_checkpoint = end;
  std::vector<std::size_t> first(graph_.leaves.size(), end);
  for (std::size_t i = end; i-- > 0;) {
    const Node& node = graph_.nodes[i];
    if (node.always_replay) first_checkpoint = i;
    for (std::uint32_t e = node.first_edge; e < node.first_edge + node.edges; ++e)
      if (const Edge& edge = graph_.edges[e]; edge.needed && edge.target.is_leaf)
        first[edge.target.index] = i;
  }
  for (std::size_t leaf = first.size(); leaf-- > 0;) {
    const std::size_t earliest = std::min(first[leaf], first_checkpoint);
    if (graph_.gradient_hooks.count(Target::leaf(leaf)))
      due_.emplace_back(earliest < end ? earliest : 0, Target::leaf(leaf));
  }
  // The last leaf in the list is due first. Of leaves with the same node, that is the one that was used first.
  std::stable_sort(due_.begin(), due_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
}

void ExtendedPass::run_due(std::size_t node) {
  for (; !due_.empty() && due_.back().first >= node; due_.pop_back())
    if (Tensor& gradient = slot(due_.back().second); gradient.defined())
      run_hooks(due_.back().second, gradient);
}

}  // namespace detail

}  // namespace tapestry
