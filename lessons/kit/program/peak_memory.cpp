// Peak memory of this process.
#include "lessons/kit/program/peak_memory.hpp"

#include <limits>

#if defined(__linux__)
#include <fstream>
#include <sstream>
#include <string>
#elif defined(__EMSCRIPTEN__)
#include <emscripten/heap.h>
#else
#include <sys/resource.h>
#endif

namespace tapestry::kit {

double peak_memory() {
#if defined(__linux__)
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    std::istringstream words(line);
    std::string name;
    double kibibytes = 0;
    if (words >> name >> kibibytes && name == "VmHWM:") return kibibytes / 1024;
  }
#elif defined(__EMSCRIPTEN__)
  return static_cast<double>(emscripten_get_heap_size()) / (1 << 20);  // the heap never shrinks
#else
  struct rusage usage {};
  constexpr double kUnit = 1 << 20;  // macOS counts bytes
  if (getrusage(RUSAGE_SELF, &usage) == 0) return static_cast<double>(usage.ru_maxrss) / kUnit;
#endif
  return std::numeric_limits<double>::quiet_NaN();
}

}  // namespace tapestry::kit
