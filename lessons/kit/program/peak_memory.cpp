// What this process has needed of the machine's memory.
#include "lessons/kit/program/peak_memory.hpp"

#include <fstream>
#include <limits>
#include <sstream>
#include <string>

namespace tapestry::kit {

double peak_memory() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    std::istringstream words(line);
    std::string name;
    double kibibytes = 0;
    if (words >> name >> kibibytes && name == "VmHWM:") return kibibytes / 1024;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

}  // namespace tapestry::kit
