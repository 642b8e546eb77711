// Gradients with respect to chosen tensors. The pass visits only the nodes that depend on one of them.
#include <algorithm>

#include "core/tape/extended_pass.hpp"
#include "core/tensor/create.hpp"
#include "core/tensor/layout.hpp"

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
  // Nodes recorded during the pass come after the marked ones and are always followed.
  return !edge.target.is_leaf && (edge.target.index >= leads_there.size() || leads_there[edge.target.index]);
}

bool Wanted::visit(std::size_t node, const Tensor& dy) {
  for (std::size_t i = 0; i < targets.size(); ++i)
    if (targets[i] == Target::node(node)) found[i] = dy;
  return node >= leads_there.size() || leads_there[node];
}

}  // namespace detail

std::vector<Tensor> Tape::gradients(const Tensor& y, const Tensor& dy, std::span<const Tensor> xs,
                                    GradientOptions options) {
  detail::Wanted wanted;
  for (const Tensor& x : xs) {
    const detail::TensorImpl& impl = x.impl();
    if (impl.node >= 0 && impl.tape == graph_->serial)
      wanted.targets.push_back(detail::Target::node(static_cast<std::size_t>(impl.node)));
    else if (x.requires_grad())
      wanted.targets.push_back(graph_->find_leaf(x));
    else
      wanted.targets.push_back(detail::Target::none());
  }
  wanted.found.resize(xs.size());
  const bool keep = options.keep || options.create_graph;
  detail::ExtendedPass(*graph_, keep, options.create_graph, &wanted)
      .run(y, options.create_graph ? dy : dy.detach());
  std::vector<Tensor>& found = wanted.found;
  for (std::size_t i = 0; i < xs.size(); ++i)
    if (const detail::Target target = wanted.targets[i];
        target.is_leaf && target.index < graph_->leaf_slots.size())
      found[i] = graph_->leaf_slots[target.index];
  graph_->leaf_slots.clear();
  if (!keep) graph_->start_over();  // before an error, too: the pass has freed the rules
  for (std::size_t i = 0; i < xs.size(); ++i) {
    if (!found[i].defined()) {
      if (!options.zero_if_unused)
        fail(
            "[gradients] y must depend on every x, got an unused xs[{}] of shape {}; omit it or set zero_if_unused",
            i, describe(xs[i]));
      found[i] = zeros(xs[i].shape(), xs[i].dtype());
    } else if (!options.create_graph && !detail::is_alone(found[i])) {
      found[i] = dense_copy(found[i]);  // the user may hold the same memory, as dy or in a hook
    }
  }
  return std::move(wanted.found);
}

std::vector<Tensor> Tape::gradients(const Tensor& y, std::span<const Tensor> xs, GradientOptions options) {
  return gradients(y, detail::seed_gradient(y), xs, options);
}

}  // namespace tapestry
