// summary(): a table of the modules and parameters of a model.
#include <set>
#include <vector>

#include "core/io/text.hpp"
#include "nn/module.hpp"

namespace tapestry {

namespace {

struct Row {
  std::string name, type, shape, weights, memory;
};

std::string bytes_text(std::size_t bytes) {
  const auto number = static_cast<double>(bytes);
  if (bytes < 1024) return fmt::format("{} B", bytes);
  if (bytes < 1024 * 1024) return fmt::format("{:.1f} KiB", number / 1024);
  return fmt::format("{:.1f} MiB", number / (1024 * 1024));
}

struct Table {
  std::vector<Row> rows;
  std::set<const detail::TensorImpl*> seen;
  Size weights = 0, frozen = 0;
  std::size_t bytes = 0;

  void add(const Parameter& parameter, int depth) {
    Row row{std::string(static_cast<std::size_t>(2 * depth), ' ') + printable(parameter.own_name()), "",
            to_string(parameter.shape()), "", ""};
    if (!seen.insert(parameter.ref().get()).second) {
      row.type = fmt::format("= {}", printable(parameter.name()));
    } else {
      const std::size_t size = static_cast<std::size_t>(parameter.count()) * bytes_of(parameter.dtype());
      row.type = fmt::format("{}{}", name_of(parameter.dtype()), parameter.requires_grad() ? "" : ", frozen");
      row.weights = fmt::format("{}", parameter.count());
      row.memory = parameter.impl().buffer ? bytes_text(size) : "no values";
      weights += parameter.count();
      if (!parameter.requires_grad()) frozen += parameter.count();
      if (parameter.impl().buffer) bytes += size;
    }
    rows.push_back(std::move(row));
  }

  void add(const Module& module, int depth) {
    const bool transparent = depth > 0 && module.name().empty();
    if (!transparent)
      rows.push_back({std::string(static_cast<std::size_t>(2 * depth), ' ') +
                          (depth ? printable(module.name()) : "model"),
                      module.type_name(), "", "", ""});
    for (const Module::Child& child : module.children()) {
      if (child.module) add(*child.module, depth + (transparent ? 0 : 1));
      if (child.parameter) add(*child.parameter, depth + (transparent ? 0 : 1));
    }
  }
};

}  // namespace

std::string summary(const Module& model) {
  Table table;
  table.rows.push_back({"name", "type", "shape", "weights", "memory"});
  table.add(model, 0);
  table.rows.push_back({"total", table.frozen ? fmt::format("{} frozen", table.frozen) : "", "",
                        fmt::format("{}", table.weights), bytes_text(table.bytes)});
  std::size_t name = 0, type = 0, shape = 0, weights = 0, memory = 0;
  for (const Row& row : table.rows) {
    name = std::max(name, row.name.size());
    type = std::max(type, row.type.size());
    shape = std::max(shape, row.shape.size());
    weights = std::max(weights, row.weights.size());
    memory = std::max(memory, row.memory.size());
  }
  std::string text;
  for (const Row& row : table.rows)
    text += fmt::format("{:<{}}  {:<{}}  {:<{}}  {:>{}}  {:>{}}\n", row.name, name, row.type, type, row.shape,
                        shape, row.weights, weights, row.memory, memory);
  return text;
}

}  // namespace tapestry
