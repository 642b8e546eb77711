// A run's log.csv as a table of numbers, for tests.
#pragma once

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "core/simd/view.hpp"

namespace tapestry::kit {

/// By step, then by column.
using LogTable = std::map<Size, std::map<std::string, double>>;

inline LogTable read_log(const std::filesystem::path& file) {
  std::ifstream in(file);
  LogTable table;
  std::vector<std::string> columns;
  for (std::string line; std::getline(in, line);) {
    std::istringstream fields(line);
    std::vector<std::string> row;
    for (std::string field; std::getline(fields, field, ',');) row.push_back(field);
    if (columns.empty()) {
      columns = row;
      continue;
    }
    auto& of_step = table[std::stoll(row.at(0))];
    for (std::size_t i = 1; i < columns.size(); ++i)
      of_step[columns[i]] = std::strtod(row.at(i).c_str(), nullptr);
  }
  return table;
}

}  // namespace tapestry::kit
