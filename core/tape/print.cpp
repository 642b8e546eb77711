// Prints a tape: its nodes one by one, as a table, and as a graph.
#include <cstring>

#include "core/tape/graph.hpp"
#include "core/tape/node_info.hpp"

namespace tapestry {

namespace {

std::string name_of_input(const Tape& tape, NodeInfo::Input input) {
  if (!input.is_leaf) return fmt::format("#{}", input.index);
  const std::string& name = tape.leaves()[input.index].name();
  return name.empty() ? fmt::format("leaf {}", input.index) : name;
}

const char* file_name(const char* path) {
  const char* slash = std::strrchr(path, '/');
  return slash ? slash + 1 : path;
}

}  // namespace

std::size_t Tape::size() const { return graph_->nodes.size(); }

const std::vector<Tensor>& Tape::leaves() const { return graph_->leaves; }

NodeInfo Tape::node(std::size_t index) const {
  if (index >= size()) fail("[node] the index must be below size() = {}, got {}", size(), index);
  const detail::Node& node = graph_->nodes[index];
  NodeInfo info{node.op, node.at, node.shape, node.dtype, 0, {}};
  for (std::uint32_t i = 0; i < node.saved; ++i)
    info.saved_bytes += graph_->saved_versions[node.first_saved + i].buffer->bytes;
  for (std::uint32_t i = 0; i < node.edges; ++i) {
    const detail::Edge& edge = graph_->edges[node.first_edge + i];
    if (edge.needed) info.inputs.push_back({edge.target.is_leaf != 0, edge.target.index});
  }
  return info;
}

std::string Tape::table() const {
  std::string text = fmt::format("{:>5}  {:<16} {:<16} {:>10}  {:<24} {}\n", "node", "op", "shape", "saved",
                                 "inputs", "line");
  std::size_t total = 0;
  for (std::size_t i = 0; i < size(); ++i) {
    const NodeInfo info = node(i);
    std::string inputs;
    for (const NodeInfo::Input input : info.inputs)
      inputs += (inputs.empty() ? "" : ", ") + name_of_input(*this, input);
    text += fmt::format("{:>5}  {:<16} {:<16} {:>8} B  {:<24} {}:{}\n", i, info.op, to_string(info.shape),
                        info.saved_bytes, inputs, file_name(info.at.file), info.at.line);
    total += info.saved_bytes;
  }
  return text +
         fmt::format(
             "nodes: {}, leaves: {}, bytes saved: {} (a buffer counts once for each rule that holds it)\n",
             size(), leaves().size(), total);
}

std::string Tape::dot() const {
  std::string text =
      "digraph tape {\n  rankdir=LR;\n  node [shape=box, style=rounded, fontname=\"sans-serif\"];\n";
  const auto quoted = [](std::string label) {
    std::string safe;
    for (char c : label) safe += c == '"' || c == '\\' ? std::string{'\\', c} : std::string{c};
    return safe;
  };
  for (std::size_t i = 0; i < leaves().size(); ++i)
    text += fmt::format("  l{} [label=\"{}\\n{}\", shape=ellipse];\n", i,
                        quoted(name_of_input(*this, {true, i})), to_string(leaves()[i].shape()));
  for (std::size_t i = 0; i < size(); ++i) {
    const NodeInfo info = node(i);
    text += fmt::format("  n{} [label=\"{}\\n{}\"];\n", i, info.op, to_string(info.shape));
    for (const NodeInfo::Input input : info.inputs)
      text += fmt::format("  {}{} -> n{};\n", input.is_leaf ? 'l' : 'n', input.index, i);
  }
  return text + "}\n";
}

}  // namespace tapestry
