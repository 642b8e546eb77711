// The lines of a drawing, for tests that look at one.
#pragma once

#include <sstream>
#include <string>
#include <vector>

namespace tapestry::kit {

inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> all;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) all.push_back(line);
  return all;
}

}  // namespace tapestry::kit
