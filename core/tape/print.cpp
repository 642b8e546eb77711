// The tape as a table and as a graph.
#include <cstring>

#include "core/tape/tape.hpp"

namespace tapestry {

namespace {

std::string name_of_input(const Tape& tape, std::ptrdiff_t input) {
  if (input >= 0) return fmt::format("#{}", input);
  const auto number = static_cast<std::size_t>(-1 - input);
  const std::string& name = tape.leaves()[number].name();
  return name.empty() ? fmt::format("leaf {}", number) : name;
}

const char* file_name(const char* path) {
  const char* slash = std::strrchr(path, '/');
  return slash ? slash + 1 : path;
}

}  // namespace

std::string Tape::table() const {
  std::string text = fmt::format("{:>5}  {:<16} {:<16} {:>10}  {:<24} {}\n", "node", "op", "shape", "saved",
                                 "inputs", "line");
  std::size_t total = 0;
  for (std::size_t i = 0; i < size(); ++i) {
    const NodeInfo info = node(i);
    std::string inputs;
    for (std::ptrdiff_t input : info.inputs)
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
                        quoted(name_of_input(*this, -1 - static_cast<std::ptrdiff_t>(i))),
                        to_string(leaves()[i].shape()));
  for (std::size_t i = 0; i < size(); ++i) {
    const NodeInfo info = node(i);
    text += fmt::format("  n{} [label=\"{}\\n{}\"];\n", i, info.op, to_string(info.shape));
    for (std::ptrdiff_t input : info.inputs)
      text += input >= 0 ? fmt::format("  n{} -> n{};\n", input, i)
                         : fmt::format("  l{} -> n{};\n", -1 - input, i);
  }
  return text + "}\n";
}

}  // namespace tapestry
