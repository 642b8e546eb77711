// Gradients with respect to chosen tensors: only the nodes that depend on one of them are visited.
#include <algorithm>

#include "core/tape/backward_pass.hpp"
#include "core/tensor/create.hpp"

namespace tapestry {

namespace detail {

void Wanted::mark(const Graph& graph, std::size_t end) {
  leads_there.assign(end, 0);
  for (std::size_t i = 0; i < end; ++i) {
    const Node& node = graph.nodes[i];
    bool depends = node.always_replay;
    for (std::uint32_t e = node.first_edge; e < node.first_edge + node.edges && !depends; ++e)
      depends = graph.edges[e].needed && wants(graph.edges[e]);
    leads_there[i] = depends;
  }
}

bool Wanted::wants(const Edge& edge) const {
  if (std::find(targets.begin(), targets.end(), edge.target) != targets.end()) return true;
  // Nodes recorded during the pass come after the marked ones and always count.
  const auto index = static_cast<std::size_t>(edge.target);
  return edge.target >= 0 && (index >= leads_there.size() || leads_there[index]);
}

bool Wanted::visit(std::size_t node, const Tensor& dy) {
  for (std::size_t i = 0; i < targets.size(); ++i)
    if (targets[i] == static_cast<std::int32_t>(node)) found[i] = dy;
  return node >= leads_there.size() || leads_there[node];
}

}  // namespace detail

std::vector<Tensor> Tape::gradients(const Tensor& y, const Tensor& dy, std::span<const Tensor> xs,
                                    GradientOptions options) {
  constexpr std::int32_t kElsewhere = INT32_MIN;
  detail::Wanted wanted;
  for (const Tensor& x : xs) {
    const detail::TensorImpl& impl = x.impl();
    if (impl.node >= 0 && impl.tape == serial_)
      wanted.targets.push_back(impl.node);
    else if (x.requires_grad())
      wanted.targets.push_back(-1 - graph_->number_of(x, serial_));
    else
      wanted.targets.push_back(kElsewhere);
  }
  wanted.found.resize(xs.size());
  detail::BackwardPass pass{*graph_, serial_, options.keep || options.create_graph, options.create_graph,
                            &wanted};
  run(y, options.create_graph ? dy : dy.detach(), pass);
  for (std::size_t i = 0; i < xs.size(); ++i) {
    const std::int32_t target = wanted.targets[i];
    if (target < 0 && target != kElsewhere) wanted.found[i] = pass.slot(target);
    if (wanted.found[i].defined()) continue;
    if (!options.zero_if_unused)
      fail("[gradients] y does not depend on xs[{}] of shape {}: leave it out, or ask for zero_if_unused", i,
           describe(xs[i]));
    wanted.found[i] = zeros(xs[i].shape(), xs[i].dtype());
  }
  graph_->leaf_slots.clear();
  if (!pass.keep) start_over();
  return std::move(wanted.found);
}

}  // namespace tapestry
